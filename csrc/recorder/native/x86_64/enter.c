/*
 * What a trampoline calls before it goes on into the function. Keeps every register: gcc leaves values in caller-saved
 * ones across calls to functions it has seen (-fipa-ra). The stack is aligned here, because gcc aligns it only where a
 * callee needs it.
 *
 *   on entry   [rsp]      return into the trampoline; 10 bytes before that is the function's number (trampolines.c)
 *              [rsp + 8]  the traced function's return address
 *
 * For an unwinder it is as if the function itself stood here: its caller's address is 16 bytes up.
 */
#include "vectors.h"

__asm__(
    ".text\n"
    ".p2align 6\n"
    ".globl strobe_native_enter\n"
    ".hidden strobe_native_enter\n"
    ".type strobe_native_enter, @function\n"
    "strobe_native_enter:\n"
    "    .cfi_startproc\n"
    "    .cfi_def_cfa %rsp, 16\n"
    "    pushq %rax\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %r10\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %r11\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %r9\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %r8\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rcx\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rdx\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rsi\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rdi\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rbx\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    .cfi_offset %rbx, -96\n"
    "    movq %rsp, %rbx\n"
    "    .cfi_def_cfa_register %rbx\n"
    "    movq 80(%rsp), %rax\n"
    "    movl -10(%rax), %esi\n" /* the function's number */
    "    leaq 88(%rsp), %rdx\n"  /* the slot of its return address */
    "    leaq 8(%rsp), %rcx\n"   /* rdi, rsi, rdx, rcx, r8, r9 */
    "    leaq strobe_recorder(%rip), %rdi\n"
    "    andq $-16, %rsp\n"
    "    call strobe_enter\n"
    "    movq %rbx, %rsp\n"
    "    .cfi_def_cfa %rsp, 96\n"
    "    popq %rbx\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    .cfi_restore %rbx\n"
    "    popq %rdi\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %rsi\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %rdx\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %rcx\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %r8\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %r9\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %r11\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %r10\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %rax\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    ret\n"
    "    .cfi_endproc\n"
    ".size strobe_native_enter, . - strobe_native_enter\n");
