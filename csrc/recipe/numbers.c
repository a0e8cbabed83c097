/* Steps with numbers. */
#include "machine.h"

int strobe_recipe_push(struct recipe_run* run, struct recipe_word number) {
    if (run->number_count == STROBE_RECIPE_MAX_NUMBERS) return 0;
    run->numbers[run->number_count++] = number;
    return 1;
}

int strobe_recipe_pop(struct recipe_run* run, struct recipe_word* number) {
    if (run->number_count == 0) return 0;
    *number = run->numbers[--run->number_count];
    return 1;
}

static struct recipe_word recipe_good(struct recipe_run* run, uint64_t value) {
    struct recipe_word number;
    number.value = value;
    number.status = STROBE_RECIPE_OK;
    number.step = run->at;
    return number;
}

static uint64_t recipe_shifted(uint64_t left, uint64_t right, int is_left) {
    if (right >= 64) return 0;
    return is_left ? left << right : left >> right;
}

/* Towards zero, as C does; by -1 without the trap of the least number. */
static uint64_t recipe_signed_divided(uint32_t operation, uint64_t left, uint64_t right) {
    int is_quotient = operation == STROBE_RECIPE_SIGNED_DIVIDED;
    if (right == ~(uint64_t)0) return is_quotient ? ~left + 1 : 0;
    return (uint64_t)(is_quotient ? (int64_t)left / (int64_t)right : (int64_t)left % (int64_t)right);
}

/* Whether the second number may not be 0. */
static int recipe_divides(uint32_t operation) {
    return operation == STROBE_RECIPE_DIVIDED || operation == STROBE_RECIPE_MODULO ||
           operation == STROBE_RECIPE_SIGNED_DIVIDED || operation == STROBE_RECIPE_SIGNED_MODULO;
}

/* Of two good numbers, the second not 0 where it divides. */
static uint64_t recipe_combined(uint32_t operation, uint64_t left, uint64_t right) {
    switch (operation) {
        case STROBE_RECIPE_PLUS:
            return left + right;
        case STROBE_RECIPE_MINUS:
            return left - right;
        case STROBE_RECIPE_TIMES:
            return left * right;
        case STROBE_RECIPE_DIVIDED:
            return left / right;
        case STROBE_RECIPE_MODULO:
            return left % right;
        case STROBE_RECIPE_BIT_AND:
            return left & right;
        case STROBE_RECIPE_BIT_OR:
            return left | right;
        case STROBE_RECIPE_BIT_XOR:
            return left ^ right;
        case STROBE_RECIPE_LEFT:
        case STROBE_RECIPE_RIGHT:
            return recipe_shifted(left, right, operation == STROBE_RECIPE_LEFT);
        case STROBE_RECIPE_EQUAL:
            return left == right;
        case STROBE_RECIPE_LESS:
            return left < right;
        case STROBE_RECIPE_SIGNED_LESS:
            return (int64_t)left < (int64_t)right;
        case STROBE_RECIPE_SIGNED_DIVIDED:
        case STROBE_RECIPE_SIGNED_MODULO:
            return recipe_signed_divided(operation, left, right);
        case STROBE_RECIPE_SIGNED_RIGHT:
            return right > 63 ? (left >> 63 ? ~(uint64_t)0 : 0) : (uint64_t)((int64_t)left >> right);
        case STROBE_RECIPE_TO_DOUBLE:
            return strobe_recipe_to_double(left, right);
        case STROBE_RECIPE_DOUBLE_EQUAL:
            return (uint64_t)strobe_recipe_double_equal(left, right);
        case STROBE_RECIPE_DOUBLE_LESS:
            return (uint64_t)strobe_recipe_double_less(left, right);
        case STROBE_RECIPE_DOUBLE_PLUS:
        case STROBE_RECIPE_DOUBLE_MINUS:
        case STROBE_RECIPE_DOUBLE_TIMES:
        case STROBE_RECIPE_DOUBLE_DIVIDED:
            return strobe_recipe_double_calculated(operation, left, right);
        case STROBE_RECIPE_TO_SINGLE:
            return strobe_recipe_to_single(left, right);
        case STROBE_RECIPE_FROM_EXTENDED:
            return strobe_recipe_from_extended(left, right);
        default: /* AND, OR: the first one has not said it all */
            return right != 0;
    }
}

static int recipe_is_decided(uint32_t operation, struct recipe_word left) {
    if (left.status != STROBE_RECIPE_OK) return 0;
    return (operation == STROBE_RECIPE_AND && !left.value) || (operation == STROBE_RECIPE_OR && left.value);
}

/* Whether C leaves it undefined: a shift by as many bits as the number has, or more. */
static int recipe_shifts_too_far(const struct strobe_recipe_step* step, uint64_t right) {
    uint32_t operation = step->width;
    int is_shift =
        operation == STROBE_RECIPE_LEFT || operation == STROBE_RECIPE_RIGHT || operation == STROBE_RECIPE_SIGNED_RIGHT;
    return is_shift && step->operand && right >= (uint64_t)step->operand;
}

