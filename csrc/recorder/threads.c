/*
 * Thread states: found through a pthread key, claimed at a thread's first event. After the last round of destructors a
 * thread still runs code of libc, so its state stays its own (ended), and is taken by another one when the thread is
 * gone. glibc clears the key's value after that round; what is stored then stays in memory that it gives to a later
 * thread: whoever finds a state there makes sure that it is its own.
 */
#include "recorder.h"

/* SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: what an instruction raises comes at once or ends the process */
#define STROBE_SYNCHRONOUS_SIGNALS (1ull << 3 | 1ull << 4 | 1ull << 6 | 1ull << 7 | 1ull << 10 | 1ull << 30)

/* To begin a state takes longer than it may take until a signal comes again: each handler would interrupt the one
   before it, and begin one more, until the stack is full. So signals wait until the first record is made. */
void strobe_signals_hold(const struct strobe_recorder* recorder, struct strobe_held_signals* held) {
    uint64_t all = ~STROBE_SYNCHRONOUS_SIGNALS;
    if (held->are_held || !strobe_calls_begin(recorder)) return;
    held->recorder = recorder;
    held->are_held = strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_BLOCK, (int64_t)&all, (int64_t)&held->before,
                                    8, 0, 0) == 0;
    if (!held->are_held) strobe_calls_end(recorder);
}

void strobe_signals_release(struct strobe_held_signals* held) {
    if (!held->are_held) return;
    held->are_held = 0;
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_SETMASK, (int64_t)&held->before, 0, 8, 0, 0);
    strobe_calls_end(held->recorder);
}

/* pthread destructors run in rounds, at most this many (PTHREAD_DESTRUCTOR_ITERATIONS) */
#define STROBE_DESTRUCTOR_ROUNDS 4
#define STROBE_BEGINNING 1 /* busy_slot of a state that is being set up */
#define STROBE_ENDED 2     /* busy_slot while nobody works with the state of a thread that has run its destructors */
#define STROBE_SHARED 4    /* busy_slot, and idle, where another task has this thread's control block, too */
#define STROBE_NAME_FIRST_INTERVAL 4
#define STROBE_NAME_LAST_INTERVAL 65536
#define STROBE_LOOK_US 20
#define STROBE_ENOUGH_BEGUN                                                                   \
    4 /* times that a thread has looked at its clock: it may do so three times for one record \
       */
#define STROBE_SLOT_MARK 0x5354524f42450000ull

STROBE_COLD void strobe_thread_read_name(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint64_t name[2]; /* not by an initializer: TinyCC calls memset for it, which uses vector registers */
    uint64_t* place;
    if (state->name_interval < STROBE_NAME_LAST_INTERVAL) state->name_interval *= 4;
    state->name_countdown = state->name_interval;
#ifdef STROBE_CATCHES_FAULTS
    strobe_handlers_check();
#endif
    if (state->thread_index >= STROBE_THREAD_INDEX_SHARED) return;
    place = (uint64_t*)recorder->threads[state->thread_index].name;
    if (strobe_calls_begin(recorder)) {
        name[0] = name[1] = 0;
        strobe_syscall(STROBE_SYS_PRCTL, STROBE_PR_GET_NAME, (int64_t)name, 0, 0, 0, 0);
        strobe_calls_end(recorder);
    } else { /* a thread has its name from the one that made it; whoever names it anew is seen (native/observed.c) */
        if (place[0] != 0) return;
        name[0] = recorder->filtered_name[0];
        name[1] = recorder->filtered_name[1];
    }
    place[0] = name[0];
    place[1] = name[1];
}

static void strobe_thread_enlist(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    struct strobe_thread* entry;
    uint32_t index = STROBE_THREAD_INDEX_SHARED;
    if (recorder->header->thread_count < STROBE_THREAD_INDEX_SHARED)
        index = strobe_fetch_add32(&recorder->header->thread_count, 1);
    if (index > STROBE_THREAD_INDEX_SHARED) index = STROBE_THREAD_INDEX_SHARED;
    /* all threads beyond the table share totals, so the way to them stays */
    if (index != STROBE_THREAD_INDEX_SHARED || state->thread_index != STROBE_THREAD_INDEX_SHARED)
        strobe_totals_forget(recorder, state);
    state->thread_index = index;
    state->name_interval = STROBE_NAME_FIRST_INTERVAL;
    entry = &recorder->threads[index];
    if (entry->start_ticks == 0) entry->start_ticks = state->last_ticks;
    entry->pid = recorder->pid;
    strobe_thread_read_name(recorder, state);
    STROBE_COMPILER_BARRIER();
    entry->tid = state->tid;
}

