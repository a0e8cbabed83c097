/* Where a thread that stands in a trampoline of a probed instruction would stand without it: for who looks at it from
   a signal handler, or unwinds out of one. */
#include "../../recorder.h"

#define STROBE_SITE_BEGIN 4u /* behind the number of the first probe */
#define STROBE_SITE_RETURN (STROBE_SITE_CALL + 6u)

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

int strobe_leave_trampoline(const struct strobe_recorder* recorder, uint64_t* pc, uint64_t* sp) {
    uint64_t index;
    for (index = 0; index < recorder->site_range_count; index++) {
        const struct strobe_site_range* range = &recorder->site_ranges[index];
        uint64_t offset = (*pc - range->start - STROBE_TRAMPOLINES_HEADER) % STROBE_TRAMPOLINE_BYTES;
        int64_t lower;
        uint32_t number = 0;
        if (*pc < range->start + STROBE_TRAMPOLINES_HEADER || *pc >= range->end) continue;
        lower = strobe_trampoline_stack(offset);
        if (lower < 0 || strobe_load_bytes(*pc - offset, (uint8_t*)&number, sizeof number) != sizeof number) return 0;
        if (number >= STROBE_FUNCTION_CAPACITY || recorder->probes[number].address == 0) return 0;
        *sp += (uint64_t)lower;
        *pc = recorder->probes[number].address;
        return 1;
    }
    return 0;
}
