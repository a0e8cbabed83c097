/* Comparison of a text in memory with one that the recipe has, and whether a regular expression finds it. */
#include "machine.h"

#define RECIPE_PIECE_BYTES 64u /* bytes that are read at once */
#define RECIPE_TABLE_HEAD (8u + 256u)
#define RECIPE_STATE_NONE 0u
#define RECIPE_STATE_FOUND 1u

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

/* The next address from `at` on where the literal's first byte stands, `last` + 1 where there is none; ~0 where it
   cannot be read. */
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

/* Whether the steps behind this one have its bytes. */
static int recipe_has_data(const struct recipe_run* run, const struct strobe_recipe_step* step, uint32_t most) {
    uint32_t steps = (step->count + 7) / 8;
    uint32_t index;
    if (step->count > most || steps >= run->count - run->at) return 0;
    for (index = 0; index < steps; index++)
        if (step[1 + index].op != STROBE_RECIPE_DATA) return 0;
    return 1;
}

static uint8_t recipe_data(const struct strobe_recipe_step* step, uint32_t index) {
    return (uint8_t)((uint64_t)step[1 + index / 8].operand >> 8 * (index % 8));
}

/* The literal, out of the steps behind this one, which are passed over. 0 where they are not there. */
static int recipe_take_literal(struct recipe_run* run, const struct strobe_recipe_step* step,
                               struct recipe_text* text) {
    uint32_t index;
    if (!recipe_has_data(run, step, STROBE_RECIPE_MAX_LITERAL)) return 0;
    for (index = 0; index < step->count; index++) text->literal[index] = recipe_data(step, index);
    text->literal_length = step->count;
    run->at += (step->count + 7) / 8;
    return 1;
}

/* How many bytes a text has: `most` as the steps have it, 0 where `length` is the length. Bad where it cannot be known.
 */
static struct recipe_word recipe_extent(struct recipe_run* run, struct recipe_text* text, uint64_t most,
                                        struct recipe_word length) {
    if (length.status != STROBE_RECIPE_OK) return length;
    if (most > STROBE_RECIPE_MAX_TEXT) most = STROBE_RECIPE_MAX_TEXT;
    text->length = length.value;
    length.value = text->address;
    if (most ? !recipe_measure(run, text, most) : text->length > STROBE_RECIPE_MAX_TEXT)
        length.status = STROBE_RECIPE_UNREADABLE;
    return length;
}

/* Whether `count` bytes at both addresses are the same; -1 where some cannot be read. */
static int recipe_are_same(struct recipe_run* run, uint64_t first, uint64_t second, uint64_t count) {
    uint8_t left[RECIPE_PIECE_BYTES], right[RECIPE_PIECE_BYTES];
    uint64_t at;
    for (at = 0; at < count; at += RECIPE_PIECE_BYTES) {
        uint32_t wanted = count - at < RECIPE_PIECE_BYTES ? (uint32_t)(count - at) : RECIPE_PIECE_BYTES;
        uint32_t index;
        if (strobe_recipe_step_budget_exhausted(run)) return -1;
        if (run->read(run->context, first + at, left, wanted) != wanted) return -1;
        if (run->read(run->context, second + at, right, wanted) != wanted) return -1;
        for (index = 0; index < wanted; index++)
            if (left[index] != right[index]) return 0;
    }
    return 1;
}

/* As recipe_is_like; -1 also where the second one is too long to be looked for. */
static int recipe_are_like(struct recipe_run* run, struct recipe_text* text, const struct recipe_text* other,
                           uint32_t how) {
    if (text->length < other->length) return 0;
    if (how == STROBE_RECIPE_TEXT_EQUALS && text->length != other->length) return 0;
    if (how != STROBE_RECIPE_TEXT_CONTAINS)
        return recipe_are_same(run, text->address + (how == STROBE_RECIPE_TEXT_ENDS ? text->length - other->length : 0),
                               other->address, other->length);
    if (other->length > STROBE_RECIPE_MAX_LITERAL) return -1;
    text->literal_length = (uint32_t)other->length;
    if (run->read(run->context, other->address, text->literal, text->literal_length) != text->literal_length) return -1;
    return recipe_contains(run, text);
}

