/*
 * The usual condition compares a number that a register passes, or that lies behind pointers from there or from a
 * variable on, with a constant. It is decided without the machine of recipes, and what that has to know. What cannot be
 * read, and every other condition, is for the machine to say.
 */
#include "recorder.h"

static int strobe_is_step(const struct strobe_recipe_step* step, const struct strobe_recipe_step* end, uint32_t op) {
    return step < end && step->op == op;
}

static int strobe_is_calculation(const struct strobe_recipe_step* step, const struct strobe_recipe_step* end,
                                 uint32_t operation) {
    return strobe_is_step(step, end, STROBE_RECIPE_CALC) && step->width == operation;
}

/* A constant, or one that is taken from another. Gives the step behind it; NULL where it is none. */
static const struct strobe_recipe_step* strobe_quick_constant(const struct strobe_recipe_step* step,
                                                              const struct strobe_recipe_step* end, uint64_t* number) {
    if (!strobe_is_step(step, end, STROBE_RECIPE_CONSTANT)) return NULL;
    *number = (uint64_t)step->operand;
    if (!strobe_is_step(step + 1, end, STROBE_RECIPE_CONSTANT) ||
        !strobe_is_calculation(step + 2, end, STROBE_RECIPE_MINUS))
        return step + 1;
    *number -= (uint64_t)step[1].operand;
    return step + 3;
}

/* Where the number is: as the last. `registers`: how many there are. */
static const struct strobe_recipe_step* strobe_quick_number(const struct strobe_recipe_step* step,
                                                            const struct strobe_recipe_step* end, uint32_t registers,
                                                            struct strobe_quick* quick) {
    quick->in_register = 0;
    quick->pointers = 0;
    quick->base = NULL;
    quick->offsets[0] = 0;
    if (strobe_is_step(step, end, STROBE_RECIPE_BASE)) {
        quick->base = step;
    } else {
        if (!strobe_is_step(step, end, STROBE_RECIPE_PASSED) || step->count != 1 ||
            (uint64_t)step->operand >= registers)
            return NULL;
        quick->source = (uint8_t)step->operand;
        if (!strobe_is_step(step + 1, end, STROBE_RECIPE_DEREF))
            quick->in_register = 1;
        else if ((++step)->operand != 0)
            return NULL;
    }
    for (step++; step < end && step->op != STROBE_RECIPE_NUMBER; step++) {
        quick->offsets[quick->pointers] += (uint64_t)step->operand;
        if (step->op == STROBE_RECIPE_ADD) continue;
        if (step->op != STROBE_RECIPE_DEREF || quick->in_register || quick->pointers == STROBE_QUICK_POINTERS)
            return NULL;
        quick->offsets[++quick->pointers] = 0;
    }
    if (step >= end || step->count > 1) return NULL;
    if (step->width != 1 && step->width != 2 && step->width != 4 && step->width != 8) return NULL;
    quick->width = step->width;
    quick->is_signed = (uint8_t)step->count;
    quick->offsets[quick->pointers] += (uint64_t)step->operand;
    if (quick->in_register && quick->offsets[0] > 8u - step->width) return NULL;
    return step + 1;
}

void strobe_quick_find(const struct strobe_recorder* recorder, struct strobe_extras* extras) {
    const struct strobe_stored_recipe* recipe = &recorder->recipes[extras->condition];
    const struct strobe_recipe_step* step = recorder->recipe_steps + recipe->first_step;
    const struct strobe_recipe_step* end = step + recipe->step_count;
    uint32_t registers = extras->needs & STROBE_NEEDS_CONTEXT ? STROBE_CONTEXT_PC : STROBE_REGISTERS;
    struct strobe_quick* quick = &extras->quick;
    quick->is_there = 0;
    if (extras->condition == 0 || extras->at_return) return;
    quick->is_swapped = (uint8_t)strobe_is_step(step, end, STROBE_RECIPE_CONSTANT);
    if (quick->is_swapped) step = strobe_quick_constant(step, end, &quick->compared);
    if (step != NULL) step = strobe_quick_number(step, end, registers, quick);
    if (step != NULL && !quick->is_swapped) step = strobe_quick_constant(step, end, &quick->compared);
    if (step == NULL || !strobe_is_step(step, end, STROBE_RECIPE_CALC)) return;
    quick->order = step->width;
    if (quick->order != STROBE_RECIPE_EQUAL && quick->order != STROBE_RECIPE_LESS &&
        quick->order != STROBE_RECIPE_SIGNED_LESS)
        return;
    step++;
    quick->is_negated = (uint8_t)(strobe_is_step(step, end, STROBE_RECIPE_CONSTANT) && step->operand == 0 &&
                                  strobe_is_calculation(step + 1, end, STROBE_RECIPE_EQUAL));
    if (quick->is_negated) step += 2;
    quick->is_there =
        (uint8_t)(strobe_is_step(step, end, STROBE_RECIPE_NOTE) && strobe_is_step(step + 1, end, STROBE_RECIPE_DROP) &&
                  strobe_is_step(step + 2, end, STROBE_RECIPE_END));
}

/* 0 where it cannot be read. */
static int strobe_quick_read(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                             int may_touch, const struct strobe_quick* quick, const uint64_t* registers,
                             uint64_t* number) {
    uint64_t place =
        quick->base != NULL ? (uint64_t)*(const volatile int64_t*)&quick->base->operand : registers[quick->source];
    uint32_t at;
    if (place == 0) return 0;
    for (at = 0; at < quick->pointers; at++)
        if (!strobe_read_number(recorder, state, may_touch, place + quick->offsets[at], 8, &place) || place == 0)
            return 0;
    return strobe_read_number(recorder, state, may_touch, place + quick->offsets[at], quick->width, number);
}

int strobe_quick_holds(const struct strobe_recorder* recorder, const struct strobe_thread_state* state, int may_touch,
                       const struct strobe_quick* quick, const uint64_t* registers) {
    uint32_t unused = 64 - 8u * quick->width;
    uint64_t left, right = quick->compared;
    int holds;
    if (quick->in_register)
        left = registers[quick->source] >> 8 * quick->offsets[0];
    else if (!strobe_quick_read(recorder, state, may_touch, quick, registers, &left))
        return -1;
    left <<= unused;
    left = quick->is_signed ? (uint64_t)((int64_t)left >> unused) : left >> unused;
    if (quick->is_swapped) {
        right = left;
        left = quick->compared;
    }
    if (quick->order == STROBE_RECIPE_EQUAL)
        holds = left == right;
    else if (quick->order == STROBE_RECIPE_LESS)
        holds = left < right;
    else
        holds = (int64_t)left < (int64_t)right;
    return holds != quick->is_negated;
}
