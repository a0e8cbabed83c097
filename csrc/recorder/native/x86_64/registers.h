/*
 * What a trampoline of ours does with registers before it calls C, and after. On entry the canonical frame address is
 * 16 above the stack pointer: [rsp] is the program's rax, [rsp + 8] the return address of the function.
 *
 *   8(%rsp)   rdi, rsi, rdx, rcx, r8, r9, which C may read and change, then r11, r10
 *   72(%rsp)  rax as it was on entry
 *   80(%rsp)  the program's rax
 *
 * rbx is the frame's base meanwhile, so that the stack can be aligned. Flags are not kept: no function gets any.
 */
#ifndef STROBE_RECORDER_REGISTERS_H
#define STROBE_RECORDER_REGISTERS_H

// clang-format off
#define STROBE_SAVE_REGISTERS        \
    "    pushq %rax\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %r10\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %r11\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %r9\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %r8\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %rcx\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %rdx\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %rsi\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %rdi\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    pushq %rbx\n"               \
    "    .cfi_adjust_cfa_offset 8\n" \
    "    .cfi_offset %rbx, -96\n"    \
    "    movq %rsp, %rbx\n"          \
    "    .cfi_def_cfa_register %rbx\n"

#define STROBE_RESTORE_REGISTERS      \
    "    popq %rbx\n"                 \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    .cfi_restore %rbx\n"         \
    "    popq %rdi\n"                 \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    popq %rsi\n"                 \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    popq %rdx\n"                 \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    popq %rcx\n"                 \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    popq %r8\n"                  \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    popq %r9\n"                  \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    popq %r11\n"                 \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    popq %r10\n"                 \
    "    .cfi_adjust_cfa_offset -8\n" \
    "    movq 8(%rsp), %rax\n"
// clang-format on

#endif
