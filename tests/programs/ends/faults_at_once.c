/* Faults in the very first instructions of a function, which run elsewhere while it is traced; or in code that the
   program has made itself. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((noinline)) int first(volatile int* at) {
    *at = 4; /* first */
    return 0;
}

__attribute__((noinline)) int second(int* volatile* at) {
    int* place = *at;
    return *place; /* second */
}

/* Keeps an address of the program's on the stack, where no call has put it. */
static int made(int (*not_a_caller)(volatile int*)) {
    static const unsigned char code[] = {0x57, 0x31, 0xc0, 0x8b, 0x00}; /* push rdi; xor eax, eax; mov eax, [rax] */
    void* place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place, code, sizeof code);
    return ((int (*)(int (*)(volatile int*)))place)(not_a_caller);
}

int main(int count, char** words) {
    int* volatile nowhere = NULL;
    int found = 0;
    if (count < 2) return 1;
    if (!strcmp(words[1], "first")) found = first(nowhere);
    if (!strcmp(words[1], "second")) found = second(&nowhere);
    if (!strcmp(words[1], "made")) found = made(first);
    printf("%d\n", found);
    return 0;
}
