/*
 * Code that no unwinder knows, as an engine's own, and functions that it calls. Such an engine walks its frames by the
 * return addresses in them, and ends where it finds one that is not its own.
 */
#include <stdio.h>

#define FUNCTION(name, body)                                                                                         \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" body "\n.size " #name ", . - " #name \
            "\n");

__asm__(".text\n.p2align 12\n");
/* an engine's loop and its runtime function: each finds the other's address where it returns to */
FUNCTION(engine_run, "push %rbx\nmov %rdi, %rbx\nnop\nnop\n1: call engine_step\n2: dec %rbx\njnz 1b\npop %rbx\nret")
FUNCTION(engine_step,
         "nop\nnop\nnop\nnop\nmov (%rsp), %rax\nlea engine_end(%rip), %rdx\ncmp %rdx, %rax\nja 3f\n"
         "lea engine_run(%rip), %rdx\ncmp %rdx, %rax\njb 3f\nsub $8, %rsp\ncall called_back\nadd $8, %rsp\nret\n3: ud2")
__asm__(".skip 65536, 0x90\n.globl engine_end\nengine_end:\nret\n.p2align 4\n");

long engine_run(long rounds);
long engine_step(void);
void engine_end(void);

static long wrong, calls;

__attribute__((noinline)) long helped(long value) {
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

__attribute__((noinline)) void called_back(void) {
    char* caller = __builtin_return_address(0);
    wrong += caller < (char*)engine_run || caller > (char*)engine_end;
    calls = helped(calls);
}

int main(void) {
    engine_run(1000);
    called_back(); /* from here it is an usual call, and the engine's check does not hold */
    printf("%ld calls, %ld from elsewhere\n", calls, wrong);
    return 0;
}
