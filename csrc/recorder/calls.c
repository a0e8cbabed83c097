/* The hot path: a call begins, a call returns. */
#include "recorder.h"

static struct strobe_left_return* strobe_left_return(struct strobe_thread_state* state, uint64_t stub, uint64_t slot) {
    return &state->left_returns[((slot >> 3) ^ (stub / STROBE_STUB_BYTES)) % STROBE_LEFT_RETURNS];
}

/* The innermost frame was left without a return. Its stub, where it is still there, is replaced with what would have
   been there: if the frame does live, because the program has switched to another stack within this one, it returns
   without us, and its place in the array can be taken. Where the program has saved the stub's address (a jump to
   swapcontext), it may come back there. What its callees have taken stays theirs: it is none of the caller's own time.
 */
void strobe_frame_drop(struct strobe_thread_state* state) {
    struct strobe_frame* frame = &state->frames[--state->depth];
    uint64_t stub = STROBE_STUB_OF(state, state->depth);
    struct strobe_left_return* left = strobe_left_return(state, stub, frame->slot);
    if (frame->totals != NULL) frame->totals->unwound++;
    if (frame->totals != NULL && frame->flags & STROBE_FRAME_LATE) {
        frame->totals->unheld_enters++;
        frame->totals->undecided++;
    }
    if (state->depth > 0) frame[-1].callee_ticks += frame->callee_ticks;
    if (*(uint64_t*)frame->slot != stub) return;
    *(uint64_t*)frame->slot = frame->return_address;
    left->stub = stub;
    left->slot = frame->slot;
    left->return_address = frame->return_address;
}

void strobe_frames_leave(struct strobe_thread_state* state, uint64_t sp) {
    while (state->depth > 0 && state->frames[state->depth - 1].slot < sp) strobe_frame_drop(state);
}

/* Where a return leads through the stub of a frame that is not open: one of the process that forked this one, or one
   that was dropped and whose place may have been taken. */
static STROBE_COLD uint64_t strobe_return_of_dropped(struct strobe_thread_state* state, uint32_t depth, uint64_t slot) {
    uint64_t stub = STROBE_STUB_OF(state, depth);
    const struct strobe_left_return* left = strobe_left_return(state, stub, slot);
    if (state->frames[depth].slot != slot && left->stub == stub && left->slot == slot) return left->return_address;
    return state->frames[depth].return_address;
}

int strobe_is_returning(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                        uint32_t depth) {
    uint64_t number = (uint64_t)(state->frames - recorder->frames) + depth;
    return *(const uint64_t*)state->frames[depth].slot == (0xffffffff00000000ull | STROBE_RETURNING_MARK | number);
}

/*
 * Drops frames that longjmp or an exception left behind. A frame is dead when its slot lies below the new one (the
 * stack grows down), or no longer holds its return stub. 0 when the thread runs on its alternate signal stack, which
 * may lie anywhere, so that nothing can be said.
 */
static int strobe_drop_dead_frames(const struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                   const uint64_t* slot) {
    struct strobe_frame* frames = state->frames;
    int own_stack_known = 0;
    while (state->depth > 0) {
        struct strobe_frame* top = &frames[state->depth - 1];
        int intact = *(const uint64_t*)top->slot == STROBE_STUB_OF(state, state->depth - 1);
        if (!intact) intact = strobe_is_returning(recorder, state, state->depth - 1);
        if (intact && top->slot >= (uint64_t)slot) return 1;
        if (!own_stack_known && strobe_stack_is_alternate(recorder)) return 0;
        own_stack_known = 1;
        strobe_frame_drop(state);
    }
    return 1;
}

