/*
 * Where the kernel enters at SIGSEGV and the other signals of native/faults.c: what it was, and who goes on. The
 * program's handler is jumped to in the very frame that the kernel has made. Only for a fault in the bytes of a
 * function that a hook has displaced is it called: where it returns, the instruction is run as a copy.
 */
/* A fault in a trampoline is one of the program's own code, and the program's handler learns so. As
   strobe_leave_trampoline. */
static uint64_t strobe_leave_copy(uint64_t signal, int32_t* information, uint64_t* context) {
    uint64_t* address = (uint64_t*)(information + 4);
    uint64_t pc = context[STROBE_REGISTER_RIP];
    uint64_t left =
        strobe_leave_trampoline(&strobe_recorder, &context[STROBE_REGISTER_RIP], &context[STROBE_REGISTER_RSP]);
    if (left != 0 && !strobe_is_load_fault(signal) && *address == pc) *address = context[STROBE_REGISTER_RIP];
    return left;
}

/* The program's handler has returned. An instruction that has a copy is run there: the function was begun already, and
   where its jump lies others cannot be run. */
void strobe_fault_return(uint64_t trampoline, uint64_t* context) {
    uint64_t copy = strobe_copy_of(trampoline, context[STROBE_REGISTER_RIP]);
    if (copy != 0) context[STROBE_REGISTER_RIP] = copy;
}

/* The program ends as it would have without us, and a core dump shows its own code, and stacks without stubs. */
static void strobe_fault_ends(uint64_t signal, int32_t* information, uint64_t* context) {
    int is_moved = 0;
    strobe_core_prepare();
    if (!strobe_was_sent(information) && strobe_recorder.may_call_kernel)
        is_moved = strobe_leave_copy(signal, information, context) != 0;
    strobe_end_by(signal, information, context, is_moved);
}

/* Somebody has truncated the segment's file, or there is no room for a page of it: with zeros in its place the program
   goes on, and nothing more is recorded. */
static int strobe_segment_is_lost(uint64_t signal, const int32_t* information) {
    struct strobe_recorder* recorder = &strobe_recorder;
    uint64_t address = *(const uint64_t*)(information + 4);
    if (signal != STROBE_SIGBUS || strobe_was_sent(information) || !recorder->may_call_kernel ||
        address - (uint64_t)recorder->header >= recorder->segment_bytes)
        return 0;
    recorder->follows_forks = 0;
    recorder->control->alive = 0;
    recorder->control->exit_handler = 0;
    strobe_segment_replace(recorder);
    return 1;
}

/* `handler`: the program's, which is then jumped to; 0: go on. `trampoline`: of the function in which the fault was;
   strobe_fault_return is to be called once the handler has returned. 0: it may return to the kernel. */
struct strobe_fault_route {
    uint64_t handler;
    uint64_t trampoline;
};

/* Called by strobe_fault_entry. */
struct strobe_fault_route strobe_fault_route(uint64_t signal, int32_t* information, uint64_t* context) {
    struct strobe_fault_route route = {0, 0};
    struct strobe_action* action = strobe_action_of(signal);
    uint64_t handler = action->handler;
    if (signal == STROBE_SIGTRAP) {
        if (strobe_leave_trap(information, context)) return route;
    } else if (!strobe_was_sent(information) && (strobe_segment_is_lost(signal, information) || strobe_fix(context))) {
        return route;
    }
    if (handler != STROBE_SIG_IGN || !strobe_was_sent(information))
        strobe_crash_note_fault(signal, information, context, strobe_is_handler(handler));
    if (!strobe_is_handler(handler)) {
        if (handler == STROBE_SIG_DFL || !strobe_was_sent(information)) strobe_fault_ends(signal, information, context);
        return route;
    }
    /* of a probed instruction: a handler that returns comes there again */
    if (!strobe_was_sent(information)) route.trampoline = strobe_leave_copy(signal, information, context);
    if (route.trampoline == 1) route.trampoline = 0;
    if (action->flags & STROBE_SA_RESETHAND) action->handler = STROBE_SIG_DFL;
    route.handler = handler;
    return route;
}

/* The stack pointer and the arguments are as the kernel has left them when the program's handler begins. */
__asm__(
    ".text\n"
    ".globl strobe_fault_entry\n"
    ".hidden strobe_fault_entry\n"
    ".type strobe_fault_entry, @function\n"
    "strobe_fault_entry:\n"
    "    .cfi_startproc\n"
    "    pushq %rdi\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rsi\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rdx\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    call strobe_fault_route\n"
    "    movq %rdx, %rcx\n"
    "    popq %rdx\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %rsi\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %rdi\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    testq %rax, %rax\n"
    "    jz 1f\n"
    "    testq %rcx, %rcx\n"
    "    jnz 2f\n"
    "    jmp *%rax\n"
    "2:  pushq %rdx\n" /* for the time behind the handler */
    "    .cfi_adjust_cfa_offset 8\n"
    "    pushq %rcx\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    subq $8, %rsp\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    call *%rax\n"
    "    addq $8, %rsp\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %rdi\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    popq %rsi\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "    subq $8, %rsp\n"
    "    .cfi_adjust_cfa_offset 8\n"
    "    call strobe_fault_return\n"
    "    addq $8, %rsp\n"
    "    .cfi_adjust_cfa_offset -8\n"
    "1:  ret\n"
    "    .cfi_endproc\n"
    ".size strobe_fault_entry, . - strobe_fault_entry\n");