/* The kernel clears the id in a thread's control block when the thread ends. 0 where that cannot be looked at. */
static int strobe_thread_has_ended(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                   uint32_t tid) {
    uint64_t found;
    if (recorder->may_call_kernel && (state->idle == STROBE_SHARED || state->idle == STROBE_RETIRED))
        /* it may be another process, or have been one */
        return strobe_syscall(STROBE_SYS_TKILL, tid, 0, 0, 0, 0, 0) == -STROBE_ESRCH;
    if (recorder->may_call_kernel)
        return strobe_syscall(STROBE_SYS_TGKILL, recorder->pid, tid, 0, 0, 0, 0) == -STROBE_ESRCH;
    if (recorder->tid_offset == 0 || !strobe_may_touch(recorder, NULL)) return 0;
    return !strobe_read_number(recorder, state, 1, state->thread_pointer + recorder->tid_offset, 4, &found) ||
           found != tid;
}

/* A state keeps its lane, as the threads that have it one after the other write at different times. With none left
   those of processes that have ended are taken: of states that are written to at the same time no two have the same. */
static void strobe_lane_claim(const struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint32_t* owners = (uint32_t*)((uint8_t*)recorder->header + recorder->header->lane_offset);
    int among_ended;
    uint32_t lane;
    for (among_ended = 0; among_ended < 2; among_ended++) {
        for (lane = STROBE_LANE_SHARED + 1; lane < STROBE_LANE_HOST && state->lane == 0; lane++) {
            uint32_t owner = owners[lane];
            if (owner != 0 && (!among_ended || !strobe_owner_has_ended(recorder, owner))) continue;
            if (strobe_compare_exchange32(&owners[lane], owner, recorder->owner)) state->lane = lane;
        }
    }
}

/* Takes the state of a thread that is gone. 1 when it was there to be had. */
static int strobe_state_take_stale(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint32_t tid = state->tid;
    return tid != 0 && strobe_thread_has_ended(recorder, state, tid) && strobe_compare_exchange32(&state->tid, tid, 0);
}

/* Whether a retired state is thread `tid`'s own, and nothing that it has open can still return through a stub: what is
   above on the stack has been left. */
static int strobe_state_is_left(const struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                uint32_t tid) {
    uint64_t here = (uint64_t)&state;
    if (state->idle != STROBE_RETIRED || state->busy_slot != STROBE_RETIRED || state->tid != tid ||
        state->thread_pointer != strobe_thread_pointer())
        return 0;
    if (state->depth > 0 && strobe_stack_is_alternate(recorder)) return 0;
    while (state->depth > 0) {
        uint32_t top = state->depth - 1;
        uint64_t slot = state->frames[top].slot;
        if (slot >= here && *(const uint64_t*)slot == STROBE_STUB_OF(state, top)) return 0;
        if (slot >= here && strobe_is_returning(recorder, state, top)) return 0;
        strobe_frame_drop(state);
    }
    return 1;
}

/* To ask takes a system call: not of those whose threads live as a rule. */
static int strobe_state_may_be_stale(const struct strobe_thread_state* state) {
    return state->idle == STROBE_ENDED || state->idle == STROBE_SHARED || state->idle == STROBE_RETIRED;
}

/* States are used from the front, so that only those that were ever used are looked at. */
static struct strobe_thread_state* strobe_state_claim(struct strobe_recorder* recorder, uint32_t tid) {
    uint32_t used = recorder->states_used;
    uint32_t index;
    for (index = 0; index < used; index++) {
        struct strobe_thread_state* state = &recorder->states[index];
        if (recorder->threads_of_states[index] != 0 && recorder->threads_of_states[index] != tid) continue;
        if (!state->stubs_written && !recorder->may_call_kernel) continue; /* it cannot be begun any more */
        if (state->claimed == 0 && strobe_compare_exchange32(&state->claimed, 0, 1)) return state;
        if (strobe_state_is_left(recorder, state, tid)) return state;
    }
    for (index = 0; index < used; index++) {
        struct strobe_thread_state* state = &recorder->states[index];
        if (strobe_state_may_be_stale(state) && strobe_state_take_stale(recorder, state)) return state;
    }
    while (recorder->may_call_kernel && used < STROBE_THREAD_STATES) {
        if (strobe_compare_exchange32(&recorder->states_used, used, used + 1) &&
            strobe_compare_exchange32(&recorder->states[used].claimed, 0, 1))
            return &recorder->states[used];
        used = recorder->states_used;
    }
    /* threads that ended by a raw exit, without destructors */
    for (index = 0; index < STROBE_THREAD_STATES; index++)
        if (strobe_state_take_stale(recorder, &recorder->states[index])) return &recorder->states[index];
    return NULL;
}

