#include "newest.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "segment/read/cursor.h"

namespace strobe::timeline {
namespace {

// The newest event of a lane lies in the chunk that was taken last, so only those chunks are read; and all of the lane
// that is shared.
// Of the threads of one process; pid 0: of all. Threads beyond the table are of no known process.
std::optional<uint64_t> newest_number(const Segment& segment, uint32_t pid) {
    std::unordered_set<uint32_t> threads;
    for (const Thread& thread : segment.threads())
        if (thread.pid == pid) threads.insert(thread.index);
    std::unordered_map<uint32_t, ChunkSummary> latest;
    std::vector<ChunkSummary> read;
    for (const ChunkSummary& chunk : segment.chunks()) {
        if (!chunk.record_count) continue;
        if (chunk.lane == STROBE_LANE_SHARED)
            read.push_back(chunk);
        else
            latest[chunk.lane] = chunk;  // chunks come by first ticks
    }
    for (const auto& [lane, chunk] : latest) read.push_back(chunk);
    const Filter everything;
    const auto buffer = std::make_unique<ChunkBuffer>();
    std::optional<uint64_t> newest;
    for (const ChunkSummary& chunk : read) {
        ChunkView view;
        if (!segment.copy_chunk(chunk, *buffer, view)) continue;
        RecordCursor cursor(view, everything);
        for (Event event; cursor.next(event);)
            if (pid == 0 || threads.contains(event.thread_index)) newest = std::max(newest.value_or(0), event.number());
    }
    return newest;
}

void newest(sqlite3_context* context, int, sqlite3_value** values) {
    try {
        const auto* path = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
        const auto pid = static_cast<uint32_t>(sqlite3_value_int64(values[1]));
        auto* state = static_cast<State*>(sqlite3_user_data(context));
        const std::optional<uint64_t> number = newest_number(*state->segment(path ? path : ""), pid);
        if (number) sqlite3_result_int64(context, static_cast<sqlite3_int64>(*number));
    } catch (const std::exception& error) {
        sqlite3_result_error(context, error.what(), -1);
    }
}

}  // namespace

int create_newest(sqlite3* database, State* state) {
    return sqlite3_create_function(database, "strobe_newest", 2, SQLITE_UTF8, state, newest, nullptr, nullptr);
}

}  // namespace strobe::timeline
