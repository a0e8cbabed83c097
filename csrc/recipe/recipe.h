/* Recipes: small programs that read a value, a pointer chain, a structure or a container out of memory that may not be
 * there.
 *
 * The same interpreter runs on the host, over another process's memory, and in a target, over its own: it reaches
 * memory only through a reader that may fail. It needs no libc, allocates nothing, and believes nothing of the recipe:
 * a malformed one ends with an error, one without end at STROBE_RECIPE_MAX_STEPS.
 *
 * A recipe works on a location: an address, and whether it is good. A dereference of null or of what cannot be read
 * makes it bad, and stays so until RESTORE: reads of a bad location give an item with the reason. Beside it there is a
 * stack of numbers, read out of memory and calculated with; they are unsigned, have 64 bits, and are good or bad in the
 * same way. How often a loop turns, and whether WHEN leaves something out, depends on numbers alone, and these are
 * items too: by NOTE, which a recipe has to have before it uses one, or by the loop itself. So whoever knows the recipe
 * knows what each item is, whatever memory holds.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../abi/strobe_agent.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    STROBE_RECIPE_END = 0,
    /* locations */
    STROBE_RECIPE_BASE,   /* location = operand */
    STROBE_RECIPE_PASSED, /* location = count words of the call, one after the other: a byte of operand for each, with
                             its number (STROBE_PASSED_*). Bad (BROKEN) where one of them is not known */
    STROBE_RECIPE_ADD,    /* location += operand */
    STROBE_RECIPE_DEREF,  /* location = the pointer at location + operand */
    STROBE_RECIPE_VIRTUAL_BASE, /* location += the word at (the pointer at location) + operand (Itanium C++ ABI 2.5.2)
                                 */
    STROBE_RECIPE_SAVE,         /* keeps the location, STROBE_RECIPE_MAX_NESTING deep */
    STROBE_RECIPE_RESTORE,      /* takes back the location kept last */
    /* items */
    STROBE_RECIPE_READ, /* item: count bytes at location + operand */
    STROBE_RECIPE_TEXT, /* item: characters of width bytes at location, count of them at most, up to the first zero */
    STROBE_RECIPE_READ_MANY, /* item: as many times operand bytes at location as the top number says, count at
                                most; with a width those that there is room for */
    STROBE_RECIPE_NOTE,      /* item: the top number, in 8 bytes */
    /* numbers */
    STROBE_RECIPE_CONSTANT,   /* pushes operand */
    STROBE_RECIPE_NUMBER,     /* pushes the number of width bytes at location + operand; signed where count is 1 */
    STROBE_RECIPE_LOCATION,   /* pushes location + operand */
    STROBE_RECIPE_TURN,       /* pushes how many turns of the innermost loop there were before this one */
    STROBE_RECIPE_SLOT,       /* pushes which slot, or key of its node, the innermost loop is at */
    STROBE_RECIPE_PICK,       /* pushes the number that has count others above it */
    STROBE_RECIPE_DROP,       /* takes the top number away */
    STROBE_RECIPE_CALC,       /* takes two numbers, pushes what operation width makes of them; SELECT takes three. Of
                                 shifts, operand: from so many bits on they are bad; 0: they give what is left */
    STROBE_RECIPE_EXTEND,     /* the top number becomes what its lowest width bytes are; signed where count is 1 */
    STROBE_RECIPE_GO,         /* takes a number: location = that */
    STROBE_RECIPE_REQUIRE,    /* takes a number: the location is bad where it is 0, or bad */
    STROBE_RECIPE_TEST_TEXT,  /* pushes 1 where the text at location is like the `count` bytes of the next steps, DATA,
                                 else 0; width: STROBE_RECIPE_TEXT_*. It ends at the first zero, after operand bytes at
                                 most; where that is 0, it has as many bytes as the top number says, which is taken away
                               */
    STROBE_RECIPE_TEST_TEXTS, /* the same with a second text of the program's, of `contains` 64 bytes of it at most:
                                 takes its address, and below it its length where the operand of the next step, DATA, is
                                 0, else it ends at the first zero, after so many bytes at most. The length of the first
                                 text is above these */
    STROBE_RECIPE_MATCH_TEXT, /* pushes 1 where a table of `count` bytes, in the next steps, DATA, finds the text at
                                 location, else 0. Where that ends is as of TEST_TEXT. The table: how many kinds of
                                 bytes there are, the state to begin with, the first of the states in which a text may
                                 end, how many states; 4 bytes of nothing; the kind of each of 256 bytes; for each
                                 state, by kind, the next one. State 0: it is not found any more, 1: it is found */
    STROBE_RECIPE_DATA,       /* 8 bytes, in operand, of the step before */
    STROBE_RECIPE_SET,        /* takes a number: variable `count` is that */
    STROBE_RECIPE_GET,        /* pushes variable `count` */
    STROBE_RECIPE_FACT,       /* pushes number `count` of what is known of the moment (struct strobe_moment) */
    STROBE_RECIPE_BEFORE,     /* pushes item `operand`, a number, of what block `count` had at the call's entry */
    STROBE_RECIPE_SCAN,       /* takes a number of elements, then a number above it that they are compared with; pushes
                                 the index of the first from location on for which that holds, or how many there are where it
                                 holds for none. `count`: bytes from one to the next; `operand`: where in it the compared
                                 number lies, whose bytes are width. The next step, DATA, has how: STROBE_RECIPE_SCAN_*;
                                 the one behind it, DATA as well, a mask for the number */
    STROBE_RECIPE_SWEEP, /* takes a number of turns: the count steps that follow are done for each, operand turns at
                            most, of many at once. They push one number, and what they make of locations and variables
                            is forgotten; they are those of sweeps.c alone. TURN is as in loops. Pushes what `width`,
                            STROBE_RECIPE_SWEEP_*, makes of the numbers: good where those that are good say it all */
    STROBE_RECIPE_WHEN,  /* takes a number: leaves out the count steps that follow where it is 0, or bad */
    /* loops: what follows up to NEXT, count times at most; then the location is what it was before. One that is quiet,
       by `zero`, has no item: where it ended as something could not be read, the location is bad instead */
    STROBE_RECIPE_REPEAT,      /* count times, operand bytes further each time */
    STROBE_RECIPE_REPEAT_MANY, /* takes a number: the same as often as it says */
    STROBE_RECIPE_CHAIN, /* item: how many nodes. Takes an end and a limit: each node from location on, whose next one
                            is at operand; up to null or the end. Those after count turns are counted only, up to the
                            limit
                          */
    STROBE_RECIPE_TREE,  /* item: how many turns. Takes an end, a binary tree's head above its root: each node in order,
                            from location on. operand: offsets of left, right and parent, of 16 bits each */
    STROBE_RECIPE_SLOTS, /* item: how many turns. Takes a number of slots: each that is in use, operand bytes after the
                            one before. Slot n is in use where the byte at location + n has none of the bits of width */
    STROBE_RECIPE_BTREE, /* item: how many turns. Takes a height: each key in order below the root at location, which is
                            at key SLOT of the turn's node. Leaves have height 0. operand: offsets in a node of its
                            parent, of its index there and its count of keys, of 2 bytes each, and of its children */
    STROBE_RECIPE_BRANCHES, /* item: how many turns. Each node of a binary tree whose nodes know their children alone:
                               the one at location, those left of it, those right of it. operand: offsets of left and
                               right, of 32 bits each */
    STROBE_RECIPE_NEXT,
    STROBE_RECIPE_LEAVE /* takes a number: ends the innermost loop where it is good and not 0 */
};

