/*
 * The program is about to end by a signal, and may leave a core dump. Who reads that knows nothing of return stubs: the
 * stacks get the return addresses of the program's own again. Nothing is recorded of these returns, which never come.
 */
#include "faults.h"

/* Of one frame, where its stub is still there. The kernel is asked first, as the thread may be gone, with its stack;
   in one step, as it may run. */
static int strobe_core_put_back(const struct strobe_thread_state* state, uint32_t depth) {
    const struct strobe_frame* frame = &state->frames[depth];
    uint64_t stub = STROBE_STUB_OF(state, depth), found;
    if (frame->slot == 0 || frame->slot % 8 != 0) return 0;
    if (!strobe_read_number(&strobe_recorder, NULL, 0, frame->slot, 8, &found) || found != stub) return 0;
    return strobe_compare_exchange64((uint64_t*)frame->slot, stub, frame->return_address);
}

/* Not in a task that shares the memory of one that goes on (vfork). */
void strobe_core_prepare(void) {
    const struct strobe_recorder* recorder = &strobe_recorder;
    uint32_t index, depth;
    if (!recorder->may_call_kernel || recorder->states == NULL ||
        (uint32_t)strobe_syscall(STROBE_SYS_GETPID, 0, 0, 0, 0, 0, 0) != recorder->pid)
        return;
    for (index = 0; index < recorder->states_used; index++) {
        const struct strobe_thread_state* state = &recorder->states[index];
        if (!state->claimed || state->frames == NULL) continue;
        for (depth = 0; depth < state->depth; depth++) strobe_core_put_back(state, depth);
        /* what a forked child has from its parent, or a session before has left, is open without being counted */
        for (; depth < STROBE_FRAMES && strobe_core_put_back(state, depth); depth++) continue;
    }
}

/* The same where SIGABRT is about to be raised, unless the program may outlive that. */
void strobe_core_prepare_abort(void) {
    uint64_t action[4] = {0, 0, 0, 0}, blocked = 0;
    if (!strobe_recorder.may_call_kernel ||
        strobe_syscall(STROBE_SYS_RT_SIGACTION, STROBE_SIGABRT, 0, (int64_t)action, 8, 0, 0) != 0 ||
        strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_BLOCK, 0, (int64_t)&blocked, 8, 0, 0) != 0)
        return;
    if (action[0] == 0 && !(blocked & STROBE_SIGNAL_BIT(STROBE_SIGABRT))) strobe_core_prepare();
}
