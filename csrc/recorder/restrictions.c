/*
 * What a program forbids itself, after which the kernel would end it for what the recorder does: system calls that a
 * filter does not allow (seccomp), and reads of the time stamp counter. Called before it does so, by who observes prctl
 * and syscall: native/observed.c, portable.c.
 */
#include "recorder.h"
#include "threads.h"

#define STROBE_PR_SET_SECCOMP 22
#define STROBE_PR_SET_MDWE 65
#define STROBE_PR_SET_PTRACER 0x59616d61u
#define STROBE_MDWE_REFUSES_EXECUTABLE 1
#define STROBE_SECCOMP_STRICT 1
#define STROBE_SECCOMP_FILTER 2
#define STROBE_SECCOMP_SET_STRICT 0 /* of the system call */
#define STROBE_SECCOMP_SET_FILTER 1
#define STROBE_SECCOMP_TSYNC 1u /* for all threads */
#define STROBE_STATES_AHEAD 256u
#define STROBE_GET_ON_NS 1000000000ull /* for a handler that waits, below which a record was begun, no longer */
/* Well above that: calls of others are waited for, of which one may be strobe_prepare_filtered. A thread that has left
   by a jump never ends its calls. */
#define STROBE_LONGEST_CALLS_NS (3 * STROBE_GET_ON_NS)
#define STROBE_LONGEST_CALLS (1u << 28) /* looks, where no clock is read: seconds, by the processor's pause */

uint64_t strobe_ticks_anyhow(const struct strobe_recorder* recorder) {
    if (strobe_may_read_clock(recorder)) return strobe_ticks(recorder);
    if (!recorder->may_call_kernel) return recorder->header->checked_ticks + 1;
    return (strobe_kernel_ns() - recorder->header->start_monotonic_ns) / 1000 * recorder->sampling_window_ticks /
           (uint64_t)(STROBE_SAMPLING_WINDOW_NS / 1000);
}

void strobe_note_moment(uint64_t* place) {
    if (*place == 0) *place = strobe_ticks_anyhow(&strobe_recorder);
}

/* Without a system call, which may be forbidden by now: another thread may have waited, too, and gone on. */
static void strobe_await_calls(void) {
    const struct strobe_recorder* recorder = &strobe_recorder;
    int has_clock = recorder->clock_kind == STROBE_CLOCK_TSC && strobe_may_read_clock(recorder);
    uint64_t begun = has_clock ? strobe_ticks(recorder) : 0;
    uint64_t most = STROBE_LONGEST_CALLS_NS / (uint64_t)STROBE_SAMPLING_WINDOW_NS * recorder->sampling_window_ticks;
    uint32_t looks;
    for (looks = 0; has_clock || looks < STROBE_LONGEST_CALLS; looks++) {
        if (*(const volatile uint32_t*)&recorder->calling_kernel == 0) return;
        if (has_clock && strobe_ticks(recorder) - begun > most) return;
        STROBE_PAUSE();
    }
}

static void strobe_prepare_filtered(struct strobe_recorder* recorder) {
    strobe_note_moment(&recorder->header->filtered_ticks);
    strobe_syscall(STROBE_SYS_PRCTL, STROBE_PR_GET_NAME, (int64_t)recorder->filtered_name, 0, 0, 0, 0);
    strobe_states_prepare(recorder, STROBE_STATES_AHEAD);
    strobe_pages_prepare(recorder);
    strobe_own_stack_prepare(recorder);
    STROBE_COMPILER_BARRIER();
    recorder->may_call_kernel = 0;
    /* Most calls are not counted (strobe_calls_begin), as they are made for each value: who is in the middle of a
       record may have asked before. Here the kernel may be called still: who would filter this thread's calls waits. */
    strobe_threads_have_got_on(recorder, STROBE_GET_ON_NS);
}