/* How SCAN compares an element's number with the other one: it holds where it is */
enum {
    STROBE_RECIPE_SCAN_LESS = 1,
    STROBE_RECIPE_SCAN_EQUAL = 2,
    STROBE_RECIPE_SCAN_MORE = 4,
    STROBE_RECIPE_SCAN_SIGNED = 8,        /* the elements' numbers are signed */
    STROBE_RECIPE_SCAN_SIGNED_ORDER = 16, /* as both numbers are taken, where it is asked which is less */
    STROBE_RECIPE_SCAN_COUNTS = 32        /* pushes for how many it holds */
};

/* What SWEEP makes of the turns' numbers */
enum {
    STROBE_RECIPE_SWEEP_ANY = 0, /* 1 where one is not 0, else 0 */
    STROBE_RECIPE_SWEEP_ALL,     /* 0 where one is 0, else 1 */
    STROBE_RECIPE_SWEEP_FIRST,   /* the first turn whose number is not 0, or how many turns there are */
    STROBE_RECIPE_SWEEP_COUNT,   /* how many are not 0 */
    STROBE_RECIPE_SWEEP_SUM,
    STROBE_RECIPE_SWEEP_LEAST, /* as the next three; of no turns 0 */
    STROBE_RECIPE_SWEEP_MOST,
    STROBE_RECIPE_SWEEP_SIGNED_LEAST,
    STROBE_RECIPE_SWEEP_SIGNED_MOST
};

