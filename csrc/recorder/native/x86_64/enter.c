/*
 * Where a trampoline jumps before the function runs. Keeps every register: gcc leaves values in caller-saved ones
 * across calls to functions it has seen (-fipa-ra). The stack is aligned here, because gcc aligns it only where a
 * callee needs it.
 *
 *   on entry   rax        where the trampoline goes on (resume); 18 bytes before that is the function's number
 *              [rsp]      the program's rax
 *              [rsp + 8]  the traced function's return address
 *
 * Goes on in the return stub, with the stack pointer behind the return address, whose place the stub's call takes; or
 * at resume, where the return is not caught. The address of either lies below the stack pointer then, in the red zone,
 * which signal handlers leave alone.
 *
 * For an unwinder it is as if the function itself stood here: its caller's address is 16 bytes up.
 */
#include "registers.h"
#include "vectors.h"

__asm__(
    ".text\n"
    ".p2align 6\n"
    ".globl strobe_native_enter\n"
    ".hidden strobe_native_enter\n"
    ".type strobe_native_enter, @function\n"
    "strobe_native_enter:\n"
    "    .cfi_startproc\n"
    "    .cfi_def_cfa %rsp, 16\n" STROBE_SAVE_REGISTERS
    "    movl -18(%rax), %esi\n" /* the function's number */
    "    leaq 88(%rsp), %rdx\n"  /* the slot of its return address */
    "    leaq 8(%rsp), %rcx\n"   /* rdi, rsi, rdx, rcx, r8, r9 */
    "    movq %rax, %r8\n"       /* resume */
    "    leaq strobe_recorder(%rip), %rdi\n"
    "    pushq %rbp\n" /* the program's, two words below what rcx points to: for stacks (backtrace.c) */
    "    andq $-16, %rsp\n"
    "    call *strobe_native_enter_function(%rip)\n"
    "    movq %rbx, %rsp\n"
    "    .cfi_def_cfa %rsp, 96\n"
    "    testq %rax, %rax\n"
    "    jz 1f\n"
    "    movq %rax, 72(%rsp)\n" /* in resume's place */
    "    .cfi_remember_state\n" STROBE_RESTORE_REGISTERS
    "    leaq 24(%rsp), %rsp\n"
    "    .cfi_def_cfa %rsp, 0\n"
    "    jmp *-24(%rsp)\n"
    "1:\n"
    "    .cfi_restore_state\n" STROBE_RESTORE_REGISTERS
    "    leaq 16(%rsp), %rsp\n"
    "    .cfi_def_cfa %rsp, 8\n"
    "    jmp *-16(%rsp)\n"
    "    .cfi_endproc\n"
    ".size strobe_native_enter, . - strobe_native_enter\n");
