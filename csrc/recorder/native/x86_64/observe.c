/*
 * Where the trampoline of an observed function jumps. As strobe_native_enter (enter.c), but nothing is recorded, the
 * return is not caught, and the observer may change the argument registers.
 */
#include "registers.h"

__asm__(
    ".text\n"
    ".p2align 4\n"
    ".globl strobe_native_observe\n"
    ".type strobe_native_observe, @function\n"
    "strobe_native_observe:\n"
    "    .cfi_startproc\n"
    "    .cfi_def_cfa %rsp, 16\n" STROBE_SAVE_REGISTERS
    "    movl -18(%rax), %edi\n" /* its number */
    "    leaq 8(%rsp), %rsi\n"   /* rdi, rsi, rdx, rcx, r8, r9; a word below them rbx */
    "    pushq %rbp\n"           /* below that what a function keeps, for crash.c */
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    andq $-16, %rsp\n"
    "    call strobe_observe\n"
    "    movq %rbx, %rsp\n"
    "    .cfi_def_cfa %rsp, 96\n" STROBE_RESTORE_REGISTERS
    "    leaq 16(%rsp), %rsp\n"
    "    .cfi_def_cfa %rsp, 8\n"
    "    jmp *-16(%rsp)\n"
    "    .cfi_endproc\n"
    ".size strobe_native_observe, . - strobe_native_observe\n");
