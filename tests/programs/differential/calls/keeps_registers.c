/* A caller that relies on a function to leave everything alone but what it returns in: all other general registers, the
 * vector registers, the arithmetic flags, the x87 stack and the rounding modes. With -fipa-ra gcc relies on as much. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct state {
    uint64_t general[15]; /* rax, rcx, rdx, rbx, rbp, rsi, rdi, r8 to r15 */
    uint64_t flags;
    uint64_t vector[16][2];
};
struct state before, after;
extern long touches_nothing(void);
extern void call_it(void);

__asm__(
    ".text\n.p2align 4\n.globl touches_nothing\n.type touches_nothing, @function\n"
    "touches_nothing: nop\nnop\nnop\nnop\nnop\nnop\nret\n.size touches_nothing, . - touches_nothing\n.p2align 4\n"
    ".globl call_it\n.type call_it, @function\n"
    "call_it:\n"
    "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\nsub $8, %rsp\n"
#define LOAD(n) "movups before + 128 + 16 * " #n "(%rip), %xmm" #n "\n"
    LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7) LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13)
    LOAD(14) LOAD(15)
    "mov before(%rip), %rax\nmov before + 8(%rip), %rcx\nmov before + 16(%rip), %rdx\nmov before + 24(%rip), %rbx\n"
    "mov before + 32(%rip), %rbp\nmov before + 40(%rip), %rsi\nmov before + 48(%rip), %rdi\nmov before + 56(%rip), %r8\n"
    "mov before + 64(%rip), %r9\nmov before + 72(%rip), %r10\nmov before + 80(%rip), %r11\n"
    "mov before + 88(%rip), %r12\nmov before + 96(%rip), %r13\nmov before + 104(%rip), %r14\n"
    "mov before + 112(%rip), %r15\n"
    "call touches_nothing\n"
    "mov %rax, after(%rip)\nmov %rcx, after + 8(%rip)\nmov %rdx, after + 16(%rip)\nmov %rbx, after + 24(%rip)\n"
    "mov %rbp, after + 32(%rip)\nmov %rsi, after + 40(%rip)\nmov %rdi, after + 48(%rip)\nmov %r8, after + 56(%rip)\n"
    "mov %r9, after + 64(%rip)\nmov %r10, after + 72(%rip)\nmov %r11, after + 80(%rip)\n"
    "mov %r12, after + 88(%rip)\nmov %r13, after + 96(%rip)\nmov %r14, after + 104(%rip)\n"
    "mov %r15, after + 112(%rip)\n"
#define STORE(n) "movups %xmm" #n ", after + 128 + 16 * " #n "(%rip)\n"
    STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5) STORE(6) STORE(7) STORE(8) STORE(9) STORE(10) STORE(11)
    STORE(12) STORE(13) STORE(14) STORE(15)
    "add $8, %rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n"
    ".size call_it, . - call_it\n"
    ".p2align 4\n.globl sets_flags\n.type sets_flags, @function\n"
    "sets_flags: nop\nnop\nnop\nnop\nnop\npush %rdi\npopf\nret\n.size sets_flags, . - sets_flags\n"
    ".globl flags_after\n.type flags_after, @function\n"
    "flags_after: nop\nnop\nnop\nnop\nnop\ncall sets_flags\npushf\npop %rax\nret\n.size flags_after, . - flags_after\n");
long flags_after(long flags);

__attribute__((noinline)) double rounds(double value) {
    volatile double third = value / 3;
    return third;
}
__attribute__((noinline)) long double on_x87(long double value) {
    long double kept = value * 3;
    return kept - (long double)rounds((double)value) * kept;
}

int main(void) {
    memset(&before, 0x5a, sizeof before);
    for (int i = 0; i < 15; i++) before.general[i] *= (uint64_t)i + 1;
    for (int i = 0; i < 1000; i++) {
        before.vector[i % 16][i % 2] += (uint64_t)i * 77;
        call_it();
        for (int r = 0; r < 15; r++)
            if (before.general[r] != after.general[r]) printf("general register %d changed\n", r);
        if (memcmp(before.vector, after.vector, sizeof before.vector)) puts("a vector register changed");
    }
    for (long flags = 0; flags < 0x1000; flags++) {
        long wanted = flags & 0x8d5;
        if ((flags_after(wanted | 2) & 0x8d5) != wanted) printf("flags %lx changed\n", wanted);
    }
    for (unsigned mode = 0; mode < 4; mode++) {
        unsigned sse = 0x1f80 | mode << 13, sse_after, inexact;
        uint16_t x87 = (uint16_t)(0x37f | mode << 10), x87_after;
        __asm__ volatile("ldmxcsr %0; fldcw %1" : : "m"(sse), "m"(x87));
        double exact = rounds(6);
        __asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(sse_after), "=m"(x87_after));
        double third = rounds(1);
        __asm__ volatile("stmxcsr %0" : "=m"(inexact));
        printf("%a %d %d %a %x %La\n", exact, sse_after == sse, x87_after == x87, third, inexact & 63, on_x87(1.25L));
    }
    return 0;
}
