#include "state.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace strobe::timeline {
namespace {

constexpr size_t kSegmentsKept = 4;
constexpr size_t kIndexesKept = 8;  // about 400 KB each at 10 million events

// Moves the element to the front and drops the last ones beyond `limit`.
template <class List>
void touch(List& list, typename List::iterator place, size_t limit) {
    list.splice(list.begin(), list, place);
    while (list.size() > limit) list.pop_back();
}

}  // namespace

std::shared_ptr<const Segment> State::segment(const std::string& path) {
    struct stat file;
    if (stat(path.c_str(), &file) != 0) throw std::system_error(errno, std::generic_category(), path);
    auto place = std::find_if(segments_.begin(), segments_.end(), [&](const OpenSegment& open) {
        return open.path == path && open.device == file.st_dev && open.inode == file.st_ino;
    });
    if (place != segments_.end() && !place->segment->damage().empty()) {  // what was zeros for it may be there now
        segments_.erase(place);
        place = segments_.end();
    }
    if (place == segments_.end()) {
        segments_.push_front({path, file.st_dev, file.st_ino, std::make_shared<const Segment>(path)});
        place = segments_.begin();
    }
    touch(segments_, place, kSegmentsKept);
    return segments_.front().segment;
}

std::shared_ptr<const MatchIndex> State::matches(const Selection& selection) {
    auto place = std::find_if(indexes_.begin(), indexes_.end(), [&](const Indexed& known) {
        return known.segment == selection.segment && known.key == selection.key && !known.key.empty();
    });
    const bool known = place != indexes_.end();
    auto index =
        std::make_shared<const MatchIndex>(*selection.segment, selection.filter, known ? place->index.get() : nullptr);
    if (!known) place = indexes_.insert(indexes_.begin(), {selection.key, selection.segment, index});
    place->index = index;
    touch(indexes_, place, kIndexesKept);
    return index;
}

}  // namespace strobe::timeline