void strobe_state_free(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    state->tid = 0;
    recorder->threads_of_states[state - recorder->states] = 0;
    STROBE_COMPILER_BARRIER();
    state->claimed = 0;
}

static int strobe_is_own_ended(const struct strobe_thread_state* state, uint32_t tid) {
    return state->tid == tid && state->idle == STROBE_ENDED && state->thread_pointer == strobe_thread_pointer();
}

/* What thread `tid` has though the key does not say so: its ended state, or one that is being begun, as set_specific
   may allocate, and the allocator may be traced. Else NULL. */
static struct strobe_thread_state* strobe_state_of(const struct strobe_recorder* recorder, uint32_t tid) {
    uint32_t index;
    for (index = 0; index < recorder->states_used; index++) {
        struct strobe_thread_state* state = &recorder->states[index];
        if (recorder->threads_of_states[index] != tid) continue;
        if (state->tid == tid && (state->busy_slot == STROBE_BEGINNING || strobe_is_own_ended(state, tid)))
            return state;
    }
    return NULL;
}

static void strobe_state_forget_segment(struct strobe_thread_state* state) {
    state->chunk = NULL;
    state->chunk_sequence = state->last_ticks = 0;
    state->lane = state->used = state->records = state->thread_index = 0;
    state->entries_top = 0;
}

/* Makes a claimed state the thread's; it is busy until the caller says otherwise. NULL where there is no memory. */
static struct strobe_thread_state* strobe_state_begin(struct strobe_recorder* recorder,
                                                      struct strobe_thread_state* state, uint32_t tid) {
    if (state == NULL) return NULL;
    if (!state->stubs_written &&
        (!recorder->may_call_kernel || strobe_stubs_write(recorder, (uint32_t)(state - recorder->states)) < 0)) {
        state->claimed = 0;
        return NULL;
    }
    if (state->idle == STROBE_RETIRED) strobe_state_forget_segment(state);
    state->busy_slot = STROBE_BEGINNING;
    state->thread_pointer = strobe_thread_pointer();
    recorder->threads_of_states[state - recorder->states] = tid;
    STROBE_COMPILER_BARRIER(); /* a thread that finds it in its memory must not take it for its own */
    state->idle = 0;
    state->tid = tid;
    state->depth = 0;
    state->end_rounds = 0;
    state->runs_script = 0; /* a child has it of its parent's threads */
    state->touching = STROBE_TOUCHING_ASKS;
    state->nested = NULL;
    if (state->lane == 0) strobe_lane_claim(recorder, state);
    strobe_next_ticks(recorder, state);
    strobe_stack_bounds(recorder, state);
    strobe_thread_enlist(recorder, state);
    strobe_record_thread(recorder, state);
    return state;
}

uint32_t strobe_own_tid(const struct strobe_recorder* recorder) {
    uint32_t tid = 0;
    /* in the block that has the thread's slot, too */
    if (recorder->tid_offset != 0)
        tid = (uint32_t)(strobe_thread_word(recorder->tid_offset & ~7u) >> 8 * (recorder->tid_offset & 4));
    if (tid != 0) return tid;
    return recorder->may_call_kernel ? (uint32_t)strobe_syscall(STROBE_SYS_GETTID, 0, 0, 0, 0, 0, 0) : 0;
}

/* On the agent's thread: its id must stand once in its control block. */
void strobe_tid_offset_find(struct strobe_recorder* recorder) {
    uint32_t tid = (uint32_t)strobe_syscall(STROBE_SYS_GETTID, 0, 0, 0, 0, 0, 0);
    uint32_t offset, found = 0;
    recorder->tid_offset = 0;
    for (offset = 8; offset < STROBE_THREAD_BLOCK_BYTES; offset += 4) {
        if ((uint32_t)(strobe_thread_word(offset & ~7u) >> 8 * (offset & 4)) != tid) continue;
        if (found != 0) return;
        found = offset;
    }
    recorder->tid_offset = found;
}

