/* How often a probe is recorded, of all its sites and threads together. */
#include "recorder.h"

void strobe_hit_count(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t probe) {
    struct strobe_limit* limit = &recorder->limits[recorder->probes[probe].limit];
    if (limit->flags & STROBE_LIMIT_COUNTS_HITS) state->hit = strobe_fetch_add64(&limit->hits, 1) + 1;
}

/* Whether there were as many in this second already; else it is one more. Once a thread has come to the next second,
   nobody knows any more how many there were in the one before: then it was enough. */
static int strobe_is_beyond_rate(const struct strobe_recorder* recorder, struct strobe_limit* limit, uint64_t ticks) {
    uint64_t second = ticks / (10 * recorder->sampling_window_ticks) << 32;
    for (;;) {
        uint64_t before = *(const volatile uint64_t*)&limit->second;
        uint64_t after = before >> 32 == second >> 32 ? before + 1 : second + 1;
        if (before >> 32 > second >> 32 || (uint32_t)after > limit->rate) return 1;
        if (strobe_compare_exchange64(&limit->second, before, after)) return 0;
    }
}

int strobe_is_beyond_limit(struct strobe_recorder* recorder, const struct strobe_thread_state* state, uint32_t probe) {
    uint32_t number = recorder->probes[probe].limit;
    struct strobe_limit* limit = &recorder->limits[number];
    uint64_t before;
    if (number == 0) return 0;
    before = strobe_fetch_add64(&limit->held, 1);
    if (before < limit->after) return 1;
    if (limit->rate == STROBE_NO_LIMIT) return limit->most != STROBE_NO_LIMIT && before - limit->after >= limit->most;
    if (limit->most != STROBE_NO_LIMIT && *(const volatile uint64_t*)&limit->recorded >= limit->most) return 1;
    if (strobe_is_beyond_rate(recorder, limit, state->last_ticks)) return 1;
    return strobe_fetch_add64(&limit->recorded, 1) >= limit->most && limit->most != STROBE_NO_LIMIT;
}

int strobe_is_over(const struct strobe_recorder* recorder, uint32_t probe) {
    const struct strobe_limit* limit = &recorder->limits[recorder->probes[probe].limit];
    const struct strobe_extras* extras = strobe_extras_of(recorder, probe);
    if (!(limit->flags & STROBE_LIMIT_ENDS) || extras == NULL || extras->condition == 0) return 0;
    if (limit->rate != STROBE_NO_LIMIT) return *(const volatile uint64_t*)&limit->recorded >= limit->most;
    return *(const volatile uint64_t*)&limit->held >= (uint64_t)limit->after + limit->most;
}