int strobe_recipe_calculated(const struct strobe_recipe_step* step, uint64_t left, uint64_t right, uint64_t* number) {
    if ((recipe_divides(step->width) && !right) || recipe_shifts_too_far(step, right)) return 0;
    if (step->width == STROBE_RECIPE_TO_INTEGER) return strobe_recipe_to_integer(left, right, number);
    *number = recipe_combined(step->width, left, right);
    return 1;
}

static uint32_t recipe_calculate(struct recipe_run* run, const struct strobe_recipe_step* step) {
    uint32_t operation = step->width;
    struct recipe_word left, right;
    if (operation >= STROBE_RECIPE_SELECT) return STROBE_RECIPE_MALFORMED;
    if (!strobe_recipe_pop(run, &right) || !strobe_recipe_pop(run, &left)) return STROBE_RECIPE_MALFORMED;
    if (recipe_is_decided(operation, left)) {
        left.value = operation == STROBE_RECIPE_OR;
    } else if (left.status == STROBE_RECIPE_OK) {
        if (right.status != STROBE_RECIPE_OK) {
            left = right;
        } else {
            if (!strobe_recipe_calculated(step, left.value, right.value, &left.value))
                left.status = STROBE_RECIPE_BROKEN;
            left.step = run->at;
        }
    }
    return strobe_recipe_push(run, left) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}

static uint32_t recipe_select(struct recipe_run* run) {
    struct recipe_word condition, yes, no;
    if (!strobe_recipe_pop(run, &no) || !strobe_recipe_pop(run, &yes) || !strobe_recipe_pop(run, &condition))
        return STROBE_RECIPE_MALFORMED;
    if (condition.status == STROBE_RECIPE_OK) condition = condition.value ? yes : no;
    return strobe_recipe_push(run, condition) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}

uint64_t strobe_recipe_extended(uint64_t number, uint32_t width, int is_signed) {
    uint32_t unused = 64 - 8 * width;
    number <<= unused;
    return is_signed ? (uint64_t)((int64_t)number >> unused) : number >> unused;
}

static struct recipe_word recipe_loaded(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word number = run->location;
    if (number.status != STROBE_RECIPE_OK) return number;
    number = strobe_recipe_number_at(run, number.value + (uint64_t)step->operand, step->width);
    if (number.status == STROBE_RECIPE_OK && step->count)
        number.value = strobe_recipe_extended(number.value, step->width, 1);
    return number;
}

