#include <array>
#include <memory>

#include "segment/file/create.h"
#include "segment/read/histogram.h"
#include "segment/write/writer.h"

namespace strobe {
namespace {

constexpr uint32_t kDeepest = 8;
constexpr uint64_t kTicksPerEvent = 64;
constexpr uint32_t kPid = 4242;

void add_call(strobe_totals& totals, uint64_t total_before, uint64_t duration_ticks, uint64_t callee_ticks) {
    totals.calls++;
    totals.exits++;
    totals.total_ticks = total_before + duration_ticks;
    totals.duration_ticks += duration_ticks;
    totals.self_ticks += duration_ticks - callee_ticks;
    totals.min_ticks = std::min(totals.min_ticks, duration_ticks);
    totals.max_ticks = std::max(totals.max_ticks, duration_ticks);
    totals.histogram[histogram_bucket(duration_ticks)]++;
}

// One thread of the program. It calls 8 deep, returns 8 times, and again, walking round the functions.
class SyntheticThread {
  public:
    SyntheticThread(SegmentWriter& segment, const SyntheticProgram& program, uint32_t number)
        : segment_(segment),
          functions_(program.functions),
          step_(kTicksPerEvent * program.threads),
          now_(program.begin_ticks + kTicksPerEvent * (number + 1)),
          calls_left_(program.calls / program.threads + (number < program.calls % program.threads ? 1 : 0)),
          writer_(segment, segment.add_thread(kPid, kPid + number, "worker-" + std::to_string(number), now_),
                  kPid + number) {
        for (uint32_t function = 1; function <= functions_; ++function) {
            totals_.push_back(&segment.totals(segment.add_totals(function, number)));
        }
    }

    // One nest of calls; false when all were made. Threads take turns, so that their ticks interleave.
    bool run() {
        const auto deep = static_cast<uint16_t>(std::min<uint64_t>(kDeepest, calls_left_));
        calls_left_ -= deep;
        for (uint16_t depth = 0; depth < deep; ++depth) enter(depth);
        for (uint16_t depth = deep; depth-- > 0;) exit(depth);
        return calls_left_ > 0;
    }

    void end() { writer_.release(); }

  private:
    struct Frame {
        uint32_t function;
        uint64_t enter_ticks;
        uint64_t total_before;
        uint64_t callee_ticks;
    };

    void enter(uint16_t depth) {
        const auto function = 1 + static_cast<uint32_t>(made_++ % functions_);
        frames_[depth] = {function, now_, totals_[function - 1]->total_ticks, 0};
        const uint64_t arguments[2] = {made_, depth};
        writer_.enter(now_, frames_[depth].function, depth, arguments);
        now_ += step_;
    }

    void exit(uint16_t depth) {
        const auto [function, enter_ticks, total_before, callee_ticks] = frames_[depth];
        const uint64_t returned = function;
        writer_.exit(now_, function, depth, now_ - enter_ticks, &returned);
        add_call(*totals_[function - 1], total_before, now_ - enter_ticks, callee_ticks);
        if (depth > 0) frames_[depth - 1].callee_ticks += now_ - enter_ticks;
        now_ += step_;
    }

    SegmentWriter& segment_;
    uint32_t functions_;
    uint64_t step_;
    uint64_t now_;
    uint64_t calls_left_;
    uint64_t made_ = 0;
    std::array<Frame, kDeepest> frames_{};
    std::vector<strobe_totals*> totals_;
    ThreadWriter writer_;
};

}  // namespace

void write_synthetic(const std::string& path, const SyntheticProgram& program) {
    create_segment(path, program.calls * 2 + uint64_t{program.threads} * 4096);
    SegmentWriter segment(path);
    std::vector<std::unique_ptr<SyntheticThread>> threads;
    for (uint32_t number = 0; number < program.threads; ++number) {
        threads.push_back(std::make_unique<SyntheticThread>(segment, program, number));
    }
    for (bool unfinished = true; unfinished;) {
        unfinished = false;
        for (const auto& thread : threads) unfinished |= thread->run();
    }
    for (const auto& thread : threads) thread->end();
}

}  // namespace strobe
