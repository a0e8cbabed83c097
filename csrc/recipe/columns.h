/* Columns: numbers of up to 64 turns of a loop, each good or bad by itself. Who has one, has the numbers that are put
 * down for it (struct recipe_column), and gives them back. */
#pragma once

#include "machine.h"

/* A bit for each of the turns. */
static inline uint64_t strobe_column_all_turns(const struct recipe_columns* columns) {
    return ~(uint64_t)0 >> (STROBE_RECIPE_LANES - columns->count);
}

/* Whether it is the same number in all turns. */
static inline int strobe_column_is_same(const struct recipe_column* column) { return !column->slot && !column->apart; }

static inline uint64_t strobe_column_number(const struct recipe_columns* columns, const struct recipe_column* column,
                                            uint32_t turn) {
    return column->slot ? columns->numbers[column->slot - 1][turn] : column->first + turn * column->apart;
}

static inline void strobe_column_give_back(struct recipe_columns* columns, struct recipe_column* column) {
    if (column->slot) columns->taken &= ~(1u << (column->slot - 1));
    column->slot = 0;
}

static inline void strobe_column_move(struct recipe_columns* columns, struct recipe_column* to,
                                      const struct recipe_column* from) {
    strobe_column_give_back(columns, to);
    *to = *from;
}

/* Of bits of which one is set at least. */
uint32_t strobe_column_lowest_bit(uint64_t bits);
/* The number in all turns; one that is bad is bad in all. */
struct recipe_column strobe_column_everywhere(const struct recipe_columns* columns, struct recipe_word number);
/* Puts its numbers down. 0 where there is no room. */
int strobe_column_spread(struct recipe_columns* columns, struct recipe_column* column);
/* As `from`, with numbers of its own. 0 where there is no room. */
int strobe_column_copy(struct recipe_columns* columns, const struct recipe_column* from, struct recipe_column* to);
/* A word of the step at run->at. */
struct recipe_word strobe_column_fault(const struct recipe_run* run, uint32_t status, uint64_t value);
/* These turns are bad from now on. What is known of the first bad one stays. */
void strobe_column_spoil(struct recipe_column* column, uint64_t bad, struct recipe_word fault);
/* So are turns whose number is 0, a null pointer, which was found at `from`. */
void strobe_column_spoil_nulls(struct recipe_run* run, struct recipe_column* column, uint64_t from);
/* Whether it grows evenly and does not wrap, be it signed or, where no number is negative, unsigned. */
int strobe_column_is_even(const struct recipe_columns* columns, const struct recipe_column* column, uint64_t* last);
/* A bit for each turn whose number is not 0. */
uint64_t strobe_column_truths(const struct recipe_columns* columns, const struct recipe_column* column);
/* Addresses become the numbers `offset` bytes behind them. 0 where there is no room. */
int strobe_column_load(struct recipe_run* run, struct recipe_column* column, uint64_t offset, uint32_t width);
