// What csrc/recorder and the agent have for AArch64 alone: machine code, and what is said of functions.
#include <unistd.h>

#include <algorithm>
#include <span>

#include "check.h"
#include "segment/file/create.h"
#include "segment/write/writer.h"

extern "C" {
#include "recorder/recorder.h"

int strobe_patchable(uint64_t entry, uint64_t bytes, int checks_landing);
extern const uint32_t routine_words[], routine_words_end[], routine_comments[], routine_comments_end[];
}

using namespace strobe;
using namespace strobe::test;

namespace {

constexpr uint32_t kNop = 0xd503201f, kReturn = 0xd65f03c0, kAdd = 0x0b010000;

void routines_are_what_their_comments_say() {
    const std::span words(routine_words, routine_words_end), comments(routine_comments, routine_comments_end);
    CHECK(words.size() > 50);
    CHECK(std::ranges::equal(words, comments));
}

// What Frida hands to a probe, as far as the probe of _exit looks.
struct Cpu {
    uint64_t pc, sp, nzcv, x[29];
};
struct Context {
    void* function;
    Cpu* cpu;
};

void the_probe_of_exit_writes_the_status_down() {
    const SegmentPath path;
    create_segment(path, 1'000);
    SegmentWriter segment(path);
    struct strobe_recorder recorder{};
    CHECK_EQUAL(strobe_recorder_init(&recorder, reinterpret_cast<uint8_t*>(&segment.header())), 0);
    CHECK_EQUAL(recorder.catch_returns, 0u);
    void* code = strobe_exit_probe_write(&recorder, offsetof(Context, cpu), offsetof(Cpu, x));
    const auto probe = reinterpret_cast<void (*)(Context*)>(code);
    Cpu cpu{};
    cpu.x[0] = 42;
    Context context{nullptr, &cpu};
    recorder.control->has_agent = 0;  // as in a child
    probe(&context);
    CHECK_EQUAL(segment.header().exit_state, 0u);
    recorder.control->has_agent = 1;
    probe(&context);
    CHECK_EQUAL(segment.header().exit_state, STROBE_EXIT_CALLED);
    CHECK_EQUAL(segment.header().exit_code, 42);
}

// In a process that was not the recorder's: a child of vfork.
void the_probe_of_exit_leaves_other_processes_out() {
    const SegmentPath path;
    create_segment(path, 1'000);
    SegmentWriter segment(path);
    struct strobe_recorder recorder{};
    CHECK_EQUAL(strobe_recorder_init(&recorder, reinterpret_cast<uint8_t*>(&segment.header())), 0);
    recorder.pid++;
    void* code = strobe_exit_probe_write(&recorder, offsetof(Context, cpu), offsetof(Cpu, x));
    Cpu cpu{};
    Context context{nullptr, &cpu};
    reinterpret_cast<void (*)(Context*)>(code)(&context);
    CHECK_EQUAL(segment.header().exit_state, 0u);
}

int said_of(std::initializer_list<uint32_t> instructions, size_t own = 0, bool checks_landing = false) {
    alignas(64) uint32_t code[16] = {};
    std::ranges::copy(instructions, code);
    const size_t count = own != 0 ? own : instructions.size();
    return strobe_patchable(reinterpret_cast<uint64_t>(code), 4 * count, checks_landing);
}

void functions_that_cannot_be_moved_are_refused() {
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd, kReturn}), STROBE_REFUSED_NOTHING);
    CHECK_EQUAL(said_of({kAdd, kReturn, kNop, kNop}, 2), STROBE_REFUSED_NOTHING);
    CHECK_EQUAL(said_of({kAdd, kReturn, kAdd, kReturn}, 2), STROBE_REFUSED_TOO_SHORT);
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd}), STROBE_REFUSED_TOO_SHORT);
    CHECK_EQUAL(said_of({0x14000040, kAdd, kAdd, kAdd}), STROBE_REFUSED_JUMP_AT_ENTRY);  // b
    CHECK_EQUAL(said_of({0x90000010, 0xf9400211, 0xd61f0220, kNop}),
                STROBE_REFUSED_JUMP_AT_ENTRY);                                              // adrp, ldr, br: of a PLT
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd, 0x94000040}), STROBE_REFUSED_CALL_IN_ENTRY);     // bl
    CHECK_EQUAL(said_of({kAdd, 0xd63f0040, kAdd, kReturn}), STROBE_REFUSED_CALL_IN_ENTRY);  // blr x2
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd, kAdd, 0xd63f0040, kReturn}), STROBE_REFUSED_NOTHING);
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd, kAdd, 0x54ffffa1, kReturn}), STROBE_REFUSED_BRANCH_INTO_ENTRY);  // b.ne .-12
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd, kAdd, 0xb5ffffa0, kReturn}),
                STROBE_REFUSED_BRANCH_INTO_ENTRY);  // cbnz x0, .-12
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd, kAdd, 0x3707ffa0, kReturn}),
                STROBE_REFUSED_BRANCH_INTO_ENTRY);                                   // tbnz w0, 0, .-12
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd, kAdd, 0x17fffffc}), STROBE_ENTRY_LOOPS);  // b .-16
    CHECK_EQUAL(said_of({kAdd, kAdd, kAdd, kAdd, 0x14000002, kAdd, kReturn}), STROBE_REFUSED_NOTHING);
}

// bti c and paciasp, in whose place a CPU that checks would find a jump.
void landing_marks_are_left_alone_where_they_are_checked() {
    for (const uint32_t mark : {0xd503245f, 0xd503233f}) {
        CHECK_EQUAL(said_of({mark, kAdd, kAdd, kReturn}, 0, true), STROBE_REFUSED_LANDING_AT_ENTRY);
        CHECK_EQUAL(said_of({mark, kAdd, kAdd, kReturn}, 0, false), STROBE_REFUSED_NOTHING);
    }
    CHECK_EQUAL(said_of({kNop, kAdd, kAdd, kReturn}, 0, true), STROBE_REFUSED_NOTHING);
}

}  // namespace

int main() {
    routines_are_what_their_comments_say();
    the_probe_of_exit_writes_the_status_down();
    the_probe_of_exit_leaves_other_processes_out();
    functions_that_cannot_be_moved_are_refused();
    landing_marks_are_left_alone_where_they_are_checked();
    return verdict();
}
