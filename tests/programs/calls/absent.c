/* Calls `used` again and again until SIGUSR1, and `unused` only when asked. `absent overwrite`: at SIGUSR2 it writes
 * over the entry of `unused` and calls that. `absent once`: one call of `used`; `absent segv`, the same, then a fault;
 * `absent forks`: has a child that ends at once. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "told.h"

static volatile sig_atomic_t asked;
static volatile int* nowhere;
static void on_asked(int signal_number) { asked = signal_number; }

__attribute__((noinline)) int used(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 5 + 1000;
}
__attribute__((noinline)) int unused(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 7 + 2000;
}

/* Too short for a jump, and another function follows. */
__asm__(
    ".text\n.type too_short, @function\n.globl too_short\ntoo_short: ret\n.size too_short, .-too_short\n"
    ".type follows, @function\n.globl follows\nfollows: xor %eax, %eax\nnop\nnop\nnop\nnop\nret\n"
    ".size follows, .-follows\n");

static void overwrite(void) {
    const unsigned char nothing[] = {0x31, 0xc0, 0xc3}; /* xor eax, eax; ret */
    uintptr_t page = (uintptr_t)unused & ~(uintptr_t)4095;
    int (*volatile call)(int) = unused;
    if (mprotect((void*)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    memcpy((void*)((uintptr_t)unused + (*(unsigned char*)unused == 0xf3 ? 4 : 0)), nothing, sizeof nothing);
    printf("overwritten %d\n", call(1));
    fflush(stdout);
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    run_until_told();
    signal(SIGUSR2, on_asked);
    puts("ready");
    fflush(stdout);
    used(1);
    if (!strcmp(mode, "once")) return 0;
    if (!strcmp(mode, "segv")) return *nowhere;
    if (!strcmp(mode, "unused")) return unused(argc) == 0;
    if (!strcmp(mode, "forks") && fork() == 0) _exit(0);
    while (!told) {
        used(2);
        if (asked) asked = 0, overwrite();
        usleep(1000);
    }
    return 0;
}
