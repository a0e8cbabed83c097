/*
 * A forked child goes on being recorded, into the segment of its parent: all that is handed out there is handed out by
 * atomic operations. Called in the child by fork, before it returns; until then the cleared control page keeps the
 * recorder off. A child of vfork runs as its parent, and what execs is another program: that ends it.
 */
#include "../recorder.h"

/* The parent's thread that forked goes on in the child with the frames it has open: their stubs must find their way
   back, and nothing is recorded of them, as they are calls of the parent. Its state is never used again: no frame of it
   is open. */
static void strobe_state_inherit(struct strobe_thread_state* state) {
    state->tid = 0;
    state->depth = 0;
    state->chunk = NULL;
    state->nested = NULL;
}

/* A state of a thread that the child does not have, or a free one: its chunk and lane are the parent's. */
static void strobe_state_reclaim(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    strobe_totals_forget(recorder, state);
    state->tid = 0;
    state->depth = 0;
    state->busy_slot = state->idle = 0;
    state->chunk = NULL;
    state->chunk_sequence = 0;
    state->lane = 0;
    state->nested = NULL;
    state->claimed = 0;
}

/* fork gives the child the loader's lock on its list of libraries as it is, unlike the other one: a thread of the agent
   that looked through the list then holds it for ever. glibc's mutex: lock, count, owner, users. */
static void strobe_free_loader_lock(const struct strobe_recorder* recorder) {
    volatile uint32_t* lock = (volatile uint32_t*)recorder->loader_lock;
    uint32_t index;
    for (index = 0; lock != NULL && index < 4; index++) lock[index] = 0;
}

/* For pthread_atfork. */
void strobe_native_after_fork(void) {
    struct strobe_recorder* recorder = &strobe_recorder;
    struct strobe_thread_state* own;
    uint32_t index;
    strobe_free_loader_lock(recorder);
    if (!recorder->follows_forks) return;
    own = strobe_thread_known(recorder);
    for (index = 0; index < recorder->states_used; index++) {
        struct strobe_thread_state* state = &recorder->states[index];
        if (state == own || (own != NULL && state == own->nested) || strobe_state_is_retired(state)) {
            if (state->stubs_written) strobe_state_inherit(state);
        } else {
            strobe_state_reclaim(recorder, state);
        }
    }
    recorder->set_specific(recorder->thread_key, NULL);
    recorder->script = NULL;                  /* another thread may have been inside of the script's lock */
    recorder->pid = strobe_own_tid(recorder); /* of the only thread that there is */
    strobe_fetch_add64(&recorder->header->forked_children, 1);
    recorder->control->exit_handler = recorder->exit_function;
    recorder->control->is_own = 1;
    STROBE_COMPILER_BARRIER();
    recorder->control->alive = 1;
}