static uint32_t recipe_extend(struct recipe_run* run, const struct strobe_recipe_step* step) {
    uint32_t width = step->width;
    struct recipe_word* top;
    if (!run->number_count || (width != 1 && width != 2 && width != 4 && width != 8)) return STROBE_RECIPE_MALFORMED;
    top = &run->numbers[run->number_count - 1];
    if (top->status == STROBE_RECIPE_OK) top->value = strobe_recipe_extended(top->value, width, step->count == 1);
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_push_new(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word number = recipe_good(run, (uint64_t)step->operand);
    uint32_t width = step->width;
    switch (step->op) {
        case STROBE_RECIPE_NUMBER:
            if ((width != 1 && width != 2 && width != 4 && width != 8) || step->count > 1)
                return STROBE_RECIPE_MALFORMED;
            number = recipe_loaded(run, step);
            break;
        case STROBE_RECIPE_LOCATION:
            number = run->location;
            if (number.status == STROBE_RECIPE_OK) number.value += (uint64_t)step->operand;
            break;
        case STROBE_RECIPE_TURN:
            if (!run->loop_count) return STROBE_RECIPE_MALFORMED;
            number.value = run->loops[run->loop_count - 1].turn;
            break;
        case STROBE_RECIPE_SLOT:
            if (!run->loop_count) return STROBE_RECIPE_MALFORMED;
            number.value = run->loops[run->loop_count - 1].slot;
            break;
        case STROBE_RECIPE_PICK:
            if (step->count >= run->number_count) return STROBE_RECIPE_MALFORMED;
            number = run->numbers[run->number_count - 1 - step->count];
            break;
        default: /* CONSTANT */
            break;
    }
    return strobe_recipe_push(run, number) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}

static uint32_t recipe_go(struct recipe_run* run) {
    struct recipe_word number;
    if (!strobe_recipe_pop(run, &number)) return STROBE_RECIPE_MALFORMED;
    if (run->location.status != STROBE_RECIPE_OK) return STROBE_RECIPE_OK;
    if (number.status == STROBE_RECIPE_OK && !number.value) {
        number = run->location;
        number.status = STROBE_RECIPE_NULL;
        number.step = run->at;
    }
    run->location = number;
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_require(struct recipe_run* run) {
    struct recipe_word number;
    if (!strobe_recipe_pop(run, &number)) return STROBE_RECIPE_MALFORMED;
    if (run->location.status != STROBE_RECIPE_OK) return STROBE_RECIPE_OK;
    if (number.status != STROBE_RECIPE_OK) {
        run->location = number;
    } else if (!number.value) {
        run->location.status = STROBE_RECIPE_BROKEN;
        run->location.step = run->at;
    }
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_when(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word number;
    if (!strobe_recipe_pop(run, &number) || step->count >= run->count - run->at) return STROBE_RECIPE_MALFORMED;
    if (number.status != STROBE_RECIPE_OK || !number.value) run->at += step->count;
    return STROBE_RECIPE_OK;
}

/* Takes one as a variable, or pushes one. */
static uint32_t recipe_variable(struct recipe_run* run, const struct strobe_recipe_step* step) {
    uint32_t number = step->count;
    if (number >= STROBE_RECIPE_MAX_VARIABLES) return STROBE_RECIPE_MALFORMED;
    if (step->op == STROBE_RECIPE_SET) {
        run->set_variables |= 1u << number;
        return strobe_recipe_pop(run, &run->variables[number]) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
    }
    if (!(run->set_variables >> number & 1)) return STROBE_RECIPE_MALFORMED;
    return strobe_recipe_push(run, run->variables[number]) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}

static struct recipe_word recipe_unknown(struct recipe_run* run) {
    struct recipe_word number = recipe_good(run, 0);
    number.status = STROBE_RECIPE_BROKEN;
    return number;
}

/* Item `index` of a block: see the ABI. Items are one word where they are good, else two; then come 8 bytes of each
   good one. */
static struct recipe_word recipe_item_of(struct recipe_run* run, const uint64_t* block, uint32_t words,
                                         uint64_t index) {
    uint64_t count = words > 1 ? block[1] : 0, at = 2, item, good = 0, own = 0;
    struct recipe_word number = recipe_unknown(run);
    for (item = 0; item < count && at < words; item++) {
        uint64_t status = block[at] >> STROBE_ITEM_STATUS_SHIFT & 0xf;
        if (item == index) {
            own = good;
            number.status = (uint32_t)status;
            if (status != STROBE_RECIPE_OK && at + 1 < words) number.value = block[at + 1];
        }
        good += status == STROBE_RECIPE_OK;
        at += status == STROBE_RECIPE_OK ? 1 : 2;
    }
    if (index >= item || number.status != STROBE_RECIPE_OK) return number;
    if (at + own >= words) return recipe_unknown(run);
    number.value = block[at + own];
    return number;
}

static struct recipe_word recipe_before(struct recipe_run* run, const struct strobe_recipe_step* step) {
    const uint64_t* before = run->moment ? run->moment->before : 0;
    uint32_t at = 0, all = before ? run->moment->before_words : 0;
    while (at < all) {
        uint32_t words = (uint32_t)(before[at] & STROBE_EXTRA_WORDS);
        if (words == 0 || words > all - at) break;
        if ((before[at] >> STROBE_EXTRA_ID_SHIFT & 0xffff) == step->count)
            return recipe_item_of(run, before + at, words, (uint64_t)step->operand);
        at += words;
    }
    return recipe_unknown(run);
}

static uint32_t recipe_push_known(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word number;
    if (step->op == STROBE_RECIPE_BEFORE)
        number = recipe_before(run, step);
    else if (run->moment && step->count < run->moment->fact_count)
        number = recipe_good(run, run->moment->facts[step->count]);
    else
        number = recipe_unknown(run);
    return strobe_recipe_push(run, number) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}

uint32_t strobe_recipe_count(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word number;
    switch (step->op) {
        case STROBE_RECIPE_CONSTANT:
        case STROBE_RECIPE_NUMBER:
        case STROBE_RECIPE_LOCATION:
        case STROBE_RECIPE_TURN:
        case STROBE_RECIPE_SLOT:
        case STROBE_RECIPE_PICK:
            return recipe_push_new(run, step);
        case STROBE_RECIPE_DROP:
            return strobe_recipe_pop(run, &number) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
        case STROBE_RECIPE_CALC:
            return step->width == STROBE_RECIPE_SELECT ? recipe_select(run) : recipe_calculate(run, step);
        case STROBE_RECIPE_EXTEND:
            return recipe_extend(run, step);
        case STROBE_RECIPE_GO:
            return recipe_go(run);
        case STROBE_RECIPE_REQUIRE:
            return recipe_require(run);
        case STROBE_RECIPE_SET:
        case STROBE_RECIPE_GET:
            return recipe_variable(run, step);
        case STROBE_RECIPE_FACT:
        case STROBE_RECIPE_BEFORE:
            return recipe_push_known(run, step);
        case STROBE_RECIPE_SCAN:
            return strobe_recipe_scan(run, step);
        case STROBE_RECIPE_SWEEP:
            return strobe_recipe_sweep(run, step);
        case STROBE_RECIPE_TEST_TEXT:
        case STROBE_RECIPE_TEST_TEXTS:
            return strobe_recipe_test_text(run, step);
        case STROBE_RECIPE_MATCH_TEXT:
            return strobe_recipe_match_text(run, step);
        case STROBE_RECIPE_WHEN:
            return recipe_when(run, step);
        case STROBE_RECIPE_NOTE:
            if (!run->number_count) return STROBE_RECIPE_MALFORMED;
            return strobe_recipe_note(run, run->numbers[run->number_count - 1]);
        default:
            return STROBE_RECIPE_MALFORMED;
    }
}
