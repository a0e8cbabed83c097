// Who called: parents inside a chunk, over chunks, and where frames are missing.
#include "segment/read/parent.h"

#include <map>

#include "check.h"
#include "segment/file/create.h"
#include "segment/write/writer.h"

using namespace strobe;
using namespace strobe::test;

namespace {

// ticks of each event -> ticks of its parent, 0 for none
std::map<uint64_t, uint64_t> parents(const Segment& segment) {
    std::map<uint64_t, uint64_t> found;
    Merge merge(segment, {});
    for (Event event; merge.next(event);) {
        found[event.ticks] = merge.parent_number().value_or(0) >> STROBE_LANE_BITS;
    }
    return found;
}

struct OneThread {
    explicit OneThread(const std::string& path) : segment((create_by_ticks(path, 1000), path)) {
        segment.add_thread(1, 100, "only", 1);
    }
    SegmentWriter segment;
    ThreadWriter writer{segment, 0, 100};
};

void a_call_tree() {
    const SegmentPath path;
    OneThread thread(path);
    thread.writer.enter(10, 1, 0, {});
    thread.writer.enter(20, 2, 1, {});
    thread.writer.exit(30, 2, 1, 10, nullptr);
    thread.writer.enter(40, 3, 1, {});
    thread.writer.enter(50, 2, 2, {});
    thread.writer.enter(60, 4, 1, {});  // the two before were left by an exception
    thread.writer.exit(70, 4, 1, 10, nullptr);
    thread.writer.exit(80, 1, 0, 70, nullptr);
    thread.writer.enter(90, 1, 0, {});
    auto parent = parents(Segment(path));
    CHECK_EQUAL(parent[10], 0u);
    CHECK_EQUAL(parent[20], 10u);
    CHECK_EQUAL(parent[30], 20u);
    CHECK_EQUAL(parent[40], 10u);
    CHECK_EQUAL(parent[50], 40u);
    CHECK_EQUAL(parent[60], 10u);
    CHECK_EQUAL(parent[70], 60u);
    CHECK_EQUAL(parent[80], 10u);
    CHECK_EQUAL(parent[90], 0u);
}

void frames_without_a_record() {
    const SegmentPath path;
    OneThread thread(path);
    thread.writer.enter(10, 1, 0, {});
    thread.writer.enter(20, 2, 2, {});  // the frame at depth 1 was sampled out
    thread.writer.enter(30, 3, 3, {}, STROBE_FLAG_NO_EXIT);
    thread.writer.enter(40, 4, 3, {});
    thread.writer.enter(50, 5, 5, {});  // depth 4 sampled out
    auto parent = parents(Segment(path));
    CHECK_EQUAL(parent[20], 10u);
    CHECK_EQUAL(parent[30], 20u);
    CHECK_EQUAL(parent[40], 20u);
    CHECK_EQUAL(parent[50], 40u);
}

void frames_from_earlier_chunks() {
    const SegmentPath path;
    OneThread thread(path);
    for (uint16_t depth = 0; depth < 40; ++depth) thread.writer.enter(10u + depth, 1, depth, {});
    thread.writer.release();
    thread.writer.enter(100, 2, 40, {});  // its parent lies beyond what a chunk's header remembers
    thread.writer.exit(110, 2, 40, 10, nullptr);
    thread.writer.enter(120, 3, 20, {});
    thread.writer.enter(130, 4, 21, {});
    auto parent = parents(Segment(path));
    CHECK_EQUAL(parent[100], 0u);
    CHECK_EQUAL(parent[110], 100u);
    CHECK_EQUAL(parent[120], 29u);
    CHECK_EQUAL(parent[130], 120u);
}

void a_thread_that_goes_on_in_anothers_chunk() {
    const SegmentPath path;
    OneThread thread(path);
    thread.writer.enter(10, 1, 0, {});
    thread.segment.add_thread(1, 101, "other", 20);
    thread.writer.become(20, 1, 101);
    thread.writer.enter(30, 2, 1, {});  // its outer frame is not known here, and is not the other thread's
    thread.writer.enter(40, 3, 2, {});
    auto parent = parents(Segment(path));
    CHECK_EQUAL(parent[30], 0u);
    CHECK_EQUAL(parent[40], 30u);
}

}  // namespace

int main() {
    a_call_tree();
    frames_without_a_record();
    frames_from_earlier_chunks();
    a_thread_that_goes_on_in_anothers_chunk();
    return verdict();
}
