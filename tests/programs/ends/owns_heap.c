/* Has an allocator of its own, and ends by a signal while a pointer leads into a block that was freed and is in use
   again. */
#include <stddef.h>

static char memory[1 << 16];
static size_t used;
static void* last_freed;

__attribute__((noinline)) static void* malloc(size_t bytes) {
    void* block = last_freed ? last_freed : memory + used;
    if (!last_freed) used += (bytes + 15) & ~(size_t)15;
    last_freed = NULL;
    return block;
}

__attribute__((noinline)) static void free(void* block) {
    if (block) last_freed = block;
}

__attribute__((noinline)) static int fail(char** block) {
    volatile int* nowhere = (volatile int*)0x123456789000;
    return *nowhere + **block;
}

int main(void) {
    char* before = malloc(200);
    free(before);
    char* now = malloc(200);
    return fail(&now) + (before == now);
}
