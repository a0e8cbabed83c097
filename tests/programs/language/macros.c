/* Conditions with macros, for programs built with -g3; each is the same text in C and in Strobe. */
#include <stdio.h>

#pragma GCC diagnostic ignored "-Wsign-compare" /* which macros are written without a thought of */

#define LIMIT 64
#define DOUBLED (LIMIT * 2)
#define MASK (1u << 4 | 3)
#define NOBODY (-1)
#define RATIO 0.5
#define NAME "ann"
#define LETTER 'c'
#define STATE state->level
#define TWICE(x) ((x) * 2)
#define NOTHING
#define LOOP LOOP
#define TYPE struct State
#define AGAIN 1

#ifdef __clang__
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noipa))
#endif

struct State {
    int level;
    unsigned flags;
};

static const int first = AGAIN;
#undef AGAIN
#define AGAIN 2

// clang-format off
#define CONDITIONS                                     \
    SAME(0, number > LIMIT)                            \
    SAME(1, number == DOUBLED)                         \
    SAME(2, number * 2 + 1 > DOUBLED || number < LIMIT / 8) \
    SAME(3, (state->flags & MASK) == MASK)             \
    SAME(4, state->level == NOBODY)                    \
    SAME(5, number * RATIO > 20)                       \
    SAME(6, letter == LETTER)                          \
    SAME(7, STATE > 5)                                 \
    SAME(8, state->flags - LIMIT > 0)                  \
    SAME(9, NOBODY < number && NOBODY < state->flags)
// clang-format on

static long held[10];
static volatile long kept;

#define SAME(index, condition)                                               \
    TRACED void check##index(int number, struct State* state, char letter) { \
        if (condition) held[index]++;                                        \
        kept = kept + number + state->level + letter;                        \
    }
CONDITIONS
#undef SAME

int main(void) {
    for (int i = 0; i < 150; i++) {
        struct State state = {i % 9 - 1, (unsigned)i};
        char letter = (char)('a' + i % 5);
#define SAME(index, condition) check##index(i, &state, letter);
        CONDITIONS
#undef SAME
    }
#define SAME(index, condition) printf("held %d %ld\n", index, held[index]);
    CONDITIONS
    printf("%s %d %d\n", NAME, first, AGAIN + TWICE(2) NOTHING);
    return 0;
}