/* Operations of CALC. AND and OR do not look at the second number where the first one says it all, SELECT (condition,
 * yes, no) not at the one it does not choose. */
enum {
    STROBE_RECIPE_PLUS = 0,
    STROBE_RECIPE_MINUS,
    STROBE_RECIPE_TIMES,
    STROBE_RECIPE_DIVIDED, /* by 0: bad */
    STROBE_RECIPE_MODULO,
    STROBE_RECIPE_BIT_AND,
    STROBE_RECIPE_BIT_OR,
    STROBE_RECIPE_BIT_XOR,
    STROBE_RECIPE_LEFT,
    STROBE_RECIPE_RIGHT,
    STROBE_RECIPE_EQUAL,
    STROBE_RECIPE_LESS,
    STROBE_RECIPE_SIGNED_LESS, /* as the next four: of two's complement */
    STROBE_RECIPE_SIGNED_DIVIDED,
    STROBE_RECIPE_SIGNED_MODULO,
    STROBE_RECIPE_SIGNED_RIGHT,
    STROBE_RECIPE_TO_DOUBLE,    /* the first number as the bits of a double; the second says what it is:
                                   STROBE_RECIPE_FROM_* */
    STROBE_RECIPE_DOUBLE_EQUAL, /* of such bits, as the next one */
    STROBE_RECIPE_DOUBLE_LESS,
    STROBE_RECIPE_DOUBLE_PLUS, /* as the next three; there is no 0 by which is not divided */
    STROBE_RECIPE_DOUBLE_MINUS,
    STROBE_RECIPE_DOUBLE_TIMES,
    STROBE_RECIPE_DOUBLE_DIVIDED,
    STROBE_RECIPE_TO_SINGLE,  /* the first number, a double's bits, rounded to a float; the second says as which bits:
                                 STROBE_RECIPE_AS_* */
    STROBE_RECIPE_TO_INTEGER, /* likewise, towards zero; the second says of which kind: STROBE_RECIPE_FROM_SIGNED or
                                 _UNSIGNED. Bad where it is none of that */
    STROBE_RECIPE_FROM_EXTENDED, /* the bits of the nearest double of an x87 number: its significand, and the 16 bits
                                    with its sign and exponent */
    STROBE_RECIPE_AND,
    STROBE_RECIPE_OR,
    STROBE_RECIPE_SELECT
};

/* SINGLE: rounded to what a float can be. */
enum {
    STROBE_RECIPE_FROM_UNSIGNED = 0,
    STROBE_RECIPE_FROM_SIGNED,
    STROBE_RECIPE_FROM_FLOAT,
    STROBE_RECIPE_SINGLE_FROM_UNSIGNED,
    STROBE_RECIPE_SINGLE_FROM_SIGNED
};
enum { STROBE_RECIPE_AS_DOUBLE = 0, STROBE_RECIPE_AS_FLOAT };

/* How TEST_TEXT compares. */
enum { STROBE_RECIPE_TEXT_EQUALS = 0, STROBE_RECIPE_TEXT_STARTS, STROBE_RECIPE_TEXT_ENDS, STROBE_RECIPE_TEXT_CONTAINS };

enum {
    STROBE_RECIPE_MAX_NESTING = 64, /* of locations that are kept */
    STROBE_RECIPE_MAX_LOOPS = 16,
    STROBE_RECIPE_MAX_NUMBERS = 32,
    STROBE_RECIPE_MAX_VARIABLES = 32,
    STROBE_RECIPE_COLUMNS = 12,         /* of SWEEP: numbers that differ from turn to turn */
    STROBE_RECIPE_COLUMN_NUMBERS = 16,  /* and on its stack */
    STROBE_RECIPE_COLUMN_LOCATIONS = 8, /* and locations that it keeps */
    STROBE_RECIPE_MAX_HEIGHT = 128,     /* of a tree */
    STROBE_RECIPE_MAX_PENDING = 128,    /* nodes right of others, which BRANCHES comes to later */
    STROBE_RECIPE_MAX_LITERAL = 64,     /* bytes that a text is compared with */
    STROBE_RECIPE_MAX_TABLE = 8192,     /* of MATCH_TEXT */
    STROBE_RECIPE_MAX_TEXT = 65536,     /* bytes of a text that are looked at */
    STROBE_RECIPE_MAX_PIECES = 8,       /* of a value in registers, or on the stack */
    STROBE_RECIPE_MAX_STEPS = 1 << 20   /* that are executed; each pointer that a loop follows is one more */
};

