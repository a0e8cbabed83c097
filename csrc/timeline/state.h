// What the tables of one database connection share: opened segments, and the last match indexes.
#pragma once

#include <sys/types.h>

#include <list>
#include <memory>
#include <string>

#include "match_index.h"
#include "segment/file/segment.h"
#include "selection.h"

namespace strobe::timeline {

// Belongs to a connection, which SQLite lets one thread use at a time.
class State {
  public:
    // The segment at `path`, opened once for as long as the same file lies there. Throws as Segment does.
    std::shared_ptr<const Segment> segment(const std::string& path);

    // Match index of a selection, brought up to date with what was written since.
    std::shared_ptr<const MatchIndex> matches(const Selection& selection);

  private:
    struct OpenSegment {
        std::string path;
        dev_t device;
        ino_t inode;
        std::shared_ptr<const Segment> segment;
    };
    struct Indexed {
        std::string key;
        std::shared_ptr<const Segment> segment;
        std::shared_ptr<const MatchIndex> index;
    };

    std::list<OpenSegment> segments_;  // latest use first
    std::list<Indexed> indexes_;
};

}  // namespace strobe::timeline