/* Counts the call; 1 when its records are to be left out because the function is hot. */
static int strobe_sample_out(const struct strobe_recorder* recorder, const struct strobe_function_plan* plan,
                             struct strobe_totals* totals, uint64_t ticks) {
    totals->calls++;
    if (!(plan->flags & STROBE_PLAN_SAMPLE)) {
        totals->sampling = 0;
        return 0;
    }
    /* while it is sampled, time ends the window as well: a function that is called less would take long to fill it */
    if (++totals->window_calls > STROBE_SAMPLING_WINDOW_CALLS ||
        (totals->sampling && ticks - totals->window_start_ticks >= recorder->sampling_window_ticks)) {
        totals->sampling = totals->window_calls > STROBE_SAMPLING_WINDOW_CALLS &&
                           ticks - totals->window_start_ticks < recorder->sampling_window_ticks;
        totals->window_start_ticks = ticks;
        totals->window_calls = 0;
    }
    if (!totals->sampling || totals->calls % STROBE_SAMPLING_KEEP_ONE_IN == 0) return 0;
    totals->sampled_out_enters++;
    return 1;
}

/* Room for a record of `function` with at most `words` words of payload; NULL: counted as lost. */
struct strobe_record* strobe_record_begin(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                          uint32_t function, uint32_t kind_flags, uint64_t ticks, uint32_t words) {
    struct strobe_record* record = (struct strobe_record*)strobe_record_reserve(recorder, state, words);
    if (record == NULL) return NULL;
    record->ticks = ticks;
    record->function = function;
    record->depth = (uint16_t)state->depth;
    record->kind_flags = (uint8_t)kind_flags;
    return record;
}

/* Its set may become another at any time: it is looked up once for a record. NULL: none. */
const struct strobe_extras* strobe_extras_of(const struct strobe_recorder* recorder, uint32_t function) {
    if (!(recorder->plans[function].flags & STROBE_PLAN_EXTRAS)) return NULL;
    return &recorder->extras[((const volatile uint16_t*)recorder->extras_of)[function]];
}

void strobe_record_end(struct strobe_thread_state* state, struct strobe_record* record, uint32_t words) {
    record->kind_flags |= (uint8_t)(words >> 8 << 2);
    record->payload_words = (uint8_t)words;
    strobe_record_publish(state, words, 1);
}

/* When: after all that is recorded of it. What was kept of it is known by that. */
static uint64_t strobe_call_begins(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                   const struct strobe_extras* extras) {
    uint64_t ticks = strobe_next_ticks(recorder, state);
    if (extras->needs & STROBE_NEEDS_PASSED) STROBE_KEPT_OF(recorder, state)->enter_ticks = ticks;
    if (extras->needs & STROBE_NEEDS_ENTRY) strobe_entry_end(state, ticks);
    return ticks;
}

/* Of a call whose condition is decided at the return: what its ENTER record would have is kept until then. Gives when
   it began. */
static uint64_t strobe_hold_enter(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                  const struct strobe_extras* extras, uint32_t function, const uint64_t* slot,
                                  const uint64_t* registers) {
    const struct strobe_function_plan* plan = &recorder->plans[function];
    struct strobe_held_signals held;
    int must_hold = STROBE_MUST_HOLD(recorder);
    uint32_t room, words;
    uint64_t* payload;
    held.are_held = 0;
    if (must_hold) strobe_reads_hold(recorder, state, &held);
    if (strobe_entry_begin(state)) {
        payload = strobe_entry_room(state, &room);
        if (plan->most_words + extras->most_words <= room) {
            words = strobe_capture_values(recorder, state, &recorder->captures[plan->captures], plan->enter_count,
                                          registers, slot, payload);
            words += strobe_capture_extras(recorder, state, extras, NULL, 0, registers, slot, payload + words);
            strobe_entry_add_payload(state, words);
        }
        strobe_keep_entry(recorder, state, extras, registers, slot);
    }
    if (must_hold) strobe_reads_release(state, &held);
    return strobe_call_begins(recorder, state, extras);
}

/* Gives when the call began: extras take longer than many a call, and are none of its time. What has no return has no
   time either, and was when its limit was asked (limits.c). */
