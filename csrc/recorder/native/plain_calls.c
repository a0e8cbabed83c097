/*
 * The usual call and the usual return, in as few instructions as can be: what there is to do is known before anything
 * is changed, and whatever is not usual is left to calls.c. No function is called on the way, so that the compiler
 * needs no register but those that a caller saves. Both ways record the same: the portable form has only the other one,
 * and the tests compare.
 */
#include "../recorder.h"

#define STROBE_INLINE static inline __attribute__((always_inline))

/* The line that records will be in soon: as each is written once, and the memory is used again only much later, it is
   in no cache. Never faults. */
STROBE_INLINE void strobe_fetch_ahead(const struct strobe_thread_state* state) {
    __asm__ volatile("prefetchw 512(%0)" ::"r"((const uint8_t*)state->chunk + state->used));
}

/* Room for a record of `plan` in the thread's chunk; NULL where another chunk is needed. */
STROBE_INLINE struct strobe_record* strobe_plain_record(const struct strobe_thread_state* state,
                                                        const struct strobe_function_plan* plan) {
    uint32_t most = sizeof(struct strobe_record) + 8 + plan->most_words * 8u;
    if (state->chunk == NULL || state->used + most > STROBE_CHUNK_BYTES) return NULL;
    return (struct strobe_record*)((uint8_t*)state->chunk + state->used);
}

/* Whether the innermost frame is the caller's, or one further up, and its return is still caught. */
STROBE_INLINE int strobe_is_below_open_frame(const struct strobe_thread_state* state, const uint64_t* slot) {
    const struct strobe_frame* top = &state->frames[state->depth - 1];
    return (uint64_t)slot < top->slot && *(const uint64_t*)top->slot == STROBE_STUB_OF(state, state->depth - 1);
}

/* Where no frame is open, one that jumped here may be, of a process or session before this one. */
STROBE_INLINE int strobe_is_plain_call(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                       const uint64_t* slot) {
    if (state->depth == 0) return !STROBE_IS_STUB(recorder, *slot);
    return state->depth < STROBE_FRAMES && strobe_is_below_open_frame(state, slot);
}

/* All fields but the time at once: gcc puts them together byte by byte. */
STROBE_INLINE void strobe_plain_head(const struct strobe_thread_state* state, struct strobe_record* record,
                                     uint32_t function, uint32_t kind_flags, uint32_t words) {
    uint64_t* head = (uint64_t*)record;
    head[0] = state->last_ticks;
    head[1] = function | (uint64_t)state->depth << 32 | (uint64_t)kind_flags << 48 | (uint64_t)words << 56;
}
STROBE_STATIC_ASSERT(offsetof(struct strobe_record, function) == 8 && offsetof(struct strobe_record, depth) == 12 &&
                         offsetof(struct strobe_record, kind_flags) == 14,
                     "the head of a record");

STROBE_INLINE void strobe_plain_enter_record(const struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                             struct strobe_record* record, const struct strobe_function_plan* plan,
                                             uint32_t flags, const uint64_t* registers) {
    const struct strobe_capture* captures = &recorder->captures[plan->captures];
    uint64_t* payload = (uint64_t*)(record + 1);
    uint32_t words = plan->enter_count;
    uint32_t index;
    strobe_plain_head(state, record, (uint32_t)(plan - recorder->plans), STROBE_RECORD_ENTER | flags << 4, words);
    for (index = 0; index < words; index++) payload[index] = registers[captures[index].source];
    strobe_record_publish(state, words, 1);
    strobe_fetch_ahead(state);
}

/* Gives what strobe_enter does for a call with this on its slot. */
static STROBE_COLD uint64_t strobe_name_and_go_on(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                                  uint64_t stub) {
    strobe_thread_read_name(recorder, state);
    return stub - STROBE_STUB_CALL_BYTES;
}

/* rich_calls.c */
STROBE_APART uint64_t strobe_enter_rich(struct strobe_recorder* recorder, uint32_t function, uint64_t* slot,
                                        const uint64_t* registers, uint64_t resume);
STROBE_APART uint64_t strobe_exit_rich(struct strobe_recorder* recorder, uint64_t frame_index, uint64_t rax,
                                       uint64_t rdx, const uint64_t* slot);

/* Takes the place of strobe_enter where the thread's state is found at thread_slot, the clock is the TSC and returns
   are caught. */
