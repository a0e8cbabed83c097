/* Set-up and end of the recorder. Runs on the agent's thread, not in a traced function. */
#include "recorder.h"

#define STROBE_PROT_NONE 0
#define STROBE_PROT_READ_WRITE 3
#define STROBE_MAP_PRIVATE_ANONYMOUS 0x22
#define STROBE_MAP_FIXED 0x10
#define STROBE_MREMAP_TO_PLACE 3 /* MREMAP_MAYMOVE | MREMAP_FIXED */
#define STROBE_MAP_NORESERVE 0x4000
#define STROBE_MADV_WIPEONFORK 18
#define STROBE_PAGE 4096u

/* A program may want all that is mapped from now on in memory (mlockall, MCL_FUTURE): that would be some GB of ours, of
   which hardly any is ever used. What may not be accessed is not brought in. */
void* strobe_map(uint64_t bytes) {
    int64_t result = strobe_syscall(STROBE_SYS_MMAP, 0, (int64_t)bytes, STROBE_PROT_NONE,
                                    STROBE_MAP_PRIVATE_ANONYMOUS | STROBE_MAP_NORESERVE, -1, 0);
    if (result < 0 && result > -4096) return NULL;
    strobe_syscall(STROBE_SYS_MUNLOCK, result, (int64_t)bytes, 0, 0, 0, 0);
    if (strobe_syscall(STROBE_SYS_MPROTECT, result, (int64_t)bytes, STROBE_PROT_READ_WRITE, 0, 0, 0) == 0)
        return (void*)result;
    strobe_syscall(STROBE_SYS_MUNMAP, result, (int64_t)bytes, 0, 0, 0, 0); /* RLIMIT_DATA */
    return NULL;
}

/* As strobe_map, for what is there as long as the recorder. */
static void* strobe_map_own(struct strobe_recorder* recorder, uint64_t bytes) {
    void* start = strobe_map(bytes);
    if (start == NULL || recorder->own_count == STROBE_OWN_RANGES) return start;
    recorder->own[recorder->own_count][0] = (uint64_t)start;
    recorder->own[recorder->own_count][1] = (uint64_t)start + bytes;
    recorder->own_count++;
    return start;
}

