/* Functions whose first bytes something else leads to: a table of labels, a table of distances (as of a switch), code
 * of another part of the function, assembly next to it. `again` is entered at its first byte by its own other part. */
#include <stdio.h>

__attribute__((noinline)) long interprets(const unsigned char* code, long value) {
    static const void* const steps[] = {&&adds, &&subtracts, &&ends, &&mixes};
adds:
    value += 3;
    goto* steps[*code++];
subtracts:
    value -= 1;
    goto* steps[*code++];
mixes:
    value ^= value << 1;
    goto* steps[*code++];
ends:
    return value;
}

long switches(long count);
long parted(long count);
long again(long count);
long follows(long count);

__asm__(
    ".text\n"
    ".globl switches\n.type switches, @function\n"
    "switches:\n    .cfi_startproc\n"
    "    xorl %eax, %eax\n"
    ".Lround:\n"
    "    addq %rdi, %rax\n    decq %rdi\n    cmovsq %rsi, %rsi\n"
    "    movl $0, %ecx\n    testq %rdi, %rdi\n    setle %cl\n"
    "    leaq .Ltable(%rip), %rdx\n    movslq (%rdx,%rcx,4), %rcx\n    addq %rdx, %rcx\n    jmp *%rcx\n"
    ".Ldone:\n    ret\n    .cfi_endproc\n.size switches, . - switches\n"
    ".section .rodata\n    .p2align 2\n.Ltable: .long .Lround - .Ltable, .Ldone - .Ltable\n"
    ".text\n.globl parted\n.type parted, @function\n"
    "parted:\n    .cfi_startproc\n"
    "    xorl %eax, %eax\n"
    ".Lback:\n    testq %rdi, %rdi\n    jg .Lapart\n    ret\n    .cfi_endproc\n.size parted, . - parted\n"
    ".globl again\n.type again, @function\n"
    "again:\n    .cfi_startproc\n"
    "    subq $1, %rdi\n    jg .Lrepeats\n    leaq 7(%rdi), %rax\n    ret\n    .cfi_endproc\n.size again, . - again\n"
    ".globl follows\n.type follows, @function\n"
    "follows:\n    .cfi_startproc\n    addq $1, %rdi\n    jmp .Lwithin\n    .cfi_endproc\n.size follows, . - follows\n"
    ".globl leads\n.type leads, @function\n"
    "leads:\n    .cfi_startproc\n    nop\n.Lwithin:\n    leaq 1(%rdi), %rax\n    ret\n    .cfi_endproc\n.size leads, . "
    "- leads\n"
    ".section .text.unlikely,\"ax\",@progbits\n"
    "parted.cold:\n    .cfi_startproc\n.Lapart:\n    addq %rdi, %rax\n    decq %rdi\n    jmp .Lback\n    .cfi_endproc\n"
    "again.cold:\n    .cfi_startproc\n.Lrepeats:\n    nop\n    jmp again\n    .cfi_endproc\n"
    ".text\n");

int main(void) {
    const unsigned char code[] = {0, 1, 0, 3, 0, 0, 1, 1, 3, 2};
    long sum = 0;
    for (long round = 0; round < 1000; round++)
        sum +=
            interprets(code, round) + switches(round % 5 + 1) + parted(round % 5) + again(round % 5) + follows(round);
    printf("%ld\n", sum);
    return 0;
}
