/*
 * Usual calls and returns of which more than words of registers is recorded: other arguments, watches, stacks; or of
 * which only those are recorded for which a usual condition holds. As plain_calls.c, apart from it so that the plain
 * call needs no register but those that a caller saves. Whatever is not usual is left to calls.c, before anything is
 * changed.
 */
#include "../recorder.h"

/* As strobe_may_touch_here. */
STROBE_INLINE int strobe_may_touch_mostly(const struct strobe_recorder* recorder,
                                          const struct strobe_thread_state* state) {
    if (STROBE_UNLIKELY(recorder->fault_catching != STROBE_FAULTS_CAUGHT || recorder->pages_wait ||
                        !STROBE_ON_OWN_STACK(state, &state)))
        return strobe_may_touch_here(recorder, state);
    return 1;
}

/* Words of a record of `plan`, with what `extras` gives. */
STROBE_INLINE struct strobe_record* strobe_rich_record(const struct strobe_thread_state* state,
                                                       const struct strobe_function_plan* plan,
                                                       const struct strobe_extras* extras) {
    uint32_t words = 1u + plan->most_words + (extras != NULL ? extras->most_words : 0u);
    uint32_t most = (uint32_t)sizeof(struct strobe_record) + 8 * words;
    if (state->chunk == NULL || state->used + most > STROBE_CHUNK_BYTES) return NULL;
    return (struct strobe_record*)((uint8_t*)state->chunk + state->used);
}

static STROBE_APART uint32_t strobe_rich_value(const struct strobe_recorder* recorder,
                                               const struct strobe_thread_state* state,
                                               const struct strobe_capture* capture, const uint64_t* registers,
                                               const uint64_t* slot, uint64_t* out) {
    return strobe_capture_one(recorder, state, capture, registers, slot, out);
}

/* Characters of a byte, up to a zero one; else as strobe_rich_value. */
STROBE_INLINE uint32_t strobe_rich_text(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                        const struct strobe_capture* capture, const uint64_t* registers,
                                        const uint64_t* slot, uint64_t* out) {
    uint64_t address = registers[capture->source];
    uint32_t kept;
    int ended = 0;
    if (STROBE_UNLIKELY(capture->second != 1 || STROBE_IS_NOWHERE(address) ||
                        !strobe_may_touch_mostly(recorder, state)))
        return strobe_rich_value(recorder, state, capture, registers, slot, out);
    kept = strobe_load_text(address, (uint8_t*)(out + 1), 8u * capture->text_words, &ended);
    if (STROBE_UNLIKELY(kept == 0 && !ended)) return strobe_rich_value(recorder, state, capture, registers, slot, out);
    out[0] = kept | (ended ? 0 : STROBE_TEXT_CUT);
    if (kept % 8 != 0) out[1 + kept / 8] &= (1ull << 8 * (kept % 8)) - 1;
    return 1 + (kept + 7) / 8;
}

STROBE_INLINE uint32_t strobe_rich_values(const struct strobe_recorder* recorder,
                                          const struct strobe_thread_state* state,
                                          const struct strobe_capture* captures, uint32_t count,
                                          const uint64_t* registers, const uint64_t* slot, uint64_t* out) {
    uint32_t words = 0, index;
    for (index = 0; index < count; index++) {
        const struct strobe_capture* capture = &captures[index];
        if (capture->kind == STROBE_CAPTURE_WORD && capture->source < STROBE_SOURCE_XMM0)
            out[words++] = registers[capture->source];
        else if (capture->kind == STROBE_CAPTURE_CHARS && capture->source < STROBE_SOURCE_XMM0)
            words += strobe_rich_text(recorder, state, capture, registers, slot, out + words);
        else
            words += strobe_rich_value(recorder, state, capture, registers, slot, out + words);
    }
    return words;
}

static __attribute__((noinline, flatten)) uint32_t strobe_rich_watch(const struct strobe_own_memory* memory,
                                                                     const struct strobe_capture* capture,
                                                                     uint64_t* out) {
    struct strobe_own_memory touched = *memory;
    if (STROBE_UNLIKELY(!memory->may_touch)) return strobe_capture_watch(memory, capture, out);
    touched.may_touch = 1; /* which the compiler knows from here on */
    return strobe_capture_watch(&touched, capture, out);
}

