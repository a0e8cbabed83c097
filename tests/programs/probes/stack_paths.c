/* Calls of leaf through six functions, each one of four: `path` says which, two bits for each, those of the innermost
   the lowest. From one call to the next one of them is another, or none, on the same places of the stack. */
#include <alloca.h>
#include <string.h>

#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif
#define DEPTH 6

typedef void by(unsigned path, int left);
static by by_a, by_b, by_c, by_d;
static by* const functions[] = {by_a, by_b, by_c, by_d};
static volatile int kept;

APART void leaf(unsigned path) { kept = (int)path; }

static inline void down(unsigned path, int left) {
    if (left == 0)
        leaf(path);
    else
        functions[path >> 2 * (left - 1) & 3](path, left - 1);
    kept = left; /* no jump to the other function */
}

APART static void by_a(unsigned path, int left) { down(path, left); }

APART static void by_b(unsigned path, int left) {
    volatile char room[40];
    room[left] = 1;
    down(path, left);
    kept = room[left];
}

APART static void by_c(unsigned path, int left) { /* a frame of a size that only rbp knows */
    volatile char* room = alloca(16 + 16 * (path % 5));
    room[left] = 1;
    down(path, left);
    kept = room[left];
}

APART static void by_d(unsigned path, int left) {
    kept = left;
    down(path, left);
    kept = left + (int)path;
}

int main(void) {
    unsigned path = 0x1b4, random = 1;
    for (int i = 0; i < 1000; ++i) {
        random = random * 1664525u + 1013904223u;
        if (random >> 30 != 0) path ^= (random >> 20 & 3) << 2 * ((random >> 24 & 31) % DEPTH);
        path &= (1u << 2 * DEPTH) - 1;
        down(path, DEPTH);
    }
    return 0;
}
