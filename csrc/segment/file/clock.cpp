#include "segment/file/clock.h"

#include <time.h>

#include <algorithm>
#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "abi/strobe_abi.h"

namespace strobe {
namespace {

constexpr uint64_t kCalibrationNs = 20'000'000;

uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

#ifdef __x86_64__

// CPUID leaf 0x80000007, EDX bit 8: the counter runs at one rate in every power state.
bool tsc_is_invariant() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx >> 8 & 1);
}

uint64_t tsc() { return __rdtsc(); }

#else

bool tsc_is_invariant() { return false; }

uint64_t tsc() { return 0; }

#endif

void sleep_until(uint64_t deadline_ns) {
    const timespec deadline{static_cast<time_t>(deadline_ns / 1'000'000'000),
                            static_cast<long>(deadline_ns % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) != 0) {
    }
}

const ClockPair at_load = read_clock_pair(clock_kind());

}  // namespace

uint32_t clock_kind() {
    static const uint32_t kind = tsc_is_invariant() ? STROBE_CLOCK_TSC : STROBE_CLOCK_MONOTONIC;
    return kind;
}

uint64_t clock_ticks(uint32_t kind) { return kind == STROBE_CLOCK_TSC ? tsc() : monotonic_ns(); }

ClockPair read_clock_pair(uint32_t kind) {
    ClockPair best{};
    uint64_t best_width = UINT64_MAX;
    for (int attempt = 0; attempt < 16; ++attempt) {
        const uint64_t before = clock_ticks(kind);
        const uint64_t now_ns = monotonic_ns();
        const uint64_t width = clock_ticks(kind) - before;
        if (width < best_width) {
            best_width = width;
            best = {before + width / 2, now_ns};
        }
    }
    return best;
}

double calibrate_ns_per_tick() {
    if (clock_kind() == STROBE_CLOCK_MONOTONIC) return 1.0;
    sleep_until(at_load.monotonic_ns + kCalibrationNs);
    const ClockPair now = read_clock_pair(clock_kind());
    return static_cast<double>(now.monotonic_ns - at_load.monotonic_ns) /
           static_cast<double>(now.ticks - at_load.ticks);
}

}  // namespace strobe
