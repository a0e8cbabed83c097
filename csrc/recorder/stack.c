/* Which addresses are the thread's own stack. Return addresses are replaced there only: coroutine and signal stacks can
   be left and entered again in any order, which an array of frames cannot follow. */
#include "recorder.h"

#define STROBE_RLIMIT_STACK 3
#define STROBE_SS_ONSTACK 1
#define STROBE_UNLIMITED_STACK (1ull << 30)

/* The main thread's stack grows down to the limit; its mapping shows only what it has used so far. */
static uint64_t strobe_main_stack_low(uint64_t high) {
    uint64_t limit[2];
    limit[0] = 0;
    strobe_syscall(STROBE_SYS_GETRLIMIT, STROBE_RLIMIT_STACK, (int64_t)limit, 0, 0, 0, 0);
    if (limit[0] == 0 || limit[0] > STROBE_UNLIMITED_STACK) limit[0] = STROBE_UNLIMITED_STACK;
    return high > limit[0] ? high - limit[0] : 0;
}

/* glibc keeps in a thread's control block where its stack begins, the stack's size and that of the guard in it. Where,
   is found out once, on the agent's thread: its stack is known from its mapping. */
void strobe_stack_offset_find(struct strobe_recorder* recorder) {
    uint64_t control_block = strobe_thread_pointer();
    uint64_t low = 0, high = 0;
    uint64_t offset;
    recorder->stack_offset = 0;
    if (!strobe_mapping_find(control_block, &low, &high)) return;
    for (offset = 8; offset + 16 < STROBE_THREAD_BLOCK_BYTES; offset += 8) {
        uint64_t start = strobe_thread_word(offset);
        uint64_t size = strobe_thread_word(offset + 8);
        uint64_t guard = strobe_thread_word(offset + 16);
        if (start % STROBE_PAGE_BYTES != 0 || size % STROBE_PAGE_BYTES != 0 || guard >= size) continue;
        if (start > control_block || control_block - start >= size || start + guard != low) continue;
        recorder->stack_offset = (uint32_t)offset;
        return;
    }
}

void strobe_main_stack_find(struct strobe_recorder* recorder) {
    uint64_t low = 0, high = 0;
    if (!strobe_mapping_find(recorder->main_stack_address, &low, &high)) return;
    recorder->main_stack_low = strobe_main_stack_low(high);
    recorder->main_stack_high = high;
}

/* From the control block, without a system call; 0 where that does not say. A thread that is not glibc's may have a
   small one. */
static int strobe_stack_by_block(const struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint64_t control_block = strobe_thread_pointer();
    uint64_t here = (uint64_t)&control_block;
    uint64_t words[3];
    if (recorder->stack_offset == 0 ||
        strobe_read_bytes(recorder, state, strobe_may_touch(recorder, state), control_block + recorder->stack_offset,
                          (uint8_t*)words, sizeof words) != sizeof words)
        return 0;
    if (words[0] == 0) {
        if (here < recorder->main_stack_low || here >= recorder->main_stack_high) return 0;
        state->stack_low = recorder->main_stack_low;
        state->stack_high = recorder->main_stack_high;
        return 1;
    }
    if (words[0] > control_block || control_block - words[0] >= words[1] || words[2] >= words[1]) return 0;
    state->stack_low = words[0] + words[2];
    state->stack_high = control_block;
    return 1;
}

void strobe_stack_bounds(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint64_t low = 0, high = 0;
    uint64_t control_block = strobe_thread_pointer();
    state->stack_low = state->stack_high = 0;
    if (strobe_stack_by_block(recorder, state) || !recorder->may_call_kernel) return;
    if (state->tid == recorder->pid) {
        state->stack_low = recorder->main_stack_low;
        state->stack_high = recorder->main_stack_high;
    } else {
        /* the guard page bounds the mapping below; above the control block another mapping may have been merged */
        if (!strobe_mapping_find(control_block, &low, &high)) return;
        state->stack_low = low;
        state->stack_high = control_block;
    }
}

STROBE_COLD int strobe_stack_is_alternate(const struct strobe_recorder* recorder) {
    uint64_t start, bytes;
    return strobe_alternate_stack(recorder, &start, &bytes);
}

STROBE_COLD int strobe_alternate_stack(const struct strobe_recorder* recorder, uint64_t* start, uint64_t* bytes) {
    struct {
        uint64_t address;
        int32_t flags;
        int32_t reserved;
        uint64_t size;
    } current;
    current.address = current.size = 0;
    current.flags = 0;
    if (recorder->may_call_kernel) strobe_syscall(STROBE_SYS_SIGALTSTACK, 0, (int64_t)&current, 0, 0, 0, 0);
    *start = current.address;
    *bytes = current.size;
    return (current.flags & STROBE_SS_ONSTACK) != 0;
}
