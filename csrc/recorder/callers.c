/*
 * Who calls: the agent, or the program, which asks for it itself.
 *
 * What the agent calls, the program does not call: nothing of it is recorded. The agent has threads of its own, and it
 * runs in threads of the program: where these report a library to it, and in scripts (extras.c).
 *
 * glibc keeps in a thread's control block the function that the thread began with. That of the agent's threads lies in
 * the agent's code, or in the memory from which Frida's loader has loaded it.
 *
 * Where a traced function is to return there is a stub of ours, and whoever asks where it was called would get that.
 */
#include "recorder.h"

/* mov rax, rt_sigreturn; and the first byte of syscall */
#define STROBE_RETURN_FROM_HANDLER 0x0f0000000fc0c748ull

static int strobe_lies_in(const uint64_t* range, uint64_t address) { return address >= range[0] && address < range[1]; }

void strobe_agent_find(struct strobe_recorder* recorder, uint64_t code) {
    uint64_t offset;
    recorder->routine_offset = 0;
    strobe_code_find((uint64_t)recorder->get_specific, recorder->library_code);
    if (!strobe_code_find(code, recorder->agent_code)) return;
    for (offset = 8; offset < STROBE_THREAD_BLOCK_BYTES; offset += 8) {
        if (!strobe_lies_in(recorder->agent_code, strobe_thread_word(offset))) continue;
        if (recorder->routine_offset != 0) { /* one of them is something else */
            recorder->routine_offset = 0;
            return;
        }
        recorder->routine_offset = (uint32_t)offset;
    }
}

int strobe_thread_is_agents(const struct strobe_recorder* recorder) {
    uint64_t routine;
    if (recorder->routine_offset == 0 || !recorder->control->lone_waits) return 0;
    /* a thread that is not glibc's may have a small block */
    if (!strobe_read_number(recorder, NULL, strobe_may_touch(recorder, NULL),
                            strobe_thread_pointer() + recorder->routine_offset, 8, &routine))
        return 0;
    return strobe_lies_in(recorder->agent_code, routine) || strobe_lies_in(recorder->loader_code, routine);
}

/* Its signals are blocked, where the kernel may be called. Elsewhere a handler may interrupt the agent: that and what
   it calls are the program's, save what the C library calls for it. */
int strobe_call_is_agents(const struct strobe_recorder* recorder, const uint64_t* slot) {
    if (recorder->control->loading_thread != strobe_thread_pointer()) return 0;
    if (recorder->may_call_kernel || strobe_lies_in(recorder->agent_code, *slot)) return 1;
    return strobe_lies_in(recorder->library_code, *slot) && *(const uint64_t*)*slot != STROBE_RETURN_FROM_HANDLER;
}

void strobe_caller_restore(const struct strobe_recorder* recorder, uint64_t slot) {
    struct strobe_thread_state* state = recorder->control->alive ? strobe_thread_known(recorder) : NULL;
    if (state == NULL || !strobe_own_compare_exchange64(&state->busy_slot, state->idle, slot)) return;
    while (state->depth > 0 && state->frames[state->depth - 1].slot == slot) {
        struct strobe_totals* totals = state->frames[state->depth - 1].totals;
        strobe_frame_drop(state);
        if (totals == NULL) continue;
        totals->unwound--;
        totals->exits_missed++;
    }
    STROBE_COMPILER_BARRIER();
    state->busy_slot = state->idle;
}

uint64_t strobe_call_site(const struct strobe_recorder* recorder, uint64_t address) {
    const struct strobe_thread_state* state;
    uint64_t index = (address - (uint64_t)recorder->stubs) / STROBE_STUB_BYTES;
    uint32_t depth = (uint32_t)(index % STROBE_FRAMES);
    if (!STROBE_IS_STUB(recorder, address)) return address;
    state = &recorder->states[index / STROBE_FRAMES];
    if (!state->stubs_written || depth >= state->depth || address != STROBE_STUB_OF(state, depth)) return address;
    return state->frames[depth].return_address;
}