/* Watches and stacks. */
static __attribute__((noinline, flatten)) uint32_t strobe_rich_extras(
    const struct strobe_recorder* recorder, const struct strobe_thread_state* state, const struct strobe_extras* extras,
    struct strobe_totals* totals, int at_exit, const uint64_t* registers, const uint64_t* slot, uint64_t* out) {
    const struct strobe_capture* captures = &recorder->captures[extras->captures + (at_exit ? extras->enter_count : 0)];
    uint32_t count = at_exit ? extras->exit_count : extras->enter_count;
    struct strobe_own_memory memory = {recorder, state, NULL, -1};
    uint32_t words = 0, index;
    for (index = 0; index < count; index++) {
        if (captures[index].kind == STROBE_CAPTURE_WATCH) {
            if (memory.may_touch < 0) memory.may_touch = strobe_may_touch_mostly(recorder, state);
            words += strobe_rich_watch(&memory, &captures[index], out + words);
        } else {
            uint32_t room = extras->most_words - words - STROBE_LEAST_WORDS * (count - index - 1);
            words += strobe_capture_stack(&memory, &captures[index], at_exit, registers, slot, room, out + words);
        }
    }
    if (STROBE_UNLIKELY(totals->calls <= STROBE_FIRST_CALLS)) totals->extra_words[at_exit] += words;
    return words;
}

/* 1, also where there is none, or 0; -1 where the machine has to decide. */
STROBE_INLINE int strobe_rich_condition(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                        const struct strobe_extras* extras, const uint64_t* registers) {
    int may_touch;
    if (extras == NULL || extras->condition == 0) return 1;
    may_touch = extras->quick.in_register ? 0 : strobe_may_touch_mostly(recorder, state);
    return strobe_quick_holds(recorder, state, may_touch, &extras->quick, registers);
}

/* The head of a record with so many words, at the moment that the thread's last ticks are; and publishes it. */
STROBE_INLINE void strobe_rich_end(struct strobe_thread_state* state, struct strobe_record* record, uint32_t function,
                                   uint32_t kind_flags, uint32_t words) {
    strobe_plain_head(state, record, function, kind_flags | words >> 8 << 2, words & 0xff);
    strobe_record_publish(state, words, 1);
    strobe_fetch_ahead(state);
}

/* Takes the place of strobe_enter where strobe_enter_plain does not do. */
__attribute__((flatten)) uint64_t strobe_enter_rich(struct strobe_recorder* recorder, uint32_t function, uint64_t* slot,
                                                    const uint64_t* registers, uint64_t resume) {
    const struct strobe_function_plan* plan = &recorder->plans[function];
    struct strobe_thread_state* state = (struct strobe_thread_state*)strobe_thread_word(recorder->thread_slot);
    const uint32_t looked_at = STROBE_PLAN_ENABLED | STROBE_PLAN_SITE | STROBE_PLAN_ENTRY_ONLY | STROBE_PLAN_CALLER;
    const struct strobe_extras* extras;
    struct strobe_record* record = NULL;
    struct strobe_totals* totals;
    uint32_t flags = plan->flags, skip = 0;
    int holds;
    if (STROBE_UNLIKELY(state == NULL || (flags & looked_at) != STROBE_PLAN_ENABLED ||
                        recorder->control->loading_thread != 0 || !STROBE_ON_OWN_STACK(state, slot) ||
                        STROBE_MUST_HOLD(recorder) || recorder->probes[function].next != 0 ||
                        !strobe_own_compare_exchange64(&state->busy_slot, 0, (uint64_t)slot)))
        return strobe_enter(recorder, function, slot, registers, resume);
    STROBE_COMPILER_BARRIER();
    extras = strobe_extras_of(recorder, function);
    if (STROBE_UNLIKELY((extras != NULL && !extras->is_plain) || !strobe_is_plain_call(recorder, state, slot) ||
                        state->totals_index[function] == 0 ||
                        (holds = strobe_rich_condition(recorder, state, extras, registers)) < 0 ||
                        (holds && (record = strobe_rich_record(state, plan, extras)) == NULL))) {
        state->busy_slot = state->idle;
        return strobe_enter(recorder, function, slot, registers, resume);
    }
    totals = &recorder->totals[state->totals_index[function]];
    if (flags & STROBE_PLAN_SAMPLE) strobe_next_cycles(recorder, state);
    if (strobe_sample_out(recorder, plan, totals, state->last_ticks)) {
        skip = STROBE_FRAME_SKIP;
    } else if (!holds) {
        totals->unheld_enters++;
        skip = STROBE_FRAME_SKIP | STROBE_FRAME_UNHELD;
    }
    if (skip) {
        if (!(flags & STROBE_PLAN_SAMPLE)) strobe_next_cycles(recorder, state);
    } else {
        uint64_t* payload = (uint64_t*)(record + 1);
        uint32_t kind_flags = STROBE_RECORD_ENTER | (extras != NULL ? STROBE_FLAG_HAS_EXTRAS << 4 : 0u) |
                              (totals->sampling ? STROBE_FLAG_SAMPLED << 4 : 0u);
        uint32_t words = strobe_rich_values(recorder, state, &recorder->captures[plan->captures], plan->enter_count,
                                            registers, slot, payload);
        if (extras != NULL && extras->enter_count != 0)
            words += strobe_rich_extras(recorder, state, extras, totals, 0, registers, slot, payload + words);
        strobe_next_cycles(recorder,
                           state); /* what is recorded takes longer than many a call, and is none of its time */
        strobe_rich_end(state, record, function, kind_flags, words);
    }
    strobe_push_frame(state, totals, slot, *slot, function, state->last_ticks, skip, resume);
    STROBE_COMPILER_BARRIER();
    state->busy_slot = state->idle;
    if (STROBE_UNLIKELY(--state->name_countdown == 0)) return strobe_name_and_go_on(recorder, state, *slot);
    return *slot - STROBE_STUB_CALL_BYTES;
}

