/* Where a thread that stands in a trampoline would stand without it: for who looks at it from a signal handler, or
   unwinds out of one. */
#include "../../recorder.h"

#define STROBE_SITE_BEGIN 4u /* behind the number of the first probe */
#define STROBE_SITE_RETURN (STROBE_SITE_CALL + 6u)
#define STROBE_JUMP_CODE_BYTES 5u

/* By how much the stack pointer is lower at that offset in a trampoline; -1: the instruction has run, in part or whole,
   and nobody can say where that is in the program. */
static int64_t strobe_trampoline_stack(uint64_t offset) {
    switch (offset) {
        case STROBE_SITE_BEGIN:
        case STROBE_SITE_INSTRUCTION:
            return 0;
        case STROBE_SITE_CALL:
        case STROBE_SITE_RETURN:
            return STROBE_SITE_STACK;
        case STROBE_SITE_CALLED:
            return 8; /* the return address is there already */
        default:
            return -1;
    }
}

static int strobe_leave_site(const struct strobe_recorder* recorder, uint64_t place, uint64_t* pc, uint64_t* sp) {
    int64_t lower = strobe_trampoline_stack(*pc - place);
    uint32_t number = 0;
    if (lower < 0 || strobe_load_bytes(place, (uint8_t*)&number, sizeof number) != sizeof number) return 0;
    if (number >= STROBE_FUNCTION_CAPACITY || recorder->probes[number].address == 0) return 0;
    *sp += (uint64_t)lower;
    *pc = recorder->probes[number].address;
    return 1;
}

static int strobe_load_origin(uint64_t trampoline, struct strobe_trampoline_origin* origin) {
    uint64_t from = trampoline - 4 + STROBE_TRAMPOLINE_ORIGIN;
    return strobe_load_bytes(from, (uint8_t*)origin, sizeof *origin) == sizeof *origin && origin->jump != 0;
}

/* Each copy begins with registers as the instruction would find them; what is made of several instructions leaves the
   stack pointer as it is, but for a call. */
static uint64_t strobe_leave_function(uint64_t trampoline, uint64_t* pc, uint64_t* sp) {
    struct strobe_trampoline_origin origin;
    uint64_t offset = *pc - trampoline;
    uint32_t index, behind = 0;
    if (!strobe_load_origin(trampoline, &origin)) return 0;
    if (offset > 0 && offset < STROBE_TRAMPOLINE_HEAD) *sp += 8; /* rax was pushed */
    for (index = 0; index < 4; index++)
        if (origin.copies[index] != 0 && origin.copies[index] <= offset) behind = index + 1;
    if (origin.call != 0 && offset >= origin.call) *sp += 8;
    if (origin.back != 0 && offset >= origin.back) behind = origin.displaced;
    *pc = origin.jump + behind;
    return trampoline;
}

uint64_t strobe_leave_trampoline(const struct strobe_recorder* recorder, uint64_t* pc, uint64_t* sp) {
    uint64_t index;
    for (index = 0; index < recorder->site_range_count; index++) {
        const struct strobe_site_range* range = &recorder->site_ranges[index];
        uint64_t first = range->start + STROBE_TRAMPOLINES_HEADER, place;
        if (*pc < first || *pc >= range->end) continue;
        place = *pc - (*pc - first) % STROBE_TRAMPOLINE_BYTES;
        if (!range->is_of_functions) return (uint64_t)strobe_leave_site(recorder, place, pc, sp);
        return *pc - place < 4 ? 0 : strobe_leave_function(place + 4, pc, sp);
    }
    return 0;
}

uint64_t strobe_copy_of(uint64_t trampoline, uint64_t pc) {
    struct strobe_trampoline_origin origin;
    if (!strobe_load_origin(trampoline, &origin) || pc - origin.jump >= STROBE_JUMP_CODE_BYTES) return 0;
    if (pc == origin.jump) return trampoline + STROBE_TRAMPOLINE_HEAD;
    return origin.copies[pc - origin.jump - 1] == 0 ? 0 : trampoline + origin.copies[pc - origin.jump - 1];
}
