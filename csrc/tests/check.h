// What the native tests share: a check that goes on after a failure, and a segment file of their own.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "segment/file/create.h"
#include "segment/read/merge.h"
#include "segment/write/writer.h"

namespace strobe::test {

inline int failures = 0;

// How many rounds: `few` of them in `make test`.
inline int rounds(int whole, int few) { return std::getenv("STROBE_SHORT_TESTS") != nullptr ? few : whole; }

template <typename Left, typename Right>
void check_equal(const Left& left, const Right& right, const char* text, const char* file, int line) {
    if (left == right) return;
    ++failures;
    std::cerr << file << ':' << line << ": " << text << ": " << left << " is not " << right << '\n';
}

#define CHECK_EQUAL(left, right) ::strobe::test::check_equal(left, right, #left " == " #right, __FILE__, __LINE__)
#define CHECK(condition) ::strobe::test::check_equal(static_cast<bool>(condition), true, #condition, __FILE__, __LINE__)

// A path for a segment that is gone when the test is.
class SegmentPath {
  public:
    SegmentPath() : path_(std::filesystem::temp_directory_path() / ("strobe-test-" + std::to_string(getpid()))) {
        std::filesystem::remove(path_);
    }
    ~SegmentPath() { std::filesystem::remove(path_); }
    operator std::string() const { return path_; }

  private:
    std::filesystem::path path_;
};

// Each tick is a moment of its own, as tests number them by hand.
inline void create_by_ticks(const std::string& path, uint64_t max_events) {
    create_segment(path, max_events);
    SegmentWriter(path).header().number_shift = 0;
}

inline std::vector<Event> all_events(const Segment& segment, const Filter& filter = {}) {
    Merge merge(segment, filter);
    std::vector<Event> events;
    for (Event event; merge.next(event);) {
        event.payload = nullptr;  // valid only until the next one
        events.push_back(event);
    }
    return events;
}

// "ticks:function" of each event, in order: enters with '+', exits with '-'.
inline std::string outline(const Segment& segment, const Filter& filter = {}) {
    std::string text;
    for (const Event& event : all_events(segment, filter)) {
        if (!text.empty()) text += ' ';
        text += std::to_string(event.ticks) + (event.is_enter() ? '+' : '-') + std::to_string(event.function);
    }
    return text;
}

inline int verdict() {
    if (failures > 0) std::cerr << failures << " checks failed\n";
    return failures > 0 ? 1 : 0;
}

}  // namespace strobe::test