uint32_t strobe_recipe_test_text(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word result = run->location, length, second, second_length;
    struct recipe_text text, other;
    int are_two = step->op == STROBE_RECIPE_TEST_TEXTS;
    uint64_t most = 0;
    int found = -1;
    if (step->width > STROBE_RECIPE_TEXT_CONTAINS || step->operand < 0) return STROBE_RECIPE_MALFORMED;
    if (are_two) {
        if (run->count - run->at < 2 || step[1].op != STROBE_RECIPE_DATA || step[1].operand < 0)
            return STROBE_RECIPE_MALFORMED;
        most = (uint64_t)step[1].operand;
    }
    length.status = STROBE_RECIPE_OK;
    length.value = 0;
    length.step = run->at;
    second = second_length = length;
    if (!step->operand && !strobe_recipe_pop(run, &length)) return STROBE_RECIPE_MALFORMED;
    if (are_two && !strobe_recipe_pop(run, &second)) return STROBE_RECIPE_MALFORMED;
    if (are_two && !most && !strobe_recipe_pop(run, &second_length)) return STROBE_RECIPE_MALFORMED;
    text.address = run->location.value;
    other.address = second.value;
    if (result.status == STROBE_RECIPE_OK) result.step = run->at;
    if (are_two)
        run->at++;
    else if (!recipe_take_literal(run, step, &text))
        return STROBE_RECIPE_MALFORMED;
    if (result.status == STROBE_RECIPE_OK) result = recipe_extent(run, &text, (uint64_t)step->operand, length);
    if (result.status == STROBE_RECIPE_OK && are_two && second.status != STROBE_RECIPE_OK) result = second;
    if (result.status == STROBE_RECIPE_OK && are_two) result = recipe_extent(run, &other, most, second_length);
    if (result.status == STROBE_RECIPE_OK) {
        found = are_two ? recipe_are_like(run, &text, &other, step->width) : recipe_is_like(run, &text, step->width);
        result.value = found < 0 ? text.address : (uint64_t)found;
        if (found < 0) result.status = STROBE_RECIPE_UNREADABLE;
    }
    return strobe_recipe_push(run, result) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}

/* What the table of a MATCH_TEXT begins with. */
struct recipe_table {
    const struct strobe_recipe_step* step;
    uint32_t kinds, start, ends_from, states;
};

static int recipe_take_table(const struct recipe_run* run, const struct strobe_recipe_step* step,
                             struct recipe_table* table) {
    if (!recipe_has_data(run, step, STROBE_RECIPE_MAX_TABLE) || step->count < RECIPE_TABLE_HEAD) return 0;
    table->step = step;
    table->kinds = recipe_data(step, 0);
    table->start = recipe_data(step, 1);
    table->ends_from = recipe_data(step, 2);
    table->states = recipe_data(step, 3);
    return table->kinds && table->start < table->states &&
           step->count == RECIPE_TABLE_HEAD + table->states * table->kinds;
}

/* The state that so many bytes lead to; what the table does not have leads to none. */
static uint32_t recipe_after(const struct recipe_table* table, uint32_t state, const uint8_t* bytes, uint32_t count) {
    uint32_t index;
    for (index = 0; index < count && state > RECIPE_STATE_FOUND; index++) {
        uint32_t kind = recipe_data(table->step, 8u + bytes[index]);
        if (kind >= table->kinds) return RECIPE_STATE_NONE;
        state = recipe_data(table->step, RECIPE_TABLE_HEAD + state * table->kinds + kind);
        if (state >= table->states) return RECIPE_STATE_NONE;
    }
    return state;
}

/* Whether the table finds the text; -1 where that cannot be read. */
static int recipe_is_found(struct recipe_run* run, const struct recipe_table* table, const struct recipe_text* text) {
    uint8_t piece[RECIPE_PIECE_BYTES];
    uint32_t state = table->start;
    uint64_t at;
    for (at = 0; at < text->length && state > RECIPE_STATE_FOUND; at += RECIPE_PIECE_BYTES) {
        uint64_t left = text->length - at;
        uint32_t wanted = left < RECIPE_PIECE_BYTES ? (uint32_t)left : RECIPE_PIECE_BYTES;
        run->executed += RECIPE_PIECE_BYTES / 8;
        if (strobe_recipe_step_budget_exhausted(run)) return -1;
        if (run->read(run->context, text->address + at, piece, wanted) != wanted) return -1;
        state = recipe_after(table, state, piece, wanted);
    }
    return state == RECIPE_STATE_FOUND || (state > RECIPE_STATE_FOUND && state >= table->ends_from);
}

uint32_t strobe_recipe_match_text(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word result = run->location, length;
    struct recipe_table table;
    struct recipe_text text;
    int found;
    length.status = STROBE_RECIPE_OK;
    length.value = 0;
    length.step = run->at;
    if (step->operand < 0 || !recipe_take_table(run, step, &table)) return STROBE_RECIPE_MALFORMED;
    if (!step->operand && !strobe_recipe_pop(run, &length)) return STROBE_RECIPE_MALFORMED;
    if (result.status == STROBE_RECIPE_OK) {
        text.address = result.value;
        result.step = run->at;
        result = recipe_extent(run, &text, (uint64_t)step->operand, length);
    }
    if (result.status == STROBE_RECIPE_OK) {
        found = recipe_is_found(run, &table, &text);
        result.value = found < 0 ? text.address : (uint64_t)found;
        if (found < 0) result.status = STROBE_RECIPE_UNREADABLE;
    }
    run->at += (step->count + 7) / 8;
    return strobe_recipe_push(run, result) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}
