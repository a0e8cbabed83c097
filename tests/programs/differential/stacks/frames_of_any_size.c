/* alloca, arrays of variable length, frames of 64 KiB, and locals that ask for 64 bytes of alignment. */
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TRACED __attribute__((noinline))

TRACED long sum(const unsigned char* bytes, long count) {
    long total = 0;
    for (long i = 0; i < count; i++) total += bytes[i];
    return total;
}
TRACED long with_alloca(long count) {
    unsigned char* bytes = alloca((size_t)count);
    memset(bytes, (int)count & 63, (size_t)count);
    return sum(bytes, count) + (count > 100 ? with_alloca(count - 97) : 0);
}
TRACED long with_array(int count) {
    unsigned char bytes[count];
    for (int i = 0; i < count; i++) bytes[i] = (unsigned char)i;
    return sum(bytes, count);
}
TRACED long with_large_frame(long depth) {
    unsigned char bytes[65536];
    memset(bytes, (int)depth, sizeof bytes);
    return sum(bytes, sizeof bytes) + (depth ? with_large_frame(depth - 1) : 0);
}
TRACED long with_alignment(long value) {
    _Alignas(64) volatile long cells[8] = {value};
    return ((uintptr_t)cells % 64 == 0) * 1000 + cells[0];
}

int main(void) {
    for (int round = 1; round < 50; round++)
        printf("%ld %ld %ld %ld\n", with_alloca(round * 40), with_array(round), with_large_frame(round),
               with_alignment(round));
    return 0;
}