/* From now on no thread makes a system call for the recorder. What needs one is done before. For a child of vfork, too:
   it runs on with the parent's recorder, and would be ended for its calls. The filter may be for all threads: those
   that are about to make such calls are waited for, one that gets the same ready at this moment among them. */
static void strobe_begin_filtered(void) {
    struct strobe_recorder* recorder = &strobe_recorder;
    if (!recorder->control->alive) { /* nothing has to be ready */
        recorder->may_call_kernel = 0;
        return;
    }
    if (strobe_calls_begin(recorder)) {
        if (strobe_compare_exchange32(&recorder->is_filtering, 0, 1)) strobe_prepare_filtered(recorder);
        strobe_calls_end(recorder);
    }
    strobe_await_calls();
}

/* The thread may not read the time stamp counter any more: that would be a fault. Nor may a child of vfork, which runs
   on with the parent's recorder. */
static void strobe_stop_recording(void) {
    if (strobe_recorder.clock_kind != STROBE_CLOCK_TSC) return;
    strobe_recorder.follows_forks = 0; /* nor may children */
    if (strobe_recorder.control->alive) strobe_note_moment(&strobe_recorder.header->stopped_ticks);
    strobe_recorder.control->alive = 0;
    strobe_recorder.control->exit_handler = 0;
}

/* Without a filter it asks whether there are filters, and fails. */
static void strobe_observe_filter(uint64_t filter) {
    if (filter != 0) strobe_begin_filtered();
}

static void strobe_observe_strict(void) {
    strobe_begin_filtered();
    strobe_stop_recording();
}

/* Not a child of vfork. Yes where that may not be asked. */
static int strobe_is_own_process(const struct strobe_recorder* recorder) {
    int is_own = 1;
    if (strobe_calls_begin(recorder)) {
        is_own = (uint32_t)strobe_syscall(STROBE_SYS_GETPID, 0, 0, 0, 0, 0, 0) == recorder->pid;
        strobe_calls_end(recorder);
    }
    return is_own;
}

void strobe_observe_prctl(uint32_t option, uint64_t argument, uint64_t other) {
    if (option == STROBE_PR_SET_PTRACER && strobe_is_own_process(&strobe_recorder)) strobe_recorder.tracer = argument;
    if (option == STROBE_PR_SET_SECCOMP && argument == STROBE_SECCOMP_STRICT) strobe_observe_strict();
    if (option == STROBE_PR_SET_SECCOMP && argument == STROBE_SECCOMP_FILTER) strobe_observe_filter(other);
    if (option == STROBE_PR_SET_TSC && argument == STROBE_TSC_FAULTS) strobe_stop_recording();
    /* no memory becomes executable any more, which the return stubs of new threads need */
    if (option == STROBE_PR_SET_MDWE && argument & STROBE_MDWE_REFUSES_EXECUTABLE && strobe_recorder.control->alive)
        strobe_states_prepare(&strobe_recorder, STROBE_STATES_AHEAD);
}

/* Who reads a page that is missing waits until a thread of the program fills it. That thread may be the one that calls
   a traced function with the page's address: from now on only what is in memory is read. */
void strobe_observe_userfaultfd(void) { strobe_recorder.pages_wait = 1; }

/* Not by a child, which has no agent: the control page is cleared there. Under a filter the parent's agent leaves for a
   child of vfork, too. */
static int strobe_agent_is_filtered(const struct strobe_recorder* recorder) {
    return recorder->control->lone_waits && strobe_is_own_process(recorder);
}

void strobe_observe_seccomp(uint32_t operation, uint32_t flags, uint64_t filter) {
    if (operation == STROBE_SECCOMP_SET_STRICT) strobe_observe_strict();
    if (operation != STROBE_SECCOMP_SET_FILTER) return;
    if (filter != 0 && flags & STROBE_SECCOMP_TSYNC && strobe_agent_is_filtered(&strobe_recorder))
        strobe_await_departure(&strobe_recorder);
    strobe_observe_filter(filter);
}
