// What clang makes of functions that only their own file can call: a parameter that is always the same is left out, and
// the next one takes its register; a result that nobody uses is not there, whatever follows a call of it.
#include <stdlib.h>

struct id {
    long value;
};

static volatile long last;

__attribute__((noinline)) static void show(struct id* one) { last = one->value; }

// `replaced` is always 1000, and then what came in its register.
__attribute__((noinline)) static void by_slot(struct id replaced, struct id id) {
    replaced = id;
    show(&replaced);
    show(&id);
}

__attribute__((noinline)) static void both_kept(struct id one, struct id two) {
    show(&one);
    show(&two);
}

__attribute__((noinline)) static int report(int level) {
    last = level;
    if (level > 50) exit(level);
    return level * 3 + (int)last;
}

__attribute__((noinline)) static int report_other(int level) {
    last = level;
    if (level > 60) exit(level);
    return level * 5 + (int)last;
}

// One of the last two blocks follows the other, and nothing goes on from a report to it; behind the second one, or some
// padding, `plain` begins.
__attribute__((noinline)) static int of(int count) {
    const int got = rand();
    if (count == 77) {
        report_other(got + 9);
        __builtin_unreachable();
    }
    if (count == 79) {
        report(90);
        __builtin_unreachable();
    }
    return (int)last + count;
}

// The same, the other way round.
__attribute__((noinline)) static int plain(int count) {
    const int got = rand();
    if (count == 77) {
        report(90);
        __builtin_unreachable();
    }
    if (count == 79) {
        report_other(got + 9);
        __builtin_unreachable();
    }
    return (int)last + count;
}

// Begins with `push rax`, to align the stack.
__attribute__((noinline)) static int fail(int count) {
    if (count < 70) return (int)last;
    report(90);
    __builtin_unreachable();
}

__attribute__((noinline)) static int fail_too(int count) {
    if (count < 70) return (int)last;
    report_other(90);
    __builtin_unreachable();
}

int main(int count, char** arguments) {
    (void)arguments;
    for (int round = 0; round < 10; ++round) {
        const int number = round + rand() / RAND_MAX;
        by_slot((struct id){1000}, (struct id){number});
        both_kept((struct id){number}, (struct id){2 * number});
        report(round);
        report_other(round);
    }
    return of(count) + plain(count) + fail(count) + fail_too(count) < 0;
}
