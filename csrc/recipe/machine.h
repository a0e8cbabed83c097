/* The machine that runs a recipe: what its steps share. */
#pragma once

#include "../abi/strobe_abi.h"
#include "recipe.h"

/* An address or a number. Where `status` is not OK, `value` is the address that was bad, by the step `step`. */
struct recipe_word {
    uint64_t value;
    uint32_t status;
    uint32_t step;
};

enum { STROBE_RECIPE_SCAN_WORDS = 64 }; /* that SCAN reads at once */

struct recipe_loop {
    struct recipe_word before; /* the location at the first turn; it is that at the end, too */
    struct recipe_word start;  /* of the turn that is under way */
    uint64_t end;              /* CHAIN, TREE: the node that is none */
    uint64_t limit;            /* CHAIN: of nodes; SLOTS: of slots; BTREE: the height of this turn's node */
    uint64_t slot;             /* SLOTS: of this turn; BTREE: the key in its node */
    const struct strobe_recipe_step* step;
    uint32_t first; /* index of step */
    uint32_t turns, turn;
    uint32_t item;    /* CHAIN, TREE, SLOTS, BTREE: the index of theirs, which is filled in at the end */
    uint32_t kept;    /* locations that were kept when it began */
    uint32_t pending; /* BRANCHES: nodes of the loops around it that are still to come */
    uint32_t numbers; /* and numbers */
};

/* What SWEEP has one of for each of its turns, so many turns at once. Where none of `numbers` is taken, that of turn n
   is first + n * apart. */
struct recipe_column {
    uint64_t first;
    uint64_t apart;
    uint64_t bad;             /* a bit for each turn for which it is */
    struct recipe_word fault; /* of the first of these */
    uint32_t slot;            /* 1 more than the index of its numbers; 0: none */
};

enum { STROBE_RECIPE_LANES = 64 }; /* turns at once: bits of a word */

struct recipe_columns {
    uint64_t turn;  /* the first of them */
    uint32_t count; /* how many turns there are at once now */
    uint32_t taken; /* a bit for each column of `numbers` */
    uint32_t set_variables;
    uint32_t number_count, kept_count;
    struct recipe_column location;
    struct recipe_column stack[STROBE_RECIPE_COLUMN_NUMBERS];
    struct recipe_column kept[STROBE_RECIPE_COLUMN_LOCATIONS];
    struct recipe_column variables[STROBE_RECIPE_MAX_VARIABLES];
    uint64_t numbers[STROBE_RECIPE_COLUMNS][STROBE_RECIPE_LANES];
};

struct recipe_run {
    const struct strobe_recipe_step* steps;
    uint32_t count, at, executed, most_steps;
    strobe_recipe_reader read;
    void* context;
    struct strobe_recipe_output* output;
    struct recipe_word location;
    struct recipe_word kept[STROBE_RECIPE_MAX_NESTING];
    struct recipe_word numbers[STROBE_RECIPE_MAX_NUMBERS];
    struct recipe_loop loops[STROBE_RECIPE_MAX_LOOPS];
    struct recipe_word variables[STROBE_RECIPE_MAX_VARIABLES];
    uint64_t pending[STROBE_RECIPE_MAX_PENDING]; /* BRANCHES: nodes that are still to come */
    uint32_t kept_count, number_count, loop_count, pending_count;
    uint32_t set_variables;                     /* a bit for each that has a value */
    const struct strobe_moment* moment;         /* NULL: of none */
    uint64_t pieces[STROBE_RECIPE_MAX_PIECES];  /* where PASSED puts words together */
    uint64_t scanned[STROBE_RECIPE_SCAN_WORDS]; /* numbers of elements, and bytes with some of them */
    uint64_t piece[STROBE_RECIPE_SCAN_WORDS];
    struct recipe_columns columns; /* of SWEEP */
};