static uint64_t strobe_write_enter(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                   struct strobe_totals* totals, uint32_t function, uint32_t flags, uint64_t ticks,
                                   const uint64_t* slot, const uint64_t* registers) {
    const struct strobe_function_plan* plan = &recorder->plans[function];
    const struct strobe_capture* captures = &recorder->captures[plan->captures];
    const struct strobe_extras* extras = strobe_extras_of(recorder, function);
    uint32_t most = plan->most_words + (extras != NULL ? extras->most_words : 0u);
    uint32_t kind_flags = STROBE_RECORD_ENTER | (flags | (extras != NULL ? STROBE_FLAG_HAS_EXTRAS : 0u)) << 4;
    struct strobe_record* record = strobe_record_begin(recorder, state, function, kind_flags, ticks, most);
    uint64_t* payload = (uint64_t*)(record + 1);
    uint32_t words = plan->enter_count;
    struct strobe_held_signals held;
    int must_hold = STROBE_MUST_HOLD(recorder) && (extras != NULL || !(plan->flags & STROBE_PLAN_WORDS));
    uint32_t index;
    if (record == NULL) {
        if (totals != NULL) totals->lost_enters++;
        return ticks;
    }
    held.are_held = 0;
    if (must_hold) strobe_reads_hold(recorder, state, &held);
    if (plan->flags & STROBE_PLAN_WORDS) {
        for (index = 0; index < words; index++) payload[index] = registers[captures[index].source];
    } else {
        words = strobe_capture_values(recorder, state, captures, words, registers, slot, payload);
    }
    if (extras != NULL) {
        words += strobe_capture_extras(recorder, state, extras, totals, 0, registers, slot, payload + words);
        if ((extras->needs & STROBE_NEEDS_ENTRY) && strobe_entry_begin(state))
            strobe_keep_entry(recorder, state, extras, registers, slot);
        if (!(flags & STROBE_FLAG_NO_EXIT)) record->ticks = strobe_call_begins(recorder, state, extras);
    }
    if (must_hold) strobe_reads_release(state, &held);
    strobe_record_end(state, record, words);
    return record->ticks;
}

/* `late`: 0, or STROBE_FLAG_LATE. */
static void strobe_write_exit(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                              struct strobe_totals* totals, const struct strobe_frame* frame, uint64_t ticks,
                              uint64_t duration, uint32_t late, const uint64_t* returned) {
    const struct strobe_function_plan* plan = &recorder->plans[frame->function];
    const struct strobe_capture* captures = &recorder->captures[plan->captures + plan->enter_count];
    uint32_t flags = (plan->exit_count ? STROBE_FLAG_HAS_RETURN : 0) |
                     (totals != NULL && totals->sampling ? STROBE_FLAG_SAMPLED : 0) | late;
    const struct strobe_extras* extras = strobe_extras_of(recorder, frame->function);
    uint32_t most = 1 + plan->most_words + (extras != NULL ? extras->most_words : 0u);
    struct strobe_record* record =
        strobe_record_begin(recorder, state, frame->function, STROBE_RECORD_EXIT | (flags << 4), ticks, most);
    uint64_t* payload = (uint64_t*)(record + 1);
    uint32_t words = 1;
    struct strobe_held_signals held;
    int must_hold = STROBE_MUST_HOLD(recorder) && (extras != NULL || !(plan->flags & STROBE_PLAN_WORDS));
    if (record == NULL) {
        if (totals != NULL) totals->lost_exits++;
        return;
    }
    held.are_held = 0;
    if (must_hold) strobe_reads_hold(recorder, state, &held);
    payload[0] = duration;
    if ((plan->flags & STROBE_PLAN_WORDS) && plan->exit_count == 1) {
        payload[words++] = returned[0];
    } else if (plan->exit_count) {
        words += strobe_capture_values(recorder, state, captures, plan->exit_count, returned - STROBE_SOURCE_RAX,
                                       (const uint64_t*)frame->slot, payload + 1);
    }
    if (extras != NULL)
        words += strobe_capture_extras(recorder, state, extras, totals, 1, returned - STROBE_SOURCE_RAX,
                                       (const uint64_t*)frame->slot, payload + words);
    if (must_hold) strobe_reads_release(state, &held);
    strobe_record_end(state, record, words);
}

