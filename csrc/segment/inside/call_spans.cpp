#include "segment/inside/call_spans.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "segment/read/merge.h"

namespace strobe {
namespace {

struct Open {
    uint32_t depth;
    uint64_t number;
};

// What is known of one thread so far.
struct Thread {
    std::vector<Open> open;             // calls that are asked about, outermost first; deeper ones have greater depths
    std::vector<uint64_t> last_number;  // of the events at each depth
};

class Collector {
  public:
    explicit Collector(const WantedCalls& wanted) : wanted_(wanted) {}

    void take(const Event& event) {
        Thread& thread = threads_[Spans::thread_of(event.thread_index, event.tid)];
        current_ = Spans::thread_of(event.thread_index, event.tid);
        if (event.is_enter()) {
            enter(thread, event);
        } else {
            leave(thread, event);
        }
        if (event.depth >= thread.last_number.size()) thread.last_number.resize(event.depth + 1u);
        thread.last_number[event.depth] = event.number();
    }

    CallSpans finish() {
        for (auto& [key, thread] : threads_) {
            current_ = key;
            while (!thread.open.empty()) leave_open(thread, UINT64_MAX);
        }
        found_.spans = Spans(std::move(rows_));
        return std::move(found_);
    }

  private:
    void enter(Thread& thread, const Event& event) {
        drop(thread, event.depth, event.number());
        if (!wanted_.functions.contains(event.function)) return;
        if (event.flags & STROBE_FLAG_NO_EXIT) {
            ++found_.uncaught;
            found_.left.push_back({current_, event.number(), 2});
        } else {
            thread.open.push_back({event.depth, event.number()});
        }
    }

    void leave(Thread& thread, const Event& event) {
        drop(thread, event.depth + 1u, event.number());
        const bool is_there = !thread.open.empty() && thread.open.back().depth == event.depth;
        if (!wanted_.functions.contains(event.function)) {
            if (is_there) leave_open(thread, event.number() - 1);  // its own return was not recorded
            return;
        }
        const uint64_t begun = is_there ? thread.open.back().number : 0;
        if (is_there) thread.open.pop_back();
        if (!is_there) {
            ++found_.opened;
            if (wanted_.by_exit ? is_held(event.number()) : !wanted_.held)
                add(last_up_to(thread, event.depth) + 1, last_of(event));
        } else if (is_held(wanted_.by_exit ? event.number() : begun)) {
            add(event.flags & STROBE_FLAG_LATE ? first_of_late(event) : first_of(begun), last_of(event));
        }
    }

    // Calls at this depth and deeper ones have ended, by an exception or as their return was not recorded.
    void drop(Thread& thread, uint32_t depth, uint64_t number) {
        while (!thread.open.empty() && thread.open.back().depth >= depth) leave_open(thread, number - 1);
    }

    void leave_open(Thread& thread, uint64_t to) {
        const Open call = thread.open.back();
        thread.open.pop_back();
        found_.left.push_back({current_, call.number, to == UINT64_MAX ? uint64_t{0} : uint64_t{1}});
        if (wanted_.by_exit && wanted_.held) {
            ++found_.unreturned;
        } else if (is_held(call.number)) {
            add(first_of(call.number), to);
        }
    }

    uint64_t first_of(uint64_t entry) const { return wanted_.whole ? entry : entry + 1; }

    uint64_t last_of(const Event& exit) const { return wanted_.whole ? exit.number() : exit.number() - 1; }

    // A call that was recorded at its return stands behind what it has called.
    static uint64_t first_of_late(const Event& event) {
        const uint64_t ticks = event.ticks > event.duration_ticks() ? event.ticks - event.duration_ticks() : 0;
        return STROBE_EVENT_NUMBER(ticks, 0, event.number_shift);
    }

    static uint64_t last_up_to(const Thread& thread, uint32_t depth) {
        const size_t end = std::min<size_t>(thread.last_number.size(), depth + 1u);
        return end == 0 ? 0 : *std::max_element(thread.last_number.begin(), thread.last_number.begin() + end);
    }

    bool is_held(uint64_t number) const {
        return !wanted_.held || std::binary_search(wanted_.held->begin(), wanted_.held->end(), number);
    }

    void add(uint64_t from, uint64_t to) {
        ++found_.calls;
        if (from <= to) rows_.push_back({current_, from, to});
    }

    const WantedCalls& wanted_;
    std::unordered_map<uint64_t, Thread> threads_;
    uint64_t current_ = 0;  // the key of the thread that is looked at
    std::vector<Spans::Row> rows_;
    CallSpans found_;
};

}  // namespace

CallSpans call_spans(const Segment& segment, const WantedCalls& wanted) {
    Filter filter;
    filter.to_number = wanted.until;
    Merge merge(segment, filter);
    Collector collector(wanted);
    for (Event event; merge.next(event);) collector.take(event);
    return collector.finish();
}

}  // namespace strobe