static int strobe_map_state(struct strobe_recorder* recorder) {
    uint64_t frames = (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES;
    recorder->control = (struct strobe_control*)strobe_map_own(recorder, STROBE_PAGE);
    recorder->states = (struct strobe_thread_state*)strobe_map_own(
        recorder, (uint64_t)STROBE_THREAD_STATES * sizeof(struct strobe_thread_state));
    recorder->threads_of_states =
        (uint32_t*)strobe_map_own(recorder, (uint64_t)STROBE_THREAD_STATES * sizeof(uint32_t));
    recorder->captures = (struct strobe_capture*)strobe_map_own(
        recorder, (uint64_t)STROBE_CAPTURE_CAPACITY * sizeof(struct strobe_capture));
    recorder->watches =
        (struct strobe_watch*)strobe_map_own(recorder, (uint64_t)STROBE_EXTRAS * sizeof(struct strobe_watch));
    recorder->recipes = (struct strobe_stored_recipe*)strobe_map_own(
        recorder, (uint64_t)STROBE_EXTRAS * sizeof(struct strobe_stored_recipe));
    recorder->recipe_steps = (struct strobe_recipe_step*)strobe_map_own(
        recorder, (uint64_t)STROBE_RECIPE_STEPS * sizeof(struct strobe_recipe_step));
    recorder->extras =
        (struct strobe_extras*)strobe_map_own(recorder, (uint64_t)STROBE_EXTRAS * sizeof(struct strobe_extras));
    recorder->kept = (struct strobe_kept*)strobe_map_own(
        recorder, (uint64_t)STROBE_THREAD_STATES * STROBE_KEPT_SLOTS * sizeof(struct strobe_kept));
    recorder->extras_of = (uint16_t*)strobe_map_own(recorder, (uint64_t)STROBE_FUNCTION_CAPACITY * sizeof(uint16_t));
    /* in one mapping: a stub finds its frame by the distance */
    recorder->stubs = (uint8_t*)strobe_map_own(
        recorder, frames * STROBE_STUB_BYTES + STROBE_PAGE + frames * sizeof(struct strobe_frame));
    if (recorder->stubs != NULL)
        recorder->frames = (struct strobe_frame*)(recorder->stubs + frames * STROBE_STUB_BYTES + STROBE_PAGE);
    recorder->unwind_table = (uint8_t*)strobe_map_own(recorder, STROBE_PAGE);
#ifndef STROBE_STAYS_LOADED
    recorder->inside = (uint64_t*)strobe_map_own(recorder, STROBE_INSIDE_BYTES);
    if (recorder->inside == NULL) return 0;
#endif
    recorder->jumps =
        (struct strobe_jump*)strobe_map_own(recorder, (uint64_t)STROBE_JUMPS * sizeof(struct strobe_jump));
    recorder->traps =
        (struct strobe_trap*)strobe_map_own(recorder, (uint64_t)STROBE_TRAPS * sizeof(struct strobe_trap));
    recorder->probes = (struct strobe_probe*)strobe_map_own(
        recorder, (uint64_t)STROBE_FUNCTION_CAPACITY * sizeof(struct strobe_probe));
    recorder->limits = (struct strobe_limit*)strobe_map_own(
        recorder, (uint64_t)STROBE_FUNCTION_CAPACITY * sizeof(struct strobe_limit));
    recorder->site_ranges = (struct strobe_site_range*)strobe_map_own(
        recorder, (uint64_t)STROBE_SITE_RANGES * sizeof(struct strobe_site_range));
    if (recorder->site_ranges == NULL) return 0;
    if (recorder->traps == NULL || recorder->probes == NULL || recorder->limits == NULL) return 0;
    if (recorder->watches == NULL || recorder->recipes == NULL || recorder->recipe_steps == NULL ||
        recorder->extras == NULL || recorder->extras_of == NULL || recorder->kept == NULL || recorder->jumps == NULL)
        return 0;
    return recorder->control != NULL && recorder->states != NULL && recorder->frames != NULL &&
           recorder->threads_of_states != NULL && recorder->captures != NULL && recorder->stubs != NULL &&
           recorder->unwind_table != NULL;
}

STROBE_COLD uint64_t strobe_kernel_ns(void) {
    int64_t now[2];
    strobe_syscall(STROBE_SYS_CLOCK_GETTIME, 1, (int64_t)now, 0, 0, 0, 0);
    return (uint64_t)now[0] * 1000000000u + (uint64_t)now[1];
}

/* The count is the one thing that changes in a recorder that is only read. */
int strobe_calls_begin(const struct strobe_recorder* recorder) {
    strobe_fetch_add32((uint32_t*)&recorder->calling_kernel, 1);
    if (*(const volatile uint32_t*)&recorder->may_call_kernel) return 1;
    strobe_calls_end(recorder);
    return 0;
}

void strobe_calls_end(const struct strobe_recorder* recorder) {
    strobe_fetch_add32((uint32_t*)&recorder->calling_kernel, ~(uint32_t)0);
}

void strobe_sleep_us(int64_t microseconds) {
    int64_t time[2];
    time[0] = 0;
    time[1] = microseconds * 1000;
    strobe_syscall(STROBE_SYS_NANOSLEEP, (int64_t)time, 0, 0, 0, 0, 0);
}

/* A thread may still be on its way to a trampoline of the session before, or a suspended coroutine come to it at any
   time: numbers go on after those of that session, and begin anew when there are no more. */
static void strobe_functions_begin(struct strobe_recorder* recorder) {
    recorder->first_function = (recorder->first_function + recorder->functions_given) % (STROBE_FUNCTION_CAPACITY - 1);
    recorder->functions_given = 0;
}

static void strobe_probes_forget(struct strobe_recorder* recorder) {
    strobe_syscall(STROBE_SYS_MADVISE, (int64_t)recorder->probes,
                   (int64_t)(STROBE_FUNCTION_CAPACITY * sizeof(struct strobe_probe)), STROBE_MADV_DONTNEED, 0, 0, 0);
}

int64_t strobe_recorder_init(struct strobe_recorder* recorder, uint8_t* segment) {
    struct strobe_header* header = (struct strobe_header*)segment;
    int is_first = recorder->control == NULL;
    int64_t result;
    if (header->magic != STROBE_MAGIC || header->version != STROBE_ABI_VERSION ||
        header->function_capacity > STROBE_FUNCTION_CAPACITY)
        return -22;
    if (is_first && !strobe_map_state(recorder)) return -12;
    result =
        strobe_syscall(STROBE_SYS_MADVISE, (int64_t)recorder->control, STROBE_PAGE, STROBE_MADV_WIPEONFORK, 0, 0, 0);
    if (result < 0) return result;
    recorder->header = header;
    recorder->threads = (struct strobe_thread*)(segment + header->thread_offset);
    recorder->plans = (struct strobe_function_plan*)(segment + header->plan_offset);
    recorder->totals = (struct strobe_totals*)(segment + header->totals_offset);
    recorder->chunks = segment + header->chunk_offset;
    recorder->state_bytes = (uint32_t)sizeof(struct strobe_thread_state);
    recorder->start_ticks = header->start_ticks;
    recorder->ticks_apart = 1ull << header->number_shift;
    /* ticks of the session before */
    recorder->no_chunk_before_ticks = recorder->no_state_before_ticks = recorder->no_totals_before_ticks = 0;
    recorder->clock_kind = header->clock_kind;
    strobe_copy((uint8_t*)&recorder->ns_per_tick, (const uint8_t*)&header->ns_per_tick, sizeof recorder->ns_per_tick);
    recorder->sampling_window_ticks = (uint64_t)(int64_t)(STROBE_SAMPLING_WINDOW_NS / header->ns_per_tick);
    recorder->catch_returns = (uint32_t)strobe_returns_can_be_caught();
    recorder->fault_catching = STROBE_FAULTS_END_THE_PROGRAM;
    recorder->pages_wait = (uint32_t)strobe_has_userfaultfd();
    recorder->may_call_kernel = 1;
    recorder->calling_kernel = recorder->is_filtering = 0;
    recorder->tracer = 0;
    recorder->pid = recorder->owner = (uint32_t)strobe_syscall(STROBE_SYS_GETPID, 0, 0, 0, 0, 0, 0);
    strobe_tid_offset_find(recorder);
    strobe_stack_offset_find(recorder);
    strobe_main_stack_find(recorder);
    if (is_first) {
        strobe_return_path_write(recorder);
        strobe_unwind_table_write(recorder);
    }
    recorder->recipe_steps_used = recorder->extras_used = 0;
    strobe_functions_begin(recorder);
    strobe_probes_forget(recorder);
    recorder->script = NULL;
    recorder->libraries_changed = NULL;
    recorder->exit_function = (uint64_t)strobe_exit;
    recorder->control->exit_handler = recorder->exit_function;
    recorder->control->alive = 1;
    recorder->control->has_agent = 1;
    recorder->control->lone_call = 0;
    recorder->control->lone_waits = recorder->control->notes_exit = 1;
    recorder->control->is_own = 1;
    return 0;
}

static int strobe_anyone_busy(const struct strobe_recorder* recorder) {
    uint32_t index;
    for (index = 0; index < recorder->states_used; index++)
        if (recorder->states[index].claimed && recorder->states[index].busy_slot != recorder->states[index].idle)
            return 1;
    return 0;
}

void strobe_segment_replace(struct strobe_recorder* recorder) {
    int64_t bytes = (int64_t)recorder->segment_bytes, place = (int64_t)recorder->header;
    void* zeros = bytes == 0 ? NULL : strobe_map(recorder->segment_bytes);
    if (zeros != NULL)
        strobe_syscall(STROBE_SYS_MREMAP, (int64_t)zeros, bytes, bytes, STROBE_MREMAP_TO_PLACE, place, 0);
    else if (bytes != 0) /* there is no room for both */
        strobe_syscall(STROBE_SYS_MMAP, place, bytes, STROBE_PROT_READ_WRITE,
                       STROBE_MAP_PRIVATE_ANONYMOUS | STROBE_MAP_NORESERVE | STROBE_MAP_FIXED, -1, 0);
}

void strobe_recorder_end(struct strobe_recorder* recorder) {
    int attempts = STROBE_END_ATTEMPTS;
    int at_work;
    recorder->follows_forks = 0;
    recorder->control->alive = 0;
    recorder->control->exit_handler = 0;
    recorder->control->notes_exit = 0;
    /* a thread may stand between reading the handler's address and marking itself busy: give it time to get on */
    strobe_sleep_us(20000);
    while (attempts-- > 0 && strobe_anyone_busy(recorder)) strobe_sleep_us(1000);
    at_work = strobe_states_retire(recorder);
    strobe_segment_replace(recorder);
    if (at_work) recorder->segment_bytes = 0; /* another session's segment must not come where it still writes */
}