__attribute__((flatten)) uint64_t strobe_enter_plain(struct strobe_recorder* recorder, uint32_t function,
                                                     uint64_t* slot, const uint64_t* registers, uint64_t resume) {
    const struct strobe_function_plan* plan = &recorder->plans[function];
    struct strobe_thread_state* state = (struct strobe_thread_state*)strobe_thread_word(recorder->thread_slot);
    const uint32_t wanted = STROBE_PLAN_ENABLED | STROBE_PLAN_WORDS;
    struct strobe_record* record;
    struct strobe_totals* totals;
    int skip;
    if (!recorder->control->alive) return 0;
    if (STROBE_UNLIKELY((plan->flags & wanted) != wanted))
        return strobe_enter_rich(recorder, function, slot, registers, resume);
    /* a state that is not this thread's has another stack, or is marked (threads.c) */
    if (STROBE_UNLIKELY(state == NULL || recorder->control->loading_thread != 0 || !STROBE_ON_OWN_STACK(state, slot) ||
                        !strobe_own_compare_exchange64(&state->busy_slot, 0, (uint64_t)slot)))
        return strobe_enter(recorder, function, slot, registers, resume);
    STROBE_COMPILER_BARRIER();
    if (STROBE_UNLIKELY(!strobe_is_plain_call(recorder, state, slot) || state->totals_index[function] == 0 ||
                        (record = strobe_plain_record(state, plan)) == NULL)) {
        state->busy_slot = state->idle;
        return strobe_enter(recorder, function, slot, registers, resume);
    }
    totals = &recorder->totals[state->totals_index[function]];
    strobe_next_cycles(recorder, state);
    skip = strobe_sample_out(recorder, plan, totals, state->last_ticks);
    if (!skip)
        strobe_plain_enter_record(recorder, state, record, plan, totals->sampling ? STROBE_FLAG_SAMPLED : 0, registers);
    strobe_push_frame(state, totals, slot, *slot, function, state->last_ticks, skip ? STROBE_FRAME_SKIP : 0, resume);
    STROBE_COMPILER_BARRIER();
    state->busy_slot = state->idle;
    if (STROBE_UNLIKELY(--state->name_countdown == 0)) return strobe_name_and_go_on(recorder, state, *slot);
    return *slot - STROBE_STUB_CALL_BYTES;
}

STROBE_INLINE void strobe_plain_exit_record(struct strobe_thread_state* state, struct strobe_record* record,
                                            const struct strobe_frame* frame, const struct strobe_function_plan* plan,
                                            uint64_t duration, uint64_t rax) {
    uint64_t* payload = (uint64_t*)(record + 1);
    uint32_t flags =
        (plan->exit_count ? STROBE_FLAG_HAS_RETURN : 0) | (frame->totals->sampling ? STROBE_FLAG_SAMPLED : 0);
    uint32_t words = 1u + plan->exit_count;
    strobe_plain_head(state, record, frame->function, STROBE_RECORD_EXIT | flags << 4, words);
    payload[0] = duration;
    if (plan->exit_count) payload[1] = rax;
    strobe_record_publish(state, words, 1);
    strobe_fetch_ahead(state);
}

STROBE_INLINE int strobe_is_plain_return(const struct strobe_thread_state* state, uint32_t depth,
                                         const struct strobe_frame* frame, const uint64_t* slot) {
    return frame->slot == (uint64_t)slot && state->depth == depth + 1 && frame->flags < STROBE_FRAME_TAIL &&
           frame->totals != NULL;
}

/* Takes the place of strobe_exit. */
__attribute__((flatten)) uint64_t strobe_exit_plain(struct strobe_recorder* recorder, uint64_t frame_index,
                                                    uint64_t rax, uint64_t rdx, const uint64_t* slot) {
    struct strobe_thread_state* state = &recorder->states[frame_index / STROBE_FRAMES];
    uint32_t depth = (uint32_t)(frame_index % STROBE_FRAMES);
    struct strobe_frame* frame = &recorder->frames[frame_index];
    const struct strobe_function_plan* plan = &recorder->plans[frame->function];
    struct strobe_record* record;
    uint64_t duration, return_address;
    if (STROBE_UNLIKELY(!(plan->flags & STROBE_PLAN_WORDS)))
        return strobe_exit_rich(recorder, frame_index, rax, rdx, slot);
    if (STROBE_UNLIKELY(!strobe_own_compare_exchange64(&state->busy_slot, 0, (uint64_t)slot)))
        return strobe_exit(recorder, frame_index, rax, rdx, slot);
    STROBE_COMPILER_BARRIER();
    if (STROBE_UNLIKELY(!strobe_is_plain_return(state, depth, frame, slot) || plan->exit_count > 1 ||
                        (record = strobe_plain_record(state, plan)) == NULL)) {
        state->busy_slot = state->idle;
        return strobe_exit(recorder, frame_index, rax, rdx, slot);
    }
    state->depth = depth;
    duration = strobe_next_cycles(recorder, state) - frame->enter_ticks;
    if (depth > 0) frame[-1].callee_ticks += duration;
    strobe_totals_add_duration(frame->totals, frame, duration);
    if (frame->flags & STROBE_FRAME_SKIP)
        strobe_count_skipped_exit(frame->totals, frame->flags);
    else
        strobe_plain_exit_record(state, record, frame, plan, duration, rax);
    return_address = frame->return_address; /* a handler that comes from now on may take the frame */
    STROBE_COMPILER_BARRIER();
    state->busy_slot = state->idle;
    return return_address;
}