/* What an item is, and what a whole recipe ends with. */
enum {
    STROBE_RECIPE_OK = 0,
    STROBE_RECIPE_NULL,       /* a null pointer on the way; `step` is the dereference */
    STROBE_RECIPE_UNREADABLE, /* `address` could not be read, by `step` */
    STROBE_RECIPE_FULL,       /* no room for its bytes */
    STROBE_RECIPE_CUT,        /* a text that goes on, or ends where nothing can be read; a loop with more turns */
    STROBE_RECIPE_BROKEN,     /* what memory holds contradicts itself: a tree's node at `address`; divided by 0; what
                                 REQUIRE needs */
    STROBE_RECIPE_MALFORMED,  /* of a recipe: an unknown step, a loop or a location without its counterpart */
    STROBE_RECIPE_ENDLESS     /* of a recipe: more steps than are allowed */
};

struct strobe_recipe_item {
    uint64_t address; /* where it is; where it is bad, what could not be read */
    uint32_t offset;  /* of its bytes in the output */
    uint32_t size;    /* 8 of a loop's item with room for them, however the loop ended */
    uint32_t status;  /* STROBE_RECIPE_OK to _BROKEN */
    uint32_t step;    /* index of the step that gives it; where the location was bad, of the step that made it so */
};

struct strobe_recipe_output {
    uint8_t* bytes;
    uint32_t capacity;
    uint32_t used;
    struct strobe_recipe_item* items;
    uint32_t item_capacity;
    uint32_t item_count;
    uint32_t most_steps; /* 0: STROBE_RECIPE_MAX_STEPS. A loop that has no more of them gives an item that is FULL */
};

/* Copies up to `size` bytes from `address`, returns how many: all that can be read from the start on. */
typedef uint32_t (*strobe_recipe_reader)(void* context, uint64_t address, void* to, uint32_t size);

/* What was passed to a call, and what it returned: `known` has a bit for each word that is there. */
struct strobe_passed {
    uint64_t words[STROBE_PASSED_WORDS];
    uint64_t known;
};

/* Reads `count` numbers of `width` bytes, `stride` apart, extended with zeros; returns how many: all that can be read
   from the first on. */
typedef uint32_t (*strobe_recipe_gatherer)(void* context, uint64_t address, uint32_t stride, uint32_t width,
                                           uint32_t count, uint64_t* into);

/* Reads a number of `width` bytes at each of `count` addresses from `first` on that have no bit in `left_out`, and puts
   it instead of the address; `offset` is added to each. Gives the first that cannot be read, or `count`. */
typedef uint32_t (*strobe_recipe_fetcher)(void* context, uint64_t* addresses, uint64_t offset, uint32_t width,
                                          uint32_t first, uint32_t count, uint64_t left_out);

/* What the call, or the location in the code, is where a recipe runs; all may be NULL. `before`: blocks of what was
   kept at the call's entry, as extras are (STROBE_EXTRA_RECIPE of the ABI), in before_words words. */
struct strobe_moment {
    const struct strobe_passed* passed;
    const uint64_t* facts; /* STROBE_FACT_* */
    uint32_t fact_count;
    uint32_t before_words;
    const uint64_t* before;
    strobe_recipe_gatherer gather; /* NULL: numbers are read as everything else */
    strobe_recipe_fetcher fetch;   /* likewise */
};

/* `start`: the first location, for recipes that do not begin with BASE. Returns STROBE_RECIPE_OK, _FULL (no room for an
   item), _MALFORMED or _ENDLESS. What was read before stays. */
uint32_t strobe_recipe_run(const struct strobe_recipe_step* steps, uint32_t step_count, uint64_t start,
                           strobe_recipe_reader read, void* context, struct strobe_recipe_output* output);

#ifdef __cplusplus
}
#endif
