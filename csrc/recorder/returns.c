/*
 * Probes of a function's returns. They hang on the function's number as the further probes of an instruction hang on
 * its first one (strobe_probe.next), and are recorded by the stub that the function returns through, whether its calls
 * are traced or not: as probes of instructions are, with what was passed to the call and what it gives back.
 */
#include "recorder.h"

static uint32_t strobe_next_return_probe(const struct strobe_recorder* recorder, uint32_t function) {
    do function = ((const volatile struct strobe_probe*)recorder->probes)[function].next;
    while (function != 0 && !(recorder->plans[function].flags & STROBE_PLAN_ENABLED));
    return function;
}

/* One more time that a thread has come to it; NULL: there was no room. */
static struct strobe_totals* strobe_return_counted(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                                   uint32_t probe) {
    struct strobe_totals* totals = strobe_totals_of(recorder, state, probe);
    if (totals == NULL) {
        strobe_fetch_add64(&recorder->header->lost_no_totals, 1);
        return NULL;
    }
    totals->calls++;
    totals->exits_missed++;
    return totals;
}

/* Which will not be seen: what holds there is never known. */
static void strobe_return_missed(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t probe) {
    struct strobe_totals* totals = strobe_return_counted(recorder, state, probe);
    if (totals == NULL) return;
    totals->unheld_enters++;
    totals->undecided++;
}

/* Puts down what the probes ask for of the entry, in the entry of the call, which the function's own set may have
   begun. Gives what is needed of what was passed. */
static uint32_t strobe_keep_for_returns(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                        uint32_t function, uint64_t ticks, const uint64_t* registers,
                                        const uint64_t* slot) {
    const struct strobe_extras* extras = strobe_extras_of(recorder, function);
    uint32_t needs = extras != NULL ? extras->needs : 0u;
    uint32_t probe = function;
    while ((probe = strobe_next_return_probe(recorder, probe)) != 0) {
        extras = strobe_extras_of(recorder, probe);
        if (extras == NULL || strobe_is_over(recorder, probe)) continue;
        needs = strobe_joined_needs(needs, extras->needs);
        if (!(extras->needs & STROBE_NEEDS_ENTRY) || !strobe_entry_go_on(state, ticks)) continue;
        strobe_keep_entry(recorder, state, extras, registers, slot);
        strobe_entry_end(state, ticks);
    }
    return needs;
}

void strobe_returns_begin(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t function,
                          int catchable, uint64_t ticks, const uint64_t* registers, const uint64_t* slot) {
    struct strobe_held_signals held;
    int must_hold = STROBE_MUST_HOLD(recorder);
    uint32_t probe = function;
    if (!catchable) {
        while ((probe = strobe_next_return_probe(recorder, probe)) != 0) strobe_return_missed(recorder, state, probe);
        return;
    }
    held.are_held = 0;
    if (must_hold) strobe_reads_hold(recorder, state, &held);
    strobe_keep_passed(recorder, state, strobe_keep_for_returns(recorder, state, function, ticks, registers, slot),
                       ticks, registers, slot);
    if (must_hold) strobe_reads_release(state, &held);
}

/* At the moment that the thread's last ticks are. */
static void strobe_return_write(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                struct strobe_totals* totals, uint32_t probe, const struct strobe_frame* frame,
                                const uint64_t* returned) {
    const struct strobe_extras* extras = strobe_extras_of(recorder, probe);
    uint32_t flags = STROBE_FLAG_NO_EXIT | (extras != NULL ? STROBE_FLAG_HAS_EXTRAS : 0u);
    struct strobe_record* record = strobe_record_begin(recorder, state, probe, STROBE_RECORD_ENTER | flags << 4,
                                                       state->last_ticks, extras != NULL ? extras->most_words : 0u);
    struct strobe_held_signals held;
    int must_hold = STROBE_MUST_HOLD(recorder) && extras != NULL;
    uint32_t words = 0;
    if (record == NULL) {
        if (totals != NULL) totals->lost_enters++;
        return;
    }
    held.are_held = 0;
    if (must_hold) strobe_reads_hold(recorder, state, &held);
    if (extras != NULL)
        words = strobe_capture_extras(recorder, state, extras, NULL, 1, returned - STROBE_SOURCE_RAX,
                                      (const uint64_t*)frame->slot, (uint64_t*)(record + 1));
    if (must_hold) strobe_reads_release(state, &held);
    strobe_record_end(state, record, words);
}

void strobe_returns_record(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                           const struct strobe_frame* frame, const uint64_t* returned) {
    uint32_t probe = frame->function;
    while ((probe = strobe_next_return_probe(recorder, probe)) != 0) {
        const struct strobe_extras* extras = strobe_extras_of(recorder, probe);
        struct strobe_totals* totals = strobe_return_counted(recorder, state, probe);
        int holds = 1, is_beyond = 0;
        strobe_hit_count(recorder, state, probe);
        if (strobe_is_over(recorder, probe))
            holds = -1;
        else if (extras != NULL && extras->condition != 0)
            holds = strobe_call_is_wanted(recorder, state, extras, 1, returned - STROBE_SOURCE_RAX,
                                          (const uint64_t*)frame->slot);
        if (holds > 0) {
            strobe_next_ticks(recorder, state);
            is_beyond = strobe_is_beyond_limit(recorder, state, probe);
        }
        if (holds > 0 && !is_beyond) {
            strobe_return_write(recorder, state, totals, probe, frame, returned);
        } else if (totals != NULL) {
            totals->unheld_enters++;
            totals->unheld_exits += (uint64_t)is_beyond;
            totals->undecided += holds < 0;
        }
    }
}
