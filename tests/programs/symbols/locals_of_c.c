// What C has besides: arrays of computed length, a union and bit-fields by value, long double, static and extern names.
#include <stdio.h>

volatile int sink = 3;
static int counted;
_Thread_local int per_thread = 4;

struct Flags {
    unsigned low : 3;
    signed high : 5;
    long whole;
};
union Either {
    int number;
    float part;
};

__attribute__((noinline)) static int of_length(int length) {
    int numbers[length];
    char names[length][2];
    for (int i = 0; i < length; ++i) {
        numbers[i] = i + sink;
        names[i][0] = (char)i;
    }
    int last = numbers[length - 1] + names[length - 1][0];
    return last + sink;
}

__attribute__((noinline)) static long mixed(struct Flags flags, union Either either, long double wide, _Bool is_on) {
    static int calls;
    extern int per_thread_copy;
    ++calls;
    long sum = flags.low + flags.high + flags.whole + either.number + calls;
    if (is_on) {
        unsigned short step = (unsigned short)(sum + per_thread_copy);
        sum += step + (long)wide;
        sink = step;
    }
    return sum + sink;
}
int per_thread_copy = 5;

static inline int clamp(int value, int low, int high) {
    int result = value < low ? low : value;
    if (result > high) result = high;
    return result;
}

__attribute__((noinline)) int (*chosen(int which))(int) {
    counted += which;
    return which ? of_length : NULL;
}

int main(int count, char** arguments) {
    (void)arguments;
    struct Flags flags = {5, -3, 100};
    union Either either = {.number = count};
    const int limit = 20;
    int (*function)(int) = chosen(count);
    long total = mixed(flags, either, 2.5L, 1) + function(count + 3) + clamp(count * sink, 1, limit);
    per_thread += (int)total;
    printf("%ld %d %d\n", total, per_thread, counted);
    return 0;
}
