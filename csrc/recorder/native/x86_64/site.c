/*
 * Where the trampoline of a probed instruction calls: all registers are put down in DWARF's order for strobe_site, and
 * are the program's own again when this returns, flags included. Vector registers are not touched.
 *
 *   on entry   [rsp]        the return address, into the trampoline; 15 bytes before it is the number of the
 *                           instruction's first probe
 *              rsp + 136    the program's stack pointer
 */
#include "vectors.h"

__asm__(
    ".text\n"
    ".p2align 6\n"
    ".globl strobe_native_site\n"
    ".hidden strobe_native_site\n"
    ".type strobe_native_site, @function\n"
    "strobe_native_site:\n"
    "    pushfq\n"
    "    cld\n"
    "    pushq 8(%rsp)\n" /* word 16: the return address */
    "    pushq %r15\n"
    "    pushq %r14\n"
    "    pushq %r13\n"
    "    pushq %r12\n"
    "    pushq %r11\n"
    "    pushq %r10\n"
    "    pushq %r9\n"
    "    pushq %r8\n"
    "    leaq 216(%rsp), %r8\n" /* 136, and ten words that were pushed */
    "    pushq %r8\n"
    "    pushq %rbp\n"
    "    pushq %rdi\n"
    "    pushq %rsi\n"
    "    pushq %rbx\n"
    "    pushq %rcx\n"
    "    pushq %rdx\n"
    "    pushq %rax\n"
    "    movq %rsp, %rbx\n"
    "    movq 128(%rsp), %rax\n"
    "    movl -15(%rax), %esi\n"
    "    movq %rsp, %rdx\n"
    "    leaq strobe_recorder(%rip), %rdi\n"
    "    andq $-16, %rsp\n"
    "    call strobe_site\n"
    "    movq %rbx, %rsp\n"
    "    popq %rax\n"
    "    popq %rdx\n"
    "    popq %rcx\n"
    "    popq %rbx\n"
    "    popq %rsi\n"
    "    popq %rdi\n"
    "    popq %rbp\n"
    "    leaq 8(%rsp), %rsp\n"
    "    popq %r8\n"
    "    popq %r9\n"
    "    popq %r10\n"
    "    popq %r11\n"
    "    popq %r12\n"
    "    popq %r13\n"
    "    popq %r14\n"
    "    popq %r15\n"
    "    leaq 8(%rsp), %rsp\n"
    "    popfq\n"
    "    ret\n"
    ".size strobe_native_site, . - strobe_native_site\n");