/* `return_address`: what stood at the slot, or is to be returned to instead. A function that was jumped to returns to
   where the one that jumped would have, not to the other's stub, because an unwinder cannot tell two stubs on one slot
   apart. */
static void strobe_push_frame(struct strobe_thread_state* state, struct strobe_totals* totals, uint64_t* slot,
                              uint64_t return_address, uint32_t function, uint64_t ticks, uint32_t flags,
                              uint64_t resume) {
    struct strobe_frame* frame = &state->frames[state->depth];
    frame->return_address = return_address;
    frame->slot = (uint64_t)slot;
    frame->enter_ticks = ticks;
    frame->function = function;
    frame->flags = flags;
    frame->callee_ticks = 0;
    frame->totals = totals;
    frame->total_before = totals != NULL ? totals->total_ticks : 0;
    frame->resume = resume;
    *slot = STROBE_STUB_OF(state, state->depth);
    state->depth++;
}

/* Of a call that begins where a stub lies at the slot: that of the frame above in the same state, or one that is open
   in no state of this session, as the process that forked this one has it, or a session before. */
static STROBE_COLD uint64_t strobe_behind_stub(struct strobe_recorder* recorder, const uint64_t* slot) {
    uint64_t index = (*slot - (uint64_t)recorder->stubs) / STROBE_STUB_BYTES;
    return strobe_return_of_dropped(&recorder->states[index / STROBE_FRAMES], (uint32_t)(index % STROBE_FRAMES),
                                    (uint64_t)slot);
}