/* As strobe_recipe_run, on a machine that the caller has room for: in a target the stack may be small. `moment`: what
   it is about, or NULL. */
uint32_t strobe_recipe_run_on(struct recipe_run* run, const struct strobe_recipe_step* steps, uint32_t step_count,
                              uint64_t start, const struct strobe_moment* moment, strobe_recipe_reader read,
                              void* context, struct strobe_recipe_output* output);

/* The number of `width` bytes at an address, as a step sees it. */
struct recipe_word strobe_recipe_number_at(struct recipe_run* run, uint64_t address, uint32_t width);
/* Counts what is as much work as a step; 1 where there were as many as are allowed. */
int strobe_recipe_step_budget_exhausted(struct recipe_run* run);
/* The next item, without bytes; null where there is no room. */
struct strobe_recipe_item* strobe_recipe_add_item(struct recipe_run* run, struct recipe_word of);
/* An item of 8 bytes; FULL where there is no room for an item. */
uint32_t strobe_recipe_note(struct recipe_run* run, struct recipe_word of);

/* Each does the step at run->at, if it is one of theirs: OK, or what ends the recipe. */
uint32_t strobe_recipe_count(struct recipe_run* run, const struct strobe_recipe_step* step);
/* texts.c: the step at run->at, TEST_TEXT or TEST_TEXTS, and its data. */
uint32_t strobe_recipe_test_text(struct recipe_run* run, const struct strobe_recipe_step* step);
/* The same of MATCH_TEXT. */
uint32_t strobe_recipe_match_text(struct recipe_run* run, const struct strobe_recipe_step* step);
/* scans.c: the step at run->at, SCAN, and its data. */
uint32_t strobe_recipe_scan(struct recipe_run* run, const struct strobe_recipe_step* step);
/* The same of as many of `count` numbers, `stride` bytes apart, as can be read from the first on; how many. */
uint32_t strobe_recipe_numbers_at(struct recipe_run* run, uint64_t address, uint64_t stride, uint32_t width,
                                  uint64_t count, uint64_t* into);
/* sweeps.c: the step at run->at, SWEEP, and those that it does. */
uint32_t strobe_recipe_sweep(struct recipe_run* run, const struct strobe_recipe_step* step);
/* recipe.c: does one step: OK, or what ends the recipe. */
uint32_t strobe_recipe_execute(struct recipe_run* run, const struct strobe_recipe_step* step);
/* numbers.c: what CALC makes of two good numbers; 0 where that is bad. Not of SELECT. */
int strobe_recipe_calculated(const struct strobe_recipe_step* step, uint64_t left, uint64_t right, uint64_t* number);
/* With what its lowest `width` bytes are. */
uint64_t strobe_recipe_extended(uint64_t number, uint32_t width, int is_signed);
/* doubles.c: without floating point, which the recorder may not touch. */
uint64_t strobe_recipe_to_double(uint64_t number, uint64_t from);
int strobe_recipe_double_equal(uint64_t left, uint64_t right);
int strobe_recipe_double_less(uint64_t left, uint64_t right);
uint64_t strobe_recipe_double_calculated(uint32_t operation, uint64_t left, uint64_t right);
uint64_t strobe_recipe_to_single(uint64_t bits, uint64_t as);
uint64_t strobe_recipe_from_extended(uint64_t significand, uint64_t sign_and_exponent);
/* 0 where it is none, or has more than 64 bits. */
int strobe_recipe_to_integer(uint64_t bits, uint64_t to, uint64_t* number);
uint32_t strobe_recipe_turn(struct recipe_run* run, const struct strobe_recipe_step* step);

/* The recipe ends within its loops: their items say how far they came. */
void strobe_recipe_abandon(struct recipe_run* run);

/* 0 where there is none, or no room. */
int strobe_recipe_pop(struct recipe_run* run, struct recipe_word* number);
int strobe_recipe_push(struct recipe_run* run, struct recipe_word number);