void strobe_states_prepare(struct strobe_recorder* recorder, uint32_t count) {
    uint32_t index, used;
    if (count > STROBE_THREAD_STATES) count = STROBE_THREAD_STATES;
    for (index = 0; index < count; index++) {
        struct strobe_thread_state* state = &recorder->states[index];
        if (state->stubs_written || !strobe_compare_exchange32(&state->claimed, 0, 1)) continue;
        strobe_stubs_write(recorder, index);
        STROBE_COMPILER_BARRIER();
        state->claimed = 0;
    }
    for (used = recorder->states_used; used < count; used = recorder->states_used)
        strobe_compare_exchange32(&recorder->states_used, used, count);
}

static struct strobe_thread_state* strobe_state_of_task(const struct strobe_recorder* recorder, uint32_t tid) {
    uint32_t index;
    for (index = 0; index < recorder->states_used; index++) {
        struct strobe_thread_state* state = &recorder->states[index];
        if (recorder->threads_of_states[index] != tid) continue;
        if (state->tid == tid && (state->idle == STROBE_SHARED || state->busy_slot == STROBE_BEGINNING)) return state;
    }
    return NULL;
}

/* The control block is another task's as well, so that only the kernel can say which of them this is. Tasks beyond the
   first have states that the key does not know. */
static struct strobe_thread_state* strobe_thread_of_task(struct strobe_recorder* recorder,
                                                         struct strobe_thread_state* known,
                                                         struct strobe_held_signals* held) {
    uint32_t tid = 0;
    struct strobe_thread_state* state;
    if (recorder->may_call_kernel) tid = (uint32_t)strobe_syscall(STROBE_SYS_GETTID, 0, 0, 0, 0, 0, 0);
    if (tid == 0 || tid == known->tid) return tid == 0 ? NULL : known;
    state = strobe_state_of_task(recorder, tid);
    if (state == NULL) {
        strobe_signals_hold(recorder, held);
        state = strobe_state_of_task(recorder, tid);
    }
    if (state != NULL) return state->idle == STROBE_SHARED ? state : NULL;
    state = strobe_state_begin(recorder, strobe_state_claim(recorder, tid), tid);
    if (state != NULL) state->idle = state->busy_slot = STROBE_SHARED;
    return state;
}

void strobe_thread_shares_block(struct strobe_recorder* recorder) {
    struct strobe_thread_state* state = strobe_thread_current(recorder);
    if (state == NULL) return;
    if (state->busy_slot == state->idle) state->busy_slot = STROBE_SHARED;
    state->idle = STROBE_SHARED;
}

static struct strobe_thread_state* strobe_not_recorded(struct strobe_recorder* recorder) {
    strobe_fetch_add64(&recorder->header->lost_no_thread, 1);
    return NULL;
}

int strobe_may_read_clock(const struct strobe_recorder* recorder) {
    int32_t found = 0;
    if (recorder->clock_kind != STROBE_CLOCK_TSC) return 1;
    if (strobe_calls_begin(recorder)) {
        strobe_syscall(STROBE_SYS_PRCTL, STROBE_PR_GET_TSC, (int64_t)&found, 0, 0, 0, 0);
        strobe_calls_end(recorder);
        return found != STROBE_TSC_FAULTS;
    }
#ifdef STROBE_CATCHES_FAULTS
    /* where its fault were not caught, neither would be that of the clock's own reading */
    if (recorder->fault_catching != STROBE_FAULTS_END_THE_PROGRAM) return strobe_try_cycles();
#endif
    return 1;
}

static struct strobe_thread_state* strobe_thread_keyed(const struct strobe_recorder* recorder) {
    return (struct strobe_thread_state*)(recorder->thread_slot != 0 ? (void*)strobe_thread_word(recorder->thread_slot)
                                                                    : recorder->get_specific(recorder->thread_key));
}

struct strobe_thread_state* strobe_thread_open(const struct strobe_recorder* recorder) {
    struct strobe_thread_state* state = strobe_thread_keyed(recorder);
    return state != NULL && state->thread_pointer == strobe_thread_pointer() && state->idle == 0 ? state : NULL;
}

