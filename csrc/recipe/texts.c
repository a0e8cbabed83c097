/* Comparison of a text in memory with one that the recipe has. */
#include "machine.h"

#define RECIPE_PIECE_BYTES 64u /* bytes that are read at once */

struct recipe_text {
    uint64_t address;
    uint64_t length;
    uint8_t literal[STROBE_RECIPE_MAX_LITERAL];
    uint32_t literal_length;
};

/* Up to the first zero, `most` bytes at most. 0 where it cannot be read, or has no end. */
static int recipe_measure(struct recipe_run* run, struct recipe_text* text, uint64_t most) {
    uint8_t piece[RECIPE_PIECE_BYTES];
    uint64_t at = 0;
    while (at < most && !strobe_recipe_step_budget_exhausted(run)) {
        uint32_t wanted = most - at < RECIPE_PIECE_BYTES ? (uint32_t)(most - at) : RECIPE_PIECE_BYTES;
        uint32_t got = run->read(run->context, text->address + at, piece, wanted);
        uint32_t index;
        for (index = 0; index < got; index++) {
            if (piece[index]) continue;
            text->length = at + index;
            return 1;
        }
        if (got < wanted) return 0;
        at += got;
    }
    text->length = at;
    return at >= most && most < STROBE_RECIPE_MAX_TEXT; /* an array that is full */
}

/* Whether the literal stands `at` bytes behind the text's begin; -1 where that cannot be read. */
static int recipe_stands_at(struct recipe_run* run, const struct recipe_text* text, uint64_t at) {
    uint8_t piece[STROBE_RECIPE_MAX_LITERAL];
    uint32_t index;
    if (text->literal_length == 0) return 1;
    if (run->read(run->context, text->address + at, piece, text->literal_length) != text->literal_length) return -1;
    for (index = 0; index < text->literal_length; index++)
        if (piece[index] != text->literal[index]) return 0;
    return 1;
}

/* The next place from `at` on where the literal's first byte stands, `last` + 1 where there is none; ~0 where it cannot
   be read. */
static uint64_t recipe_next_begin(struct recipe_run* run, const struct recipe_text* text, uint64_t at, uint64_t last) {
    uint8_t piece[RECIPE_PIECE_BYTES];
    while (at <= last && !strobe_recipe_step_budget_exhausted(run)) {
        uint32_t wanted = last - at + 1 < RECIPE_PIECE_BYTES ? (uint32_t)(last - at + 1) : RECIPE_PIECE_BYTES;
        uint32_t index;
        if (run->read(run->context, text->address + at, piece, wanted) != wanted) return ~(uint64_t)0;
        for (index = 0; index < wanted; index++)
            if (piece[index] == text->literal[0]) return at + index;
        at += wanted;
    }
    return at;
}

static int recipe_contains(struct recipe_run* run, const struct recipe_text* text) {
    uint64_t last, at = 0;
    int found;
    if (text->literal_length == 0) return 1;
    last = text->length - text->literal_length;
    for (;; at++) {
        at = recipe_next_begin(run, text, at, last);
        if (at == ~(uint64_t)0) return -1;
        if (at > last) return 0;
        if (strobe_recipe_step_budget_exhausted(run)) return -1;
        found = recipe_stands_at(run, text, at);
        if (found) return found;
    }
}

static int recipe_is_like(struct recipe_run* run, const struct recipe_text* text, uint32_t how) {
    if (text->length < text->literal_length) return 0;
    switch (how) {
        case STROBE_RECIPE_TEXT_EQUALS:
            return text->length == text->literal_length ? recipe_stands_at(run, text, 0) : 0;
        case STROBE_RECIPE_TEXT_STARTS:
            return recipe_stands_at(run, text, 0);
        case STROBE_RECIPE_TEXT_ENDS:
            return recipe_stands_at(run, text, text->length - text->literal_length);
        default:
            return recipe_contains(run, text);
    }
}

/* The literal, out of the steps behind this one, which are passed over. 0 where they are not there. */
static int recipe_take_literal(struct recipe_run* run, const struct strobe_recipe_step* step,
                               struct recipe_text* text) {
    uint32_t steps = (step->count + 7) / 8;
    uint32_t index;
    if (step->count > STROBE_RECIPE_MAX_LITERAL || steps >= run->count - run->at) return 0;
    for (index = 0; index < steps; index++)
        if (step[1 + index].op != STROBE_RECIPE_DATA) return 0;
    for (index = 0; index < step->count; index++)
        text->literal[index] = (uint8_t)((uint64_t)step[1 + index / 8].operand >> 8 * (index % 8));
    text->literal_length = step->count;
    run->at += steps;
    return 1;
}

uint32_t strobe_recipe_test_text(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word result = run->place, length;
    struct recipe_text text;
    int found = -1;
    if (step->width > STROBE_RECIPE_TEXT_CONTAINS || step->operand < 0) return STROBE_RECIPE_MALFORMED;
    length.status = STROBE_RECIPE_OK;
    length.value = 0;
    length.step = run->at;
    if (!step->operand && !strobe_recipe_pop(run, &length)) return STROBE_RECIPE_MALFORMED;
    if (result.status == STROBE_RECIPE_OK && length.status != STROBE_RECIPE_OK) result = length;
    text.address = run->place.value;
    text.length = length.value;
    result.step = result.status == STROBE_RECIPE_OK ? run->at : result.step;
    if (!recipe_take_literal(run, step, &text)) return STROBE_RECIPE_MALFORMED;
    if (result.status == STROBE_RECIPE_OK) {
        uint64_t most = (uint64_t)step->operand;
        if (most > STROBE_RECIPE_MAX_TEXT) most = STROBE_RECIPE_MAX_TEXT;
        if (step->operand ? recipe_measure(run, &text, most) : text.length <= STROBE_RECIPE_MAX_TEXT)
            found = recipe_is_like(run, &text, step->width);
        result.value = found < 0 ? text.address : (uint64_t)found;
        if (found < 0) result.status = STROBE_RECIPE_UNREADABLE;
    }
    return strobe_recipe_push(run, result) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}
