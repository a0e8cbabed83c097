/* Says whom it permits to trace it: each call of the C library's prctl with PR_SET_PTRACER. It has put a jump to its
 * own one there, as a tool that patches code would; given a number, later on, when a line comes: then it permits that
 * process before. Ends with its standard input. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ul

#ifdef __x86_64__
static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
#else
static const unsigned char jump[] = {0x51, 0, 0, 0x58, 0x20, 0x02, 0x1f, 0xd6}; /* ldr x17, 8; br x17 */
#endif

static int permit(int option, ...) {
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++) words[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option != PR_SET_PTRACER) return (int)syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
    printf("%lu\n", words[0]);
    fflush(stdout);
    return 0;
}

static int divert(void) {
    char* const place = dlsym(RTLD_DEFAULT, "prctl");
    int (*const target)(int, ...) = permit;
    void* const page = (void*)((uintptr_t)place & ~(PAGE - 1));
    if (place == NULL || mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC)) return 3;
    memcpy(place, jump, sizeof jump);
    memcpy(place + sizeof jump, &target, sizeof target);
    mprotect(page, 2 * PAGE, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(place, place + sizeof jump + sizeof target);
    return 0;
}

int main(int count, char** arguments) {
    if (count > 1) {
        puts("begun");
        fflush(stdout);
        if (getchar() == EOF) return 4;
        prctl(PR_SET_PTRACER, strtoul(arguments[1], NULL, 10), 0, 0, 0);
    }
    if (divert() != 0) return 3;
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) continue;
    return 0;
}