STROBE_COLD struct strobe_thread_state* strobe_thread_begin(struct strobe_recorder* recorder,
                                                            struct strobe_held_signals* held) {
    struct strobe_thread_state* known = strobe_thread_keyed(recorder); /* perhaps of one that had this memory before */
    uint32_t tid;
    struct strobe_thread_state* state;
    uint64_t here = (uint64_t)&state;
    if (known != NULL && known->thread_pointer == strobe_thread_pointer() && known->idle == 0) return known;
    tid = strobe_own_tid(recorder);
    if (tid == 0) return strobe_not_recorded(recorder);
    if (known != NULL && known->idle == STROBE_SHARED && known->thread_pointer == strobe_thread_pointer()) {
        state = strobe_thread_of_task(recorder, known, held);
        return state != NULL ? state : strobe_not_recorded(recorder);
    }
    if (known != NULL && strobe_is_own_ended(known, tid)) return known;
    if (strobe_thread_is_agents(recorder)) return NULL; /* at each of its calls: before all states are looked at */
    if (!strobe_may_read_clock(recorder)) {
        strobe_fetch_add64(&recorder->header->lost_no_clock, 1);
        return NULL;
    }
    if (strobe_ticks(recorder) < recorder->no_state_before_ticks) return strobe_not_recorded(recorder);
    strobe_signals_hold(recorder, held);
    state = strobe_state_of(recorder, tid);
    if (state == NULL || state->busy_slot == STROBE_BEGINNING) {
        if (state == NULL)
            state = strobe_state_claim(recorder, tid);
        else if (here < state->begun_at || strobe_stack_is_alternate(recorder))
            /* below, a handler has interrupted the beginning; else one has left it by siglongjmp */
            return strobe_not_recorded(recorder);
        if (state == NULL) { /* to look through all of them takes a system call for each: not at every call */
            recorder->no_state_before_ticks = strobe_ticks(recorder) + recorder->sampling_window_ticks;
            return strobe_not_recorded(recorder);
        }
        state->begun_at = here;
        state = strobe_state_begin(recorder, state, tid);
    }
    if (state == NULL) return strobe_not_recorded(recorder);
    recorder->set_specific(recorder->thread_key, state);
    state->busy_slot = state->idle;
    return state;
}

static void strobe_state_close(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    strobe_thread_read_name(recorder, state);
    recorder->threads[state->thread_index].end_ticks = strobe_next_ticks(recorder, state);
    while (state->depth > 0) strobe_frame_drop(state);
}

static void strobe_state_release(struct strobe_recorder* recorder, struct strobe_thread_state* state);

/* No handler may find a state there that is another thread's by then. One that it begins meanwhile stays. */
static void strobe_nested_release(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    struct strobe_thread_state* nested = state->nested;
    state->nested = NULL;
    STROBE_COMPILER_BARRIER();
    if (nested != NULL) strobe_state_release(recorder, nested);
}

static void strobe_state_release(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    strobe_nested_release(recorder, state);
    strobe_state_close(recorder, state);
    strobe_state_free(recorder, state);
}

/* A handler that interrupts the recorder in the middle of a record cannot use the same chunk and frames. It gets a
   state of its own, listed as a thread of its own with the same id, so that records of one state stay in order. */
STROBE_COLD struct strobe_thread_state* strobe_thread_nested(struct strobe_recorder* recorder,
                                                             struct strobe_thread_state* state,
                                                             struct strobe_held_signals* held) {
    if (state->busy_slot == STROBE_BEGINNING) return NULL;
    if (state->nested == NULL) strobe_signals_hold(recorder, held);
    if (state->nested == NULL) {
        struct strobe_thread_state* nested =
            strobe_state_begin(recorder, strobe_state_claim(recorder, state->tid), state->tid);
        if (nested == NULL) return NULL;
        nested->busy_slot = 0;
        if (state->nested == NULL)
            state->nested = nested;
        else /* by a handler that has interrupted the beginning */
            strobe_state_release(recorder, nested);
    }
    return state->nested;
}

/* glibc keeps the values of its first keys in the block that the thread pointer points to. To look there takes a tenth
   of the time of pthread_getspecific, and cannot run into code that somebody traces or interposes. */
void strobe_thread_slot_find(struct strobe_recorder* recorder) {
    uint64_t mark = (uint64_t)recorder ^ STROBE_SLOT_MARK;
    uint64_t offset, found = 0;
    for (offset = 8; offset < STROBE_THREAD_BLOCK_BYTES; offset += 8) {
        recorder->set_specific(recorder->thread_key, (const void*)mark);
        if (strobe_thread_word(offset) != mark) continue;
        recorder->set_specific(recorder->thread_key, (const void*)~mark);
        if (strobe_thread_word(offset) != ~mark) continue;
        found = offset;
        break;
    }
    recorder->set_specific(recorder->thread_key, NULL);
    recorder->thread_slot = found;
}

