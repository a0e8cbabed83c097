// When some calls ran: what their threads recorded between entry and return.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "segment/file/segment.h"
#include "segment/read/filter.h"

namespace strobe {

// Which calls are asked for. `held`: numbers of the entries, or with `by_exit` of the returns, of those that are, in
// order; none: all calls of the functions. Events up to `until` are looked at. `whole`: with the entries and returns of
// the calls themselves.
struct WantedCalls {
    FunctionSet functions;
    std::optional<std::vector<uint64_t>> held;
    bool by_exit = false;
    uint64_t until = UINT64_MAX;
    bool whole = false;
};

// `spans` hold neither the call's own entry nor its return, unless they are asked for `whole`. Not all calls are known:
// of `opened` the entry was evicted, and they are there only where the return says that they are asked for, from the
// first event that is theirs; `unreturned` have not returned, or were left by an exception, and are not there where the
// return is to say it; `uncaught` calls have no return that could be recorded. `left`: the entries of calls without a
// return among the events, in no order.
struct CallSpans {
    struct Left {
        uint64_t thread;  // Spans::thread_of
        uint64_t number;  // of the entry
        uint64_t how;     // 0: it is open where the look ends; 1: something else came behind it; 2: an uncaught one
    };
    Spans spans;
    std::vector<Left> left;
    uint64_t calls = 0;
    uint64_t opened = 0;
    uint64_t unreturned = 0;
    uint64_t uncaught = 0;
};

CallSpans call_spans(const Segment& segment, const WantedCalls& wanted);

}  // namespace strobe
