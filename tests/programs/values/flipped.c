// Reads numbers at full speed that others write, 0 or all ones, and counts what is neither; beside it one thread counts
// in a bit-field, whose neighbours others write.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

volatile uint64_t g64;
volatile uint32_t g32;
volatile uint16_t g16;
volatile double gDouble;
volatile struct {
    uint32_t low : 7;
    uint32_t counted : 18;
    uint32_t high : 7;
} gBits;
volatile long gTorn, gReads, gLost, gCounts;

static void* count_bits(void* unused) {
    (void)unused;
    for (uint32_t expected = 1;; expected = (expected + 1) & 0x3ffff) {
        gBits.counted = expected;
        if (gBits.counted != expected) gLost = gLost + 1;
        gCounts = gCounts + 1;
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, count_bits, NULL);
    puts("ready");
    fflush(stdout);
    for (;;) {
        const uint64_t first = g64;
        const uint32_t second = g32;
        const uint16_t third = g16;
        union {
            double number;
            uint64_t word;
        } fourth = {gDouble};
        if (first + 1 > 1 || (uint32_t)(second + 1) > 1 || (uint16_t)(third + 1) > 1) gTorn = gTorn + 1;
        if (fourth.word != 0 && fourth.word != 0x4028ae147ae147aeu) gTorn = gTorn + 1;  // 12.34
        gReads = gReads + 1;
    }
}
