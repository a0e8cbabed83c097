// The guard that the portable form's trampolines lead to: what the function gets, and the account of who is inside.
#include <sys/mman.h>

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <span>

#include "check.h"

extern "C" {
#include "recorder/recorder.h"
}

namespace {

constexpr std::size_t kPage = 4096;
constexpr uint32_t kFunction = 4711;
constexpr long kDeep = 3000;  // more than there are places
// push rax; lea rax, [behind the jump]; jmp [8 bytes behind the function]; then the sum of six arguments
constexpr uint8_t kTrampoline[] = {0x50, 0x48, 0x8d, 0x05, 6, 0, 0, 0, 0xff, 0x25, 24, 0, 0, 0};
constexpr uint8_t kFunctionCode[] = {0x48, 0x8d, 0x04, 0x37, 0x48, 0x01, 0xd0, 0x48, 0x01,
                                     0xc8, 0x4c, 0x01, 0xc0, 0x4c, 0x01, 0xc8, 0xc3};

using Sum = long (*)(long, long, long, long, long, long);

uint8_t* pages(std::size_t bytes, int protection) {
    void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return static_cast<uint8_t*>(memory);
}

struct strobe_recorder own;
strobe_control control;
Sum sum;
long calls, deepest, counted;
bool leaves;
std::jmp_buf back;

std::span<const uint64_t> places() { return {own.inside, STROBE_INSIDE_BYTES / 8}; }
long taken() {
    return std::ranges::count_if(places(), [](uint64_t place) { return place != 0; });
}

uint64_t enter(struct strobe_recorder* given, uint32_t function, uint64_t* slot, const uint64_t* registers,
               uint64_t resume) {
    const auto depth = static_cast<long>(registers[0]);
    CHECK(given == &own && resume == 0 && slot != nullptr);
    CHECK_EQUAL(function, kFunction);
    for (uint64_t index = 1; index < 6; index++) CHECK_EQUAL(registers[index], index);
    calls++;
    deepest = std::max(deepest, taken());
    counted = std::max(counted, static_cast<long>(control.agent_calls));
    if (leaves) std::longjmp(back, 1);
    if (depth > 0) CHECK_EQUAL(sum(depth - 1, 1, 2, 3, 4, 5), depth + 14);
    return 0;
}

void prepare() {
    own.control = &control;
    own.inside = reinterpret_cast<uint64_t*>(pages(STROBE_INSIDE_BYTES, PROT_READ | PROT_WRITE));
    control.has_agent = 1;
    uint8_t* code = pages(2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
    CHECK(strobe_entry_guard_write(&own, code + kPage, reinterpret_cast<uint64_t>(&enter)) <= kPage);
    uint8_t* function = code + 16;
    std::memcpy(function - 4, &kFunction, 4);
    std::memcpy(function, kTrampoline, sizeof kTrampoline);
    std::memcpy(function + sizeof kTrampoline, kFunctionCode, sizeof kFunctionCode);
    const auto guard = reinterpret_cast<uint64_t>(code + kPage);
    std::memcpy(function + sizeof kTrampoline + 24, &guard, 8);
    sum = reinterpret_cast<Sum>(function);
}

void whoever_is_inside_is_known() {
    CHECK_EQUAL(sum(0, 1, 2, 3, 4, 5), 15);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(deepest, 1);
    CHECK_EQUAL(taken(), 0);
    CHECK_EQUAL(sum(kDeep, 1, 2, 3, 4, 5), kDeep + 15);
    CHECK_EQUAL(calls, kDeep + 2);
    CHECK_EQUAL(deepest, static_cast<long>(places().size()));
    CHECK_EQUAL(deepest + counted, kDeep + 1);  // those for whom there is no place
    CHECK_EQUAL(taken(), 0);
    CHECK_EQUAL(control.agent_calls, 0u);
}

// As the next one has its word at the same place of the stack.
void a_call_that_was_left_gives_its_place_to_the_next() {
    static int turn;  // kept by longjmp
    for (turn = 0; turn < 20; turn++) {
        leaves = turn < 19;
        if (setjmp(back) == 0) sum(0, 1, 2, 3, 4, 5);
        CHECK_EQUAL(taken(), leaves ? 1 : 0);
    }
    CHECK_EQUAL(control.agent_calls, 0u);
}

void nobody_goes_in_without_an_agent() {
    control.has_agent = 0;
    calls = 0;
    CHECK_EQUAL(sum(0, 1, 2, 3, 4, 5), 15);
    CHECK_EQUAL(calls, 0);
}

}  // namespace

int main() {
    prepare();
    whoever_is_inside_is_known();
    a_call_that_was_left_gives_its_place_to_the_next();
    nobody_goes_in_without_an_agent();
    return strobe::test::failures == 0 ? 0 : 1;
}