/* `return_address`: 0 where it is replaced already. */
static STROBE_COLD int strobe_may_replace(const struct strobe_recorder* recorder,
                                          const struct strobe_function_plan* plan, uint64_t return_address) {
    const uint64_t* callers = *(const uint64_t* const volatile*)&recorder->callers;
    uint64_t low = 0, high;
    if (plan->flags & STROBE_PLAN_ENTRY_ONLY) return 0;
    if (return_address == 0) return 1;
    if (callers == NULL) return 0;
    high = callers[0];
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (callers[1 + 2 * middle] <= return_address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && return_address <= callers[2 * low]; /* behind a call that ends the last function */
}

/* As strobe_condition_holds, where reads are sure not to end the program. */
int strobe_call_is_wanted(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                          const struct strobe_extras* extras, int at_exit, const uint64_t* registers,
                          const uint64_t* slot) {
    struct strobe_held_signals held;
    int must_hold = STROBE_MUST_HOLD(recorder);
    int holds;
    held.are_held = 0;
    if (must_hold) strobe_reads_hold(recorder, state, &held);
    holds = strobe_condition_holds(recorder, state, extras, at_exit, registers, slot);
    if (must_hold) strobe_reads_release(state, &held);
    return holds;
}

/* STROBE_FRAME_* of a call whose records are left out: it is sampled out, or its condition does not hold, or is decided
   at its return, which is `catchable`; else 0. What
   the condition takes is none of the call's time. `totals`: NULL where there was no room. */
static uint32_t strobe_leave_out(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                 struct strobe_totals* totals, uint64_t* ticks, uint32_t function, int catchable,
                                 const uint64_t* registers, const uint64_t* slot) {
    const struct strobe_function_plan* plan = &recorder->plans[function];
    const struct strobe_extras* extras;
    int holds;
    if (totals != NULL && strobe_sample_out(recorder, plan, totals, *ticks)) return STROBE_FRAME_SKIP;
    extras = strobe_extras_of(recorder, function);
    if (extras == NULL || extras->condition == 0) return 0;
    if (extras->at_return && catchable) {
        *ticks = strobe_hold_enter(recorder, state, extras, function, slot, registers);
        return STROBE_FRAME_SKIP | STROBE_FRAME_LATE;
    }
    holds = extras->at_return ? -1 : strobe_call_is_wanted(recorder, state, extras, 0, registers, slot);
    *ticks = strobe_next_ticks(recorder, state);
    if (holds > 0) return 0;
    if (totals != NULL) totals->unheld_enters++;
    if (totals != NULL && holds < 0) totals->undecided++;
    return STROBE_FRAME_SKIP | STROBE_FRAME_UNHELD;
}

/* A thread has come to a probed instruction: as a call without a return. */
static STROBE_COLD void strobe_record_site(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                           uint32_t function, uint64_t* slot, const uint64_t* registers) {
    struct strobe_totals* totals;
    uint64_t ticks;
    if (recorder->catch_returns && STROBE_ON_OWN_STACK(state, slot)) strobe_drop_dead_frames(recorder, state, slot);
    ticks = strobe_next_ticks(recorder, state);
    totals = strobe_totals_of(recorder, state, function);
    if (totals == NULL)
        strobe_fetch_add64(&recorder->header->lost_no_totals, 1);
    else
        totals->exits_missed++;
    strobe_hit_count(recorder, state, function);
    if (STROBE_UNLIKELY(strobe_is_over(recorder, function))) {
        if (totals != NULL) {
            totals->calls++;
            totals->unheld_enters++;
            totals->undecided++;
        }
        return;
    }
    if (strobe_leave_out(recorder, state, totals, &ticks, function, 0, registers, slot)) return;
    if (!strobe_is_beyond_limit(recorder, state, function)) {
        strobe_write_enter(recorder, state, totals, function, STROBE_FLAG_NO_EXIT, ticks, slot, registers);
    } else if (totals != NULL) {
        totals->unheld_enters++;
        totals->unheld_exits++;
    }
}

/* Gives the stub on the slot, where the return is caught, else 0. */
static uint64_t strobe_record_call(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                   uint32_t function, uint64_t* slot, const uint64_t* registers, uint64_t resume) {
    const struct strobe_function_plan* plan = &recorder->plans[function];
    int catchable = recorder->catch_returns && STROBE_ON_OWN_STACK(state, slot) &&
                    strobe_drop_dead_frames(recorder, state, slot) && state->depth < STROBE_FRAMES;
    const struct strobe_frame* top = state->depth > 0 ? &state->frames[state->depth - 1] : NULL;
    /* the slot already holds the stub of the frame above: reached by a jump, not by a call */
    int jumped = catchable && top != NULL && top->slot == (uint64_t)slot;
    uint32_t tail = jumped ? (top->flags & ~(STROBE_FRAME_TAIL - 1)) + STROBE_FRAME_TAIL : 0;
    uint32_t flags;
    struct strobe_totals* totals;
    uint64_t ticks;
    uint32_t skip;
    if (jumped && top->function == function && (plan->flags & STROBE_PLAN_LOOPS_TO_ENTRY)) return 0;
    if (tail > STROBE_FRAME_TAIL * STROBE_TAIL_CHAIN) catchable = 0; /* functions that jump to each other for ever */
    if (plan->flags & (STROBE_PLAN_ENTRY_ONLY | STROBE_PLAN_CALLER))
        catchable = catchable && strobe_may_replace(recorder, plan, jumped ? 0 : *slot);
    flags = (catchable ? 0 : STROBE_FLAG_NO_EXIT) | (jumped ? STROBE_FLAG_TAIL : 0);
    ticks = strobe_next_ticks(recorder, state);
    if (STROBE_UNLIKELY(plan->flags & STROBE_PLAN_SITE)) { /* only its returns are probed */
        totals = NULL;
        skip = STROBE_FRAME_SKIP;
    } else {
        totals = strobe_totals_of(recorder, state, function);
        skip = strobe_leave_out(recorder, state, totals, &ticks, function, catchable, registers, slot);
        if (totals == NULL) {
            strobe_fetch_add64(&recorder->header->lost_no_totals, 1);
        } else {
            if (totals->sampling) flags |= STROBE_FLAG_SAMPLED;
            if (!catchable) totals->exits_missed++;
        }
    }
    if (!skip) ticks = strobe_write_enter(recorder, state, totals, function, flags, ticks, slot, registers);
    if (STROBE_UNLIKELY(recorder->probes[function].next != 0))
        strobe_returns_begin(recorder, state, function, catchable, ticks, registers, slot);
    if (!catchable) return 0;
    strobe_push_frame(state, totals, slot,
                      STROBE_UNLIKELY(STROBE_IS_STUB(recorder, *slot)) ? strobe_behind_stub(recorder, slot) : *slot,
                      function, ticks, tail | (uint32_t)skip, resume);
    return *slot;
}

/* The recorder was at work at `busy` when a handler there was left for good by a jump: the thread is further up on its
   own stack now. A coroutine, though, that a handler has switched away from will go on with its record. */
static STROBE_COLD int strobe_was_left(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                       uint64_t busy, const uint64_t* slot) {
    uint64_t start, bytes;
    if (!STROBE_ON_OWN_STACK(state, slot) || strobe_alternate_stack(recorder, &start, &bytes)) return 0;
    return STROBE_ON_OWN_STACK(state, busy) ? (uint64_t)slot >= busy : busy - start < bytes;
}

static STROBE_COLD int strobe_state_take_left(const struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                              const uint64_t* slot) {
    uint64_t busy = *(const volatile uint64_t*)&state->busy_slot;
    if (busy != state->idle && !strobe_was_left(recorder, state, busy, slot)) return 0;
    return strobe_own_compare_exchange64(&state->busy_slot, busy, (uint64_t)slot);
}

/* Marks the state as in use. 0 where it is already: the recorder was at work with it when a signal handler called a
   traced function, or switched to another coroutine. Looked at and marked at once: a handler that comes in between may
   switch to a coroutine that takes it. */
#define STROBE_STATE_TAKE(recorder, state, slot)                                            \
    (strobe_own_compare_exchange64(&(state)->busy_slot, (state)->idle, (uint64_t)(slot)) || \
     strobe_state_take_left(recorder, state, slot))

/* With a state that has been taken: where its session has ended meanwhile, its chunk is nobody's. */
static uint64_t strobe_enter_with(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                  uint32_t function, uint64_t* slot, const uint64_t* registers, uint64_t resume) {
    uint64_t stub = 0;
    if (STROBE_UNLIKELY(STROBE_STATE_IS_RETIRED(state))) {
        state->busy_slot = state->idle;
        return 0;
    }
    if (STROBE_UNLIKELY(resume == 0 && recorder->plans[function].flags & STROBE_PLAN_SITE))
        strobe_record_site(recorder, state, function, slot, registers);
    else
        stub = strobe_record_call(recorder, state, function, slot, registers, resume);
    if (--state->name_countdown == 0) strobe_thread_read_name(recorder, state);
    STROBE_COMPILER_BARRIER();
    state->busy_slot = state->idle;
    return stub != 0 ? stub - STROBE_STUB_CALL_BYTES : 0;
}

/* The thread has no state yet, or a handler has interrupted the recorder. */
static STROBE_COLD uint64_t strobe_enter_beginning(struct strobe_recorder* recorder, uint32_t function, uint64_t* slot,
                                                   const uint64_t* registers, uint64_t resume) {
    struct strobe_held_signals held;
    struct strobe_thread_state* state;
    uint64_t stub = 0;
    uint32_t level = 0;
    int is_taken = 0;
    held.are_held = 0;
    state = strobe_thread_begin(recorder, &held);
    if (state == NULL) {
        strobe_signals_release(&held);
        return 0;
    }
    while (state != NULL && !(is_taken = STROBE_STATE_TAKE(recorder, state, slot)) && !state->runs_script)
        state = level++ < STROBE_NESTED_STATES ? strobe_thread_nested(recorder, state, &held) : NULL;
    if (is_taken)
        stub = strobe_enter_with(recorder, state, function, slot, registers, resume);
    else if (state == NULL)
        strobe_fetch_add64(&recorder->header->lost_reentrant, 1);
    strobe_signals_release(&held);
    return stub;
}

uint64_t strobe_enter(struct strobe_recorder* recorder, uint32_t function, uint64_t* slot, const uint64_t* registers,
                      uint64_t resume) {
    struct strobe_thread_state* state;
    if (!recorder->control->alive || !(recorder->plans[function].flags & STROBE_PLAN_ENABLED)) return 0;
    if (STROBE_UNLIKELY(recorder->control->loading_thread != 0) && strobe_call_is_agents(recorder, slot)) return 0;
    state = strobe_thread_open(recorder);
    if (STROBE_UNLIKELY(state == NULL || !STROBE_STATE_TAKE(recorder, state, slot)))
        return strobe_enter_beginning(recorder, function, slot, registers, resume);
    return strobe_enter_with(recorder, state, function, slot, registers, resume);
}

void strobe_site(struct strobe_recorder* recorder, uint32_t function, const uint64_t* registers) {
    uint64_t* slot = (uint64_t*)registers[STROBE_CONTEXT_RSP];
    for (; function != 0; function = ((const volatile struct strobe_probe*)recorder->probes)[function].next) {
        struct strobe_thread_state* state;
        if (!recorder->control->alive) return;
        if (!(recorder->plans[function].flags & STROBE_PLAN_ENABLED)) continue;
        state = strobe_thread_open(recorder);
        if (STROBE_UNLIKELY(state == NULL || !STROBE_STATE_TAKE(recorder, state, slot)))
            strobe_enter_beginning(recorder, function, slot, registers, 0);
        else
            strobe_enter_with(recorder, state, function, slot, registers, 0);
    }
}

uint64_t strobe_trap_find(const struct strobe_recorder* recorder, uint64_t address) {
    uint32_t index = strobe_trap_index(address);
    uint32_t looked;
    for (looked = 0; looked < STROBE_TRAPS; looked++) {
        const volatile struct strobe_trap* trap = &recorder->traps[(index + looked) % STROBE_TRAPS];
        if (trap->address == 0) return 0;
        if (trap->address == address) return trap->leads_to;
    }
    return 0;
}

/* Of a call whose condition is decided now: whether both its records are to be written. */
static STROBE_COLD int strobe_held_late(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                        const struct strobe_frame* frame, const uint64_t* returned) {
    const struct strobe_extras* extras = strobe_extras_of(recorder, frame->function);
    struct strobe_totals* totals = frame->totals;
    int holds = -1;
    if (extras != NULL && extras->condition != 0 && extras->at_return)
        holds = strobe_call_is_wanted(recorder, state, extras, 1, returned - STROBE_SOURCE_RAX,
                                      (const uint64_t*)frame->slot);
    if (holds <= 0 && totals != NULL) {
        totals->unheld_enters++;
        totals->unheld_exits++;
        if (holds < 0) totals->undecided++;
    }
    return holds > 0;
}

/* The ENTER record of such a call, whose EXIT follows at once. */
static STROBE_COLD void strobe_write_late(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                          const struct strobe_frame* frame, uint64_t duration,
                                          const uint64_t* returned) {
    struct strobe_totals* totals = frame->totals;
    uint32_t words = 0, index;
    const uint64_t* payload = strobe_entry_payload(state, &words); /* of no words, where nothing is recorded of it */
    uint32_t kind_flags = STROBE_RECORD_ENTER |
                          (STROBE_FLAG_HAS_EXTRAS | (frame->flags >= STROBE_FRAME_TAIL ? STROBE_FLAG_TAIL : 0u)) << 4;
    struct strobe_record* record = NULL;
    if (payload != NULL)
        record = strobe_record_begin(recorder, state, frame->function, kind_flags, strobe_next_ticks(recorder, state),
                                     words);
    if (record != NULL) {
        for (index = 0; index < words; index++) ((uint64_t*)(record + 1))[index] = payload[index];
        strobe_record_end(state, record, words);
    } else if (totals != NULL) {
        totals->lost_enters++;
    }
    strobe_write_exit(recorder, state, totals, frame, state->last_ticks + recorder->ticks_apart, duration,
                      record != NULL ? STROBE_FLAG_LATE : 0, returned);
    state->last_ticks += recorder->ticks_apart;
}

/* Its time is the callee's of the frame below, which is open still: durations nest, as a thread's ticks only grow. */
static void strobe_record_return(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                 struct strobe_frame* frame, const uint64_t* returned) {
    uint64_t ticks, duration;
    struct strobe_totals* totals = frame->totals;
    /* a call of an ended session, which this thread had not quite begun when it ended */
    if (STROBE_UNLIKELY(STROBE_STATE_IS_RETIRED(state))) return;
    ticks = strobe_next_ticks(recorder, state);
    duration = ticks - frame->enter_ticks;
    if (state->depth > 0) frame[-1].callee_ticks += duration;
    if (totals != NULL) {
        strobe_totals_add_duration(totals, frame, duration);
        if (!(frame->flags & STROBE_FRAME_LATE)) strobe_count_skipped_exit(totals, frame->flags);
    }
    if (!(frame->flags & STROBE_FRAME_SKIP))
        strobe_write_exit(recorder, state, totals, frame, ticks, duration, 0, returned);
    else if (frame->flags & STROBE_FRAME_LATE && strobe_held_late(recorder, state, frame, returned))
        strobe_write_late(recorder, state, frame, duration, returned);
    if (STROBE_UNLIKELY(recorder->probes[frame->function].next != 0))
        strobe_returns_record(recorder, state, frame, returned);
}

/* A coroutine that a handler has switched away from is in the middle of a record with this state: this return has none.
   It ends the same calls as one that is recorded; they are in their totals, without an end. */
static STROBE_COLD uint64_t strobe_return_unrecorded(struct strobe_thread_state* state, uint32_t depth) {
    uint64_t return_address = state->frames[depth].return_address;
    uint32_t flags;
    while (state->depth > depth + 1) strobe_frame_drop(state);
    do {
        struct strobe_totals* totals = state->frames[depth].totals;
        flags = state->frames[depth].flags;
        if (totals != NULL) totals->exits_missed++;
        if (totals != NULL && flags & STROBE_FRAME_LATE) {
            totals->unheld_enters++;
            totals->undecided++;
        }
        state->depth = depth;
    } while (flags >= STROBE_FRAME_TAIL && depth-- > 0);
    return return_address;
}

uint64_t strobe_exit(struct strobe_recorder* recorder, uint64_t frame_index, uint64_t rax, uint64_t rdx,
                     const uint64_t* slot) {
    struct strobe_thread_state* state = &recorder->states[frame_index / STROBE_FRAMES];
    uint32_t depth = (uint32_t)(frame_index % STROBE_FRAMES);
    struct strobe_frame* frames = state->frames;
    uint64_t return_address = frames[depth].return_address;
    uint64_t returned[2];
    if (STROBE_UNLIKELY(frames[depth].slot != (uint64_t)slot || depth >= state->depth))
        return strobe_return_of_dropped(state, depth, (uint64_t)slot);
    returned[0] = rax;
    returned[1] = rdx;
    if (!STROBE_STATE_TAKE(recorder, state, slot)) return strobe_return_unrecorded(state, depth);
    STROBE_COMPILER_BARRIER();
    while (state->depth > depth + 1) strobe_frame_drop(state);
    state->depth = depth;
    strobe_record_return(recorder, state, &frames[depth], returned);
    while (frames[depth].flags >= STROBE_FRAME_TAIL && depth > 0) { /* whoever jumped here has returned as well */
        state->depth = --depth;
        strobe_record_return(recorder, state, &frames[depth], returned);
    }
    STROBE_COMPILER_BARRIER();
    state->busy_slot = state->idle;
    return return_address;
}
