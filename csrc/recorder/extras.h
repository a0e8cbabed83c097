/* What more is recorded of calls, and which calls are: extras.c, quick.c. */
#ifndef STROBE_RECORDER_EXTRAS_H
#define STROBE_RECORDER_EXTRAS_H

#include <stdint.h>

#include "../abi/strobe_agent.h"

struct strobe_recorder;
struct strobe_thread_state;

#define STROBE_QUICK_POINTERS 3u

struct strobe_stored_recipe {
    uint32_t first_step;
    uint32_t step_count;
    uint32_t bytes; /* and items that it may give */
    uint32_t items;
};

/* A condition: a number, and the constant that it is compared with. The number lies in a register that the call was
   given; or in memory, from a register or a fixed address on, behind so many pointers. */
struct strobe_quick {
    const struct strobe_recipe_step* base; /* whose operand is the fixed address, which may change; NULL: a register */
    uint64_t
        offsets[STROBE_QUICK_POINTERS + 1]; /* of each pointer from where the one before leads, then the number's */
    uint64_t compared;
    uint8_t is_there; /* 0: the condition is none of these */
    uint8_t source;   /* the register */
    uint8_t in_register;
    uint8_t pointers;
    uint8_t width; /* of the number, in bytes */
    uint8_t is_signed;
    uint8_t order;      /* STROBE_RECIPE_EQUAL, LESS or SIGNED_LESS */
    uint8_t is_swapped; /* the constant is on the left */
    uint8_t is_negated;
};

/* What more is recorded of some functions' calls: captures at the entry, then those at the return. */
struct strobe_extras {
    uint32_t captures;
    uint16_t most_words; /* that either of them may give; two for each capture at least */
    uint8_t enter_count;
    uint8_t exit_count;
    uint8_t needs;      /* STROBE_NEEDS_* of all captures, and of the condition */
    uint8_t at_return;  /* the condition is decided then */
    uint16_t condition; /* the recipe whose number decides whether a call is recorded; 0: each is */
    uint8_t is_plain;   /* nothing but watches and stacks, and where there is a condition `quick` */
    struct strobe_quick quick;
};

/* A frame that a stack of the thread has led through, and what was read to find its caller: where the same still stands
   there, the same caller is found (native/x86_64/backtrace.c). */
struct strobe_step {
    uint64_t pc;
    uint64_t rsp; /* 0: none */
    uint64_t rbp;
    uint64_t above; /* what stood in the place of the return address */
    uint64_t callers_rsp;
    uint64_t callers_rbp;
    uint64_t rbp_address; /* where that was saved; 0: rbp is the same */
    uint64_t next;        /* the step that came next the last time */
};

#define STROBE_STEPS 128u
#define STROBE_STEP_SLOTS 256u

struct strobe_steps {
    uint64_t generation;              /* of the directory that they were found by */
    uint64_t used;                    /* of those ever taken */
    uint8_t slots[STROBE_STEP_SLOTS]; /* by a hash of the frame: which step it may be */
    struct strobe_step steps[STROBE_STEPS];
};

/* quick.c: whether the set's condition is one of the usual ones; and of one that is, at the entry: as
   strobe_condition_holds, but -1 where the machine has to decide. */
void strobe_quick_find(const struct strobe_recorder* recorder, struct strobe_extras* extras);
int strobe_quick_holds(const struct strobe_recorder* recorder, const struct strobe_thread_state* state, int may_touch,
                       const struct strobe_quick* quick, const uint64_t* registers);

#endif
