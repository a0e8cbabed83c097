/* Allocates all the time. The allocator is a library of its own (-DLIBRARY, to be preloaded): it takes its time, and
 * ends the program when a thread enters it that is in it already, as one does that is made to call pthread_create
 * there. "interrupted": a timer's handler interrupts it again and again. "slow": the first time it takes 3 s. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SLOW = 12345 }; /* bytes */

#ifdef LIBRARY

enum { SIZE = 256 << 20, ALIGNMENT = 16, TURNS = 10000 };

static __thread int inside __attribute__((tls_model("initial-exec")));
static char memory[SIZE] __attribute__((aligned(ALIGNMENT)));
static size_t used;

static void enter(void) {
    if (inside) {
        static const char text[] = "entered twice\n";
        _exit(write(1, text, sizeof text - 1) < 0 ? 4 : 3);
    }
    inside = 1;
    for (volatile int turn = 0; turn < TURNS; turn++) continue;
}

static void leave(void) { inside = 0; }

static void* take(size_t size) {
    const size_t whole = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
    if (at + whole > SIZE) return NULL;
    *(size_t*)(memory + at) = size;
    return memory + at + ALIGNMENT;
}

void* malloc(size_t size) {
    enter();
    for (const time_t until = time(NULL) + 3; size == SLOW && time(NULL) < until;) continue;
    void* const found = take(size);
    leave();
    return found;
}

void* calloc(size_t count, size_t size) { return malloc(count * size); }

void* realloc(void* old, size_t size) {
    void* const found = malloc(size);
    if (old == NULL || found == NULL) return found;
    const size_t before = *(size_t*)((char*)old - ALIGNMENT);
    return memcpy(found, old, before < size ? before : size);
}

void* aligned_alloc(size_t alignment, size_t size) {
    char* const found = malloc(size + alignment);
    return found == NULL ? NULL : found + (alignment - (uintptr_t)found % alignment) % alignment;
}

void* memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }

int posix_memalign(void** place, size_t alignment, size_t size) {
    *place = aligned_alloc(alignment, size);
    return *place == NULL ? 12 : 0;
}

void free(void* place) {
    enter();
    (void)place;
    leave();
}

#else

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#include "told.h"

static volatile long interrupted;

static void on_timer(int number) {
    (void)number;
    for (volatile int turn = 0; turn < 1000000; turn++) continue;
    interrupted++;
}

__attribute__((noinline)) int step(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1000;
}

int main(int count, char** arguments) {
    run_until_told();
    const int is_interrupted = count > 1 && strcmp(arguments[1], "interrupted") == 0;
    if (is_interrupted) {
        signal(SIGPROF, on_timer);
        /* by its own time: it would do nothing else than that on a busy machine */
        const struct itimerval often = {{0, 5000}, {0, 5000}};
        setitimer(ITIMER_PROF, &often, NULL);
    }
    puts("ready");
    fflush(stdout);
    int calls = 0;
    if (count > 1 && !is_interrupted) free(malloc(SLOW));
    while (!told) {
        char* volatile place = malloc(1);
        place[0] = 1;
        calls = step(calls) % 1000;
        free(place);
    }
    puts(is_interrupted && !interrupted ? "wrong" : "right");
    return 0;
}

#endif