struct strobe_thread_state* strobe_thread_known(const struct strobe_recorder* recorder) {
    struct strobe_thread_state* state = strobe_thread_keyed(recorder);
    return state != NULL && state->thread_pointer == strobe_thread_pointer() ? state : NULL;
}

struct strobe_thread_state* strobe_thread_current(struct strobe_recorder* recorder) {
    struct strobe_held_signals held;
    struct strobe_thread_state* state;
    held.are_held = 0;
    state = strobe_thread_begin(recorder, &held);
    strobe_signals_release(&held);
    return state;
}

/* Destructor of the pthread key. Other destructors may still run traced functions, so the state is kept until the last
   round, and open after it. The chunk stays with the state: a short-lived thread would otherwise leave 64 KiB behind.
   A state of a thread that had this memory before may be anybody's by now. */
void strobe_thread_end(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    if (!recorder->control->alive || state->idle == STROBE_RETIRED) return;
    if (state->thread_pointer != strobe_thread_pointer() || state->tid != strobe_own_tid(recorder)) return;
    recorder->set_specific(recorder->thread_key, state);
    if (++state->end_rounds < STROBE_DESTRUCTOR_ROUNDS) return;
    strobe_nested_release(recorder, state);
    strobe_state_close(recorder, state);
    state->idle = state->busy_slot = STROBE_ENDED;
    /* where it cannot be found out later that the thread is gone (strobe_thread_has_ended) */
    if (!recorder->may_call_kernel && (recorder->tid_offset == 0 || !strobe_may_touch(recorder, NULL)))
        strobe_state_free(recorder, state);
}

/* A state stays its thread's as long as that lives: what it has open returns through its stubs, and so does what it has
   dropped; nothing is recorded of that, as these are calls of the ended session. And a thread that has waited for a CPU
   since it looked whether the recorder is on may only now be about to mark the state. One whose thread did not leave
   the recorder in time, as under a signal handler that waits, still writes to the chunk, where there are zeros by then.
   1 when a thread is at work with it. */
static int strobe_state_retire(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint64_t idle = state->idle;
    int has_ended = state->tid != 0 && strobe_thread_has_ended(recorder, state, state->tid);
    int has_totals = state->totals_chain != 0;
    uint32_t index;
    strobe_totals_forget(recorder, state);
    for (index = 0; index < state->depth; index++) {
        state->frames[index].totals = NULL;
        state->frames[index].flags |= STROBE_FRAME_SKIP;
    }
    state->nested = NULL;
    state->idle = STROBE_RETIRED;
    if (!strobe_compare_exchange64(&state->busy_slot, idle, STROBE_RETIRED) && state->busy_slot != STROBE_RETIRED)
        return 1;
    if (has_totals) strobe_totals_free(recorder, state);
    if (has_ended) strobe_state_free(recorder, state);
    return 0;
}

int strobe_states_retire(struct strobe_recorder* recorder) {
    uint32_t index;
    int at_work = 0;
    /* free ones, too: a handler's that has been given back still has its chunk, totals and lane in this segment */
    for (index = 0; index < recorder->states_used; index++)
        at_work |= strobe_state_retire(recorder, &recorder->states[index]);
    return at_work;
}

/* Whether the thread is done with the record that it was in: it is in none, or has begun others since. 0 where it does
   not get on. */
static int strobe_has_got_on(const struct strobe_thread_state* state, uint64_t deadline_ns) {
    const volatile uint64_t* busy = &state->busy_slot;
    const volatile uint64_t* ticks = &state->last_ticks;
    uint64_t seen = *ticks;
    int begun = 0;
    while (state->claimed && *busy != state->idle) {
        if (*ticks != seen) begun++;
        if (begun == STROBE_ENOUGH_BEGUN) break;
        if (strobe_kernel_ns() > deadline_ns) return 0;
        seen = *ticks;
        strobe_sleep_us(STROBE_LOOK_US);
    }
    return 1;
}

int strobe_threads_have_got_on(const struct strobe_recorder* recorder, uint64_t limit_ns) {
    uint64_t deadline_ns = strobe_kernel_ns() + limit_ns;
    uint32_t index;
    strobe_sleep_us(1000); /* who has marked itself as busy is seen then */
    for (index = 0; index < recorder->states_used; index++)
        if (recorder->states[index].thread_pointer != strobe_thread_pointer() &&
            !strobe_has_got_on(&recorder->states[index], deadline_ns))
            return 0;
    return 1;
}
