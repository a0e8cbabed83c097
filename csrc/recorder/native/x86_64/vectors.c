/* Keeps the vector registers while other code runs: XSAVE for all that the CPU has, FXSAVE where it has no more than
 * SSE. It runs with the defaults: the program may have unmasked floating-point exceptions. */
#include "vectors.h"

#define STROBE_CPUID_OSXSAVE (1u << 27)

/* read by the assembly below */
uint8_t strobe_has_xsave __attribute__((visibility("hidden")));

void strobe_vectors_prepare(void) {
    uint32_t a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    strobe_has_xsave = (c & STROBE_CPUID_OSXSAVE) != 0;
}

/* Components 0 to 2 and 5 to 7: x87, SSE, AVX and AVX-512, 2,688 bytes in the standard format. The first 8 words of the
   header behind the 512 bytes of the legacy part must be zero before XRSTOR. */
__asm__(
    ".text\n"
    ".globl strobe_call_keeping_vectors\n"
    ".hidden strobe_call_keeping_vectors\n"
    ".type strobe_call_keeping_vectors, @function\n"
    "strobe_call_keeping_vectors:\n"
    "    .cfi_startproc\n"
    "    pushq %rbp\n"
    "    .cfi_def_cfa_offset 16\n"
    "    .cfi_offset %rbp, -16\n"
    "    movq %rsp, %rbp\n"
    "    .cfi_def_cfa_register %rbp\n"
    "    subq $2752, %rsp\n"
    "    andq $-64, %rsp\n"
    "    cmpb $0, strobe_has_xsave(%rip)\n"
    "    je 1f\n"
    "    xorl %eax, %eax\n"
    "    movq %rax, 512(%rsp)\n"
    "    movq %rax, 520(%rsp)\n"
    "    movq %rax, 528(%rsp)\n"
    "    movq %rax, 536(%rsp)\n"
    "    movq %rax, 544(%rsp)\n"
    "    movq %rax, 552(%rsp)\n"
    "    movq %rax, 560(%rsp)\n"
    "    movq %rax, 568(%rsp)\n"
    "    movl $0xe7, %eax\n"
    "    movq %rdx, %r9\n"
    "    xorl %edx, %edx\n"
    "    xsave64 (%rsp)\n"
    "    movq %r9, %rdx\n"
    "    pushq $0x1f80\n"
    "    ldmxcsr (%rsp)\n"
    "    addq $8, %rsp\n"
    "    fninit\n"
    "    call *%r8\n"
    "    movq %rax, %r9\n"
    "    movl $0xe7, %eax\n"
    "    xorl %edx, %edx\n"
    "    xrstor64 (%rsp)\n"
    "    jmp 2f\n"
    "1:  fxsave64 (%rsp)\n"
    "    pushq $0x1f80\n"
    "    ldmxcsr (%rsp)\n"
    "    addq $8, %rsp\n"
    "    fninit\n"
    "    call *%r8\n"
    "    movq %rax, %r9\n"
    "    fxrstor64 (%rsp)\n"
    "2:  movq %r9, %rax\n"
    "    leave\n"
    "    .cfi_def_cfa %rsp, 8\n"
    "    ret\n"
    "    .cfi_endproc\n"
    ".size strobe_call_keeping_vectors, . - strobe_call_keeping_vectors\n");
