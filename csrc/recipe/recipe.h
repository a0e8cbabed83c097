/* Recipes: small programs that read a value, a pointer chain or a structure out of memory that may not be there.
 *
 * The same interpreter runs on the host, over another process's memory, and in a target, over its own: it reaches
 * memory only through a reader that may fail. It needs no libc, allocates nothing, and believes nothing of the recipe:
 * a malformed one ends with an error, one without end at STROBE_RECIPE_MAX_STEPS.
 *
 * A recipe works on a place: an address, and whether it is good. A dereference of null or of what cannot be read makes
 * it bad, and stays so until RESTORE: reads of a bad place give an item with the reason, so that a recipe gives the
 * same items in the same order whatever memory holds. Only REPEAT_LOADED and UNLESS depend on memory; what they saw is
 * an item, too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    STROBE_RECIPE_END = 0,
    STROBE_RECIPE_BASE,         /* place = operand */
    STROBE_RECIPE_ADD,          /* place += operand */
    STROBE_RECIPE_DEREF,        /* place = the pointer at place + operand */
    STROBE_RECIPE_VIRTUAL_BASE, /* place += the word at (the pointer at place) + operand (Itanium C++ ABI 2.5.2) */
    STROBE_RECIPE_SAVE,         /* keeps the place, STROBE_RECIPE_MAX_NESTING deep */
    STROBE_RECIPE_RESTORE,      /* takes back the place kept last */
    STROBE_RECIPE_READ,         /* item: count bytes at place + operand */
    STROBE_RECIPE_TEXT,   /* item: characters of width bytes at place, count of them at most, up to the first zero */
    STROBE_RECIPE_REPEAT, /* what follows up to NEXT count times, operand bytes further each time */
    STROBE_RECIPE_REPEAT_LOADED, /* the same as often as the number loaded last says, count times at most */
    STROBE_RECIPE_NEXT,
    STROBE_RECIPE_LOAD,  /* item: the unsigned number of width bytes at place, which is remembered */
    STROBE_RECIPE_UNLESS /* leaves out the count steps that follow where the number loaded last is not operand */
};

enum {
    STROBE_RECIPE_MAX_NESTING = 16,
    STROBE_RECIPE_MAX_STEPS = 1 << 20 /* that are executed */
};

/* What an item is, and what a whole recipe ends with. */
enum {
    STROBE_RECIPE_OK = 0,
    STROBE_RECIPE_NULL,       /* a null pointer on the way; `step` is the dereference */
    STROBE_RECIPE_UNREADABLE, /* `address` could not be read, by `step` */
    STROBE_RECIPE_FULL,       /* no room for its bytes */
    STROBE_RECIPE_CUT,        /* a text that goes on, or ends where nothing can be read */
    STROBE_RECIPE_MALFORMED,  /* of a recipe: an unknown step, a loop or a place without its counterpart */
    STROBE_RECIPE_ENDLESS     /* of a recipe: more steps than are allowed */
};

struct strobe_recipe_step {
    uint8_t op;
    uint8_t width;
    uint16_t zero;
    uint32_t count;
    int64_t operand;
};

struct strobe_recipe_item {
    uint64_t address; /* where it is; where it is bad, what could not be read */
    uint32_t offset;  /* of its bytes in the output */
    uint32_t size;
    uint32_t status; /* STROBE_RECIPE_OK to _CUT */
    uint32_t step;   /* index of the READ, TEXT or LOAD; where the place was bad, of the step that made it so */
};

struct strobe_recipe_output {
    uint8_t* bytes;
    uint32_t capacity;
    uint32_t used;
    struct strobe_recipe_item* items;
    uint32_t item_capacity;
    uint32_t item_count;
};

/* Copies up to `size` bytes from `address`, returns how many: all that can be read from the start on. */
typedef uint32_t (*strobe_recipe_reader)(void* context, uint64_t address, void* to, uint32_t size);

/* `start`: the first place, for recipes that do not begin with BASE. Returns STROBE_RECIPE_OK, _FULL (no room for an
   item), _MALFORMED or _ENDLESS. What was read before stays. */
uint32_t strobe_recipe_run(const struct strobe_recipe_step* steps, uint32_t step_count, uint64_t start,
                           strobe_recipe_reader read, void* context, struct strobe_recipe_output* output);

#ifdef __cplusplus
}
#endif