/* Takes the place of strobe_exit where strobe_exit_plain does not do. */
__attribute__((flatten)) uint64_t strobe_exit_rich(struct strobe_recorder* recorder, uint64_t frame_index, uint64_t rax,
                                                   uint64_t rdx, const uint64_t* slot) {
    struct strobe_thread_state* state = &recorder->states[frame_index / STROBE_FRAMES];
    uint32_t depth = (uint32_t)(frame_index % STROBE_FRAMES);
    struct strobe_frame* frame = &recorder->frames[frame_index];
    const struct strobe_function_plan* plan = &recorder->plans[frame->function];
    const struct strobe_extras* extras;
    struct strobe_record* record = NULL;
    uint64_t duration, return_address;
    if (STROBE_UNLIKELY(!strobe_own_compare_exchange64(&state->busy_slot, 0, (uint64_t)slot)))
        return strobe_exit(recorder, frame_index, rax, rdx, slot);
    STROBE_COMPILER_BARRIER();
    extras = strobe_extras_of(recorder, frame->function);
    if (STROBE_UNLIKELY(
            !strobe_is_plain_return(state, depth, frame, slot) || frame->flags & STROBE_FRAME_LATE ||
            (extras != NULL && !extras->is_plain) || STROBE_MUST_HOLD(recorder) ||
            recorder->probes[frame->function].next != 0 ||
            (!(frame->flags & STROBE_FRAME_SKIP) && (record = strobe_rich_record(state, plan, extras)) == NULL))) {
        state->busy_slot = state->idle;
        return strobe_exit(recorder, frame_index, rax, rdx, slot);
    }
    state->depth = depth;
    duration = strobe_next_cycles(recorder, state) - frame->enter_ticks;
    if (depth > 0) frame[-1].callee_ticks += duration;
    strobe_totals_add_duration(frame->totals, frame, duration);
    if (frame->flags & STROBE_FRAME_SKIP) {
        strobe_count_skipped_exit(frame->totals, frame->flags);
    } else {
        uint64_t returned[2] = {rax, rdx};
        const uint64_t* registers = (const uint64_t*)((uint64_t)returned - 8 * STROBE_SOURCE_RAX);
        uint64_t* payload = (uint64_t*)(record + 1);
        uint32_t kind_flags = STROBE_RECORD_EXIT | (plan->exit_count ? STROBE_FLAG_HAS_RETURN << 4 : 0u) |
                              (frame->totals->sampling ? STROBE_FLAG_SAMPLED << 4 : 0u);
        uint32_t words = 1;
        payload[0] = duration;
        words += strobe_rich_values(recorder, state, &recorder->captures[plan->captures + plan->enter_count],
                                    plan->exit_count, registers, (const uint64_t*)frame->slot, payload + 1);
        if (extras != NULL && extras->exit_count != 0)
            words += strobe_rich_extras(recorder, state, extras, frame->totals, 1, registers,
                                        (const uint64_t*)frame->slot, payload + words);
        strobe_rich_end(state, record, frame->function, kind_flags, words);
    }
    return_address = frame->return_address; /* a handler that comes from now on may take the frame */
    STROBE_COMPILER_BARRIER();
    state->busy_slot = state->idle;
    return return_address;
}
