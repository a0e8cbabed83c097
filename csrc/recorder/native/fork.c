/*
 * A forked child goes on being recorded, into the segment of its parent: all that is handed out there is handed out by
 * atomic operations. Called in the child by fork, before it returns; until then the cleared control page keeps the
 * recorder off. A child of vfork runs as its parent, and what execs is another program: that ends it.
 */
#include "../recorder.h"

/* A child's children have these frames as well, so there, too, the state is never used again. */
static int strobe_state_is_inherited(const struct strobe_thread_state* state) {
    return state->claimed && state->tid == 0;
}

/* The thread that forked goes on in the child with the frames it has open: their stubs must find their way back, and
   nothing is recorded of them, as they are calls of the parent. Its state stays claimed and is nobody's. */
static void strobe_state_inherit(struct strobe_thread_state* state) {
    state->tid = 0;
    state->depth = 0;
    state->chunk = NULL;
    state->nested = NULL;
}

/* A state of a thread that the child does not have, or a free one: its chunk and lane are the parent's. */
static void strobe_state_reclaim(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    strobe_totals_forget(recorder, state);
    state->depth = 0;
    state->busy_slot = state->idle = 0;
    state->chunk = NULL;
    state->chunk_sequence = 0;
    state->lane = 0;
    state->nested = NULL;
    strobe_state_free(recorder, state);
}

/* Whether the child has a thread with this id: one that a handler of the program's for fork has made before ours came.
 */
static int strobe_child_has_thread(const struct strobe_recorder* recorder, uint32_t tid) {
    uint32_t own = strobe_own_tid(recorder); /* the first thread's, and so the process's, too */
    if (tid == 0 || own == 0) return 0;
    return tid == own ||
           (recorder->may_call_kernel && strobe_syscall(STROBE_SYS_TGKILL, own, tid, 0, 0, 0, 0) != -STROBE_ESRCH);
}

/* fork gives the child these two locks of glibc as they are, unlike its other ones. A thread of the agent that looked
   through the list of libraries, or was just unloaded, would hold them in the child for ever. */
static void strobe_free_libc_locks(const struct strobe_recorder* recorder) {
    volatile uint32_t* loader = (volatile uint32_t*)recorder->loader_lock; /* lock, count, owner, users */
    volatile uint32_t* exit = (volatile uint32_t*)recorder->exit_lock;
    uint32_t index;
    if (exit != NULL) *exit = 0;
    if (loader == NULL || loader[0] == 0 || strobe_child_has_thread(recorder, loader[2])) return;
    for (index = 0; index < 4; index++) loader[index] = 0;
}

/* The agent's thread is not there to do it, and this thread would wait in the jump to itself for ever. The page is
   writable, as it was in the parent. */
static void strobe_finish_replacing(struct strobe_recorder* recorder) {
    uint32_t index;
    if (recorder->replaced_code == NULL) return;
    for (index = 0; index < recorder->replacement_bytes; index++)
        ((volatile uint8_t*)recorder->replaced_code)[index] = recorder->replacement[index];
    recorder->replaced_code = NULL;
}

/* Whether this is the first time, and strobe_native_after_fork is to be registered. Comes before all else. */
int strobe_native_set_libc_locks(uint64_t loader_lock, uint64_t exit_lock) {
    struct strobe_recorder* recorder = &strobe_recorder;
    int is_first = !recorder->has_fork_handler;
    recorder->has_fork_handler = 1;
    recorder->loader_lock = loader_lock;
    recorder->exit_lock = exit_lock;
    return is_first;
}

/* Whether the child goes on in the middle of a record: a signal handler that came there has forked. */
static int strobe_is_within_record(const struct strobe_recorder* recorder) {
    uint64_t here = 0;
    uint32_t index;
    for (index = 0; index < recorder->states_used; index++) {
        const struct strobe_thread_state* state = &recorder->states[index];
        if (!state->claimed || state->thread_pointer != strobe_thread_pointer()) continue;
        if (state->busy_slot == STROBE_BEGINNING) return 1;
        if (state->busy_slot != state->idle && !strobe_was_left(recorder, state, state->busy_slot, &here)) return 1;
    }
    return 0;
}

/* What is left of the record must not get to the parent's chunk and totals, to which registers lead already. All else
   stays as it is until the recorder is left. It is lost what this child, and its children, would have recorded. */
static void strobe_leave_child_unrecorded(struct strobe_recorder* recorder) {
    uint32_t index;
    recorder->follows_forks = 0;
    for (index = 0; index < recorder->states_used; index++) strobe_totals_forget(recorder, &recorder->states[index]);
    strobe_fetch_add64(&recorder->header->lost_reentrant, 1);
    if (recorder->may_call_kernel) strobe_segment_replace(recorder);
}

/* For pthread_atfork. */
void strobe_native_after_fork(void) {
    struct strobe_recorder* recorder = &strobe_recorder;
    struct strobe_thread_state* own;
    uint32_t index;
    strobe_free_libc_locks(recorder);
    strobe_finish_replacing(recorder);
    if (!recorder->follows_forks) return;
    if (strobe_is_within_record(recorder)) {
        strobe_leave_child_unrecorded(recorder);
        return;
    }
    recorder->calling_kernel = 0; /* other threads' */
    recorder->is_filtering = !recorder->may_call_kernel;
    own = strobe_thread_known(recorder);
    for (index = 0; index < recorder->states_used; index++) {
        struct strobe_thread_state* state = &recorder->states[index];
        if (state == own || (own != NULL && state == own->nested) || strobe_state_is_inherited(state) ||
            (STROBE_STATE_IS_RETIRED(state) && state->thread_pointer == strobe_thread_pointer())) {
            if (state->stubs_written) strobe_state_inherit(state);
        } else {
            strobe_state_reclaim(recorder, state);
        }
    }
    recorder->set_specific(recorder->thread_key, NULL);
    recorder->script = NULL;                  /* another thread may have been inside of the script's lock */
    recorder->pid = strobe_own_tid(recorder); /* of the only thread that there is */
    if (recorder->owner != STROBE_OWNER_UNKNOWN) recorder->owner = recorder->pid;
    if (recorder->may_call_kernel && strobe_syscall(STROBE_SYS_GETPPID, 0, 0, 0, 0, 0, 0) == 0)
        recorder->owner = STROBE_OWNER_UNKNOWN; /* the parent is outside its namespace, and so are its ids */
    strobe_fetch_add64(&recorder->header->forked_children, 1);
    recorder->control->exit_handler = recorder->exit_function;
    recorder->control->is_own = 1;
    STROBE_COMPILER_BARRIER();
    recorder->control->alive = 1;
}
