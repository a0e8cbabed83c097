/* Exact totals per function and thread: one entry in the segment for each pair, found through the thread state. */
#include "recorder.h"

/* Where there is no room, no entry is used up: there may be room again before they are all gone. */
static struct strobe_totals* strobe_totals_claim(struct strobe_recorder* recorder) {
    struct strobe_header* header = recorder->header;
    uint32_t next = *(const volatile uint32_t*)&header->totals_used;
    uint32_t index;
    if (next >= header->totals_capacity) return NULL;
    if (!strobe_populate(recorder, &recorder->totals[next], sizeof(struct strobe_totals))) return NULL;
    index = strobe_fetch_add32(&header->totals_used, 1);
    if (index >= header->totals_capacity) return NULL;
    if (index != next && !strobe_populate(recorder, &recorder->totals[index], sizeof(struct strobe_totals)))
        return NULL;
    return &recorder->totals[index];
}

STROBE_COLD struct strobe_totals* strobe_totals_begin(struct strobe_recorder* recorder,
                                                      struct strobe_thread_state* state, uint32_t function) {
    struct strobe_totals* entry;
    uint32_t index;
    if (state->last_ticks < recorder->no_totals_before_ticks) return NULL;
    entry = strobe_totals_claim(recorder);
    if (entry == NULL) {
        recorder->no_totals_before_ticks = state->last_ticks + recorder->sampling_window_ticks;
        return NULL;
    }
    index = (uint32_t)(entry - recorder->totals);
    entry->thread_index = (uint16_t)state->thread_index;
    entry->min_ticks = ~0ull;
    entry->window_start_ticks = state->last_ticks;
    entry->next_of_thread = state->totals_chain;
    STROBE_COMPILER_BARRIER();
    entry->function = function;
    state->totals_chain = index;
    state->totals_index[function] = index;
    return entry;
}

/* The state goes to another thread: its entries stay in the segment, the way to them is cleared. */
void strobe_totals_forget(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint32_t index = state->totals_chain;
    while (index != 0) {
        struct strobe_totals* entry = &recorder->totals[index];
        state->totals_index[entry->function] = 0;
        index = entry->next_of_thread;
    }
    state->totals_chain = 0;
}

/* Of a state that no thread works with: numbers of functions go on over sessions, so that each would take other pages.
 */
void strobe_totals_free(const struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint64_t first = ((uint64_t)state->totals_index + STROBE_PAGE_BYTES - 1) & ~(uint64_t)(STROBE_PAGE_BYTES - 1);
    uint64_t end = (uint64_t)(state->totals_index + STROBE_FUNCTION_CAPACITY) & ~(uint64_t)(STROBE_PAGE_BYTES - 1);
    if (recorder->may_call_kernel)
        strobe_syscall(STROBE_SYS_MADVISE, (int64_t)first, (int64_t)(end - first), STROBE_MADV_DONTNEED, 0, 0, 0);
}

/* Log-linear: the octave, and the two bits below its leading one. */
static uint32_t strobe_histogram_bucket(uint64_t ticks) {
    uint32_t octave, bucket;
    if (ticks < (1u << STROBE_HISTOGRAM_FIRST_OCTAVE)) return 0;
    octave = strobe_highest_bit(ticks);
    bucket = (octave - STROBE_HISTOGRAM_FIRST_OCTAVE) * 4 + ((uint32_t)(ticks >> (octave - 2)) & 3);
    return bucket < STROBE_HISTOGRAM_BUCKETS ? bucket : STROBE_HISTOGRAM_BUCKETS - 1;
}

/* Frames are left in the reverse order of their calls, so what the function's total has grown by since this call began
   was spent within it: in calls of the same function, which are taken back. */
void strobe_totals_add_duration(struct strobe_totals* totals, const struct strobe_frame* frame,
                                uint64_t duration_ticks) {
    uint32_t* bucket = &totals->histogram[strobe_histogram_bucket(duration_ticks)];
    totals->exits++;
    totals->total_ticks = frame->total_before + duration_ticks;
    totals->duration_ticks += duration_ticks;
    totals->self_ticks += duration_ticks - frame->callee_ticks;
    if (duration_ticks < totals->min_ticks) totals->min_ticks = duration_ticks;
    if (duration_ticks > totals->max_ticks) totals->max_ticks = duration_ticks;
    if (*bucket != 0xffffffffu) (*bucket)++;
}
