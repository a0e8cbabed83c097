/* Calls timed() 200,000 times, one in 1,000 of them for 50 us. Prints how many ns these calls have taken, seen from
   within them and from their caller. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define CALLS 200000
#define LONG_NS 50000

static uint64_t inside_ns;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) void timed(long number) {
    const uint64_t begin_ns = now_ns();
    while (number % 1000 == 7 && now_ns() - begin_ns < LONG_NS) continue;
    inside_ns += now_ns() - begin_ns;
}

__attribute__((noinline)) uint64_t call_all(void) {
    const uint64_t begin_ns = now_ns();
    for (long number = 0; number < CALLS; number++) timed(number);
    return now_ns() - begin_ns;
}

int main(void) {
    const uint64_t outside_ns = call_all();
    printf("%llu %llu\n", (unsigned long long)inside_ns, (unsigned long long)outside_ns);
    return 0;
}
