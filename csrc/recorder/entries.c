/*
 * What a call keeps from its entry to its return: blocks of watches whose values at the entry are asked for at the
 * return, and the payload of an ENTER record whose condition is decided then.
 *
 * Each thread state has a stack of them, an entry for each call that keeps something, the innermost on top. An entry:
 * STROBE_ENTRY_HEAD words, the payload, the blocks. Calls that were left by an exception or a jump are still there
 * until the next look, and are known by their depth.
 */
#include "recorder.h"

#define STROBE_ENTRY_HEAD                                                                       \
    3u /* enter ticks; depth, and the place of the entry below; words of the payload, of blocks \
        */
#define STROBE_ENTRY_BELOW_SHIFT 32
#define STROBE_ENTRY_BLOCKS_SHIFT 32

static uint64_t* strobe_entry_top(struct strobe_thread_state* state) {
    return state->entries_top == 0 ? NULL : state->entries + state->entries_top - 1;
}

static uint32_t strobe_entry_depth(const uint64_t* entry) { return (uint32_t)entry[1]; }

static uint32_t strobe_entry_words(const uint64_t* entry) {
    return STROBE_ENTRY_HEAD + (uint32_t)entry[2] + (uint32_t)(entry[2] >> STROBE_ENTRY_BLOCKS_SHIFT);
}

/* Takes away those of `depth` and deeper. */
static void strobe_entries_drop(struct strobe_thread_state* state, uint32_t depth) {
    const uint64_t* top;
    while ((top = strobe_entry_top(state)) != NULL && strobe_entry_depth(top) >= depth)
        state->entries_top = (uint32_t)(top[1] >> STROBE_ENTRY_BELOW_SHIFT);
}

static uint32_t strobe_entries_used(struct strobe_thread_state* state) {
    const uint64_t* top = strobe_entry_top(state);
    return top == NULL ? 0 : state->entries_top - 1 + strobe_entry_words(top);
}

int strobe_entry_begin(struct strobe_thread_state* state) {
    uint64_t* entry;
    uint32_t used;
    strobe_entries_drop(state, state->depth);
    used = strobe_entries_used(state);
    if (used + STROBE_ENTRY_HEAD > STROBE_ENTRY_WORDS) return 0;
    entry = state->entries + used;
    entry[0] = 0;
    entry[1] = state->depth | (uint64_t)state->entries_top << STROBE_ENTRY_BELOW_SHIFT;
    entry[2] = 0;
    state->entries_top = used + 1;
    return 1;
}

int strobe_entry_go_on(struct strobe_thread_state* state, uint64_t enter_ticks) {
    const uint64_t* top = strobe_entry_top(state);
    if (top != NULL && strobe_entry_depth(top) == state->depth && top[0] == enter_ticks) return 1;
    return strobe_entry_begin(state);
}

uint64_t* strobe_entry_room(struct strobe_thread_state* state, uint32_t* room) {
    uint32_t used = strobe_entries_used(state);
    *room = STROBE_ENTRY_WORDS - used;
    return state->entries + used;
}

void strobe_entry_add_payload(struct strobe_thread_state* state, uint32_t words) { strobe_entry_top(state)[2] = words; }

void strobe_entry_add_block(struct strobe_thread_state* state, uint32_t words) {
    strobe_entry_top(state)[2] += (uint64_t)words << STROBE_ENTRY_BLOCKS_SHIFT;
}

void strobe_entry_end(struct strobe_thread_state* state, uint64_t enter_ticks) {
    uint64_t* top = strobe_entry_top(state);
    if (top != NULL && strobe_entry_depth(top) == state->depth) top[0] = enter_ticks;
}

static const uint64_t* strobe_entry_of_return(struct strobe_thread_state* state) {
    const uint64_t* top;
    strobe_entries_drop(state, state->depth + 1);
    top = strobe_entry_top(state);
    if (top == NULL || strobe_entry_depth(top) != state->depth || top[0] != state->frames[state->depth].enter_ticks)
        return NULL;
    return top;
}

const uint64_t* strobe_entry_payload(struct strobe_thread_state* state, uint32_t* words) {
    const uint64_t* entry = strobe_entry_of_return(state);
    if (entry == NULL) return NULL;
    *words = (uint32_t)entry[2];
    return entry + STROBE_ENTRY_HEAD;
}

const uint64_t* strobe_entry_blocks(struct strobe_thread_state* state, uint32_t* words) {
    const uint64_t* entry = strobe_entry_of_return(state);
    *words = entry == NULL ? 0 : (uint32_t)(entry[2] >> STROBE_ENTRY_BLOCKS_SHIFT);
    return entry == NULL ? NULL : entry + STROBE_ENTRY_HEAD + (uint32_t)entry[2];
}
