/*
 * What stands in front of code that goes with the agent, wherever threads of the program come to it: machine code
 * written at run time, which outlives the agent. It keeps account of the threads behind it, because an agent that goes
 * while a thread is there takes the code away under it, and lets none in once the agent is about to go. Nor in a forked
 * child, where the agent's threads are not there, and their locks stay taken: the kernel clears the control page in it.
 */
#include "machine_code.h"

/* lock inc dword [rax + 4]; cmp dword [rax], 0: once more, for who waits for the count to be 0; je. Gives where the
   jump's distance goes. */
static uint8_t* strobe_put_count(struct strobe_bytes* out) {
    strobe_put(out, 0x0440fff0, 4);
    strobe_put(out, 0x003883, 3);
    strobe_put(out, 0x74, 1);
    return out->at++;
}

/* Calls the function at `leads_to`, with its first argument, or returns at once. */
uint32_t strobe_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to) {
    struct strobe_bytes out;
    uint8_t *child, *leaving;
    out.at = memory;
    child = strobe_put_agent_check(&out, recorder);
    leaving = strobe_put_count(&out);
    strobe_put(&out, 0x08ec8348, 4); /* sub rsp, 8 */
    strobe_put(&out, 0xb848, 2);     /* mov rax, leads_to; call rax */
    strobe_put(&out, leads_to, 8);
    strobe_put(&out, 0xd0ff, 2);
    strobe_put(&out, 0x08c48348, 4); /* add rsp, 8 */
    strobe_put(&out, 0xb848, 2);     /* mov rax, &control->has_agent */
    strobe_put(&out, (uint64_t)&recorder->control->has_agent, 8);
    strobe_jump_to_here(leaving, &out);
    strobe_put(&out, 0x0448fff0, 4); /* lock dec dword [rax + 4] */
    strobe_jump_to_here(child, &out);
    strobe_put(&out, 0xc3, 1); /* ret */
    return (uint32_t)(out.at - memory);
}

#define STROBE_DEPARTURE_TURN_NS 5000000

#define STROBE_BIT_OF(signal) ((uint64_t)1 << ((signal) - 1))
/* All but those of what the thread itself does (SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS), as a fault whose
   signal is blocked ends the process; and glibc's own for setuid, whose sender waits. */
#define STROBE_BLOCKED                                                                                 \
    (~(STROBE_BIT_OF(4) | STROBE_BIT_OF(5) | STROBE_BIT_OF(7) | STROBE_BIT_OF(8) | STROBE_BIT_OF(11) | \
       STROBE_BIT_OF(31) | STROBE_BIT_OF(33)))

/* Registers as they were; ret. */
static void strobe_put_end_of_loader_guard(struct strobe_bytes* out) {
    strobe_put(out, 0xdc8948, 3);   /* mov rsp, rbx */
    strobe_put(out, 0x5b5c41, 3);   /* pop r12, rbx */
    strobe_put(out, 0x5a415b41, 4); /* pop r11, r10 */
    strobe_put(out, 0x58415941, 4); /* pop r9, r8 */
    strobe_put(out, 0x595a5e5f, 4); /* pop rdi, rsi, rdx, rcx */
    strobe_put(out, 0xc39d58, 3);   /* pop rax, popfq, ret */
}

/* rt_sigprocmask; the new mask lies at [rbx - 16], or with `is_end` the one from before at [rbx - 8]. */
static void strobe_put_mask_change(struct strobe_bytes* out, int is_end) {
    strobe_put(out, 0xb8, 1); /* mov eax, rt_sigprocmask */
    strobe_put(out, STROBE_SYS_RT_SIGPROCMASK, 4);
    strobe_put(out, 0xbf, 1); /* mov edi, how */
    strobe_put(out, is_end ? STROBE_SIG_SETMASK : STROBE_SIG_BLOCK, 4);
    strobe_put(out, is_end ? 0xf8738d48 : 0xf0738d48, 4);            /* lea rsi, [rbx - 8] or [rbx - 16] */
    strobe_put(out, is_end ? 0xd23148 : 0xf8538d48, is_end ? 3 : 4); /* xor rdx, rdx; or lea rdx, [rbx - 8] */
    strobe_put(out, 0xba41, 2);                                      /* mov r10d, 8 */
    strobe_put(out, 8, 4);
    strobe_put(out, 0x050f, 2); /* syscall */
}

/* In front of Frida's hook at `leads_to`, on the function that the dynamic linker calls when libraries come and go: has
   the agent told, or returns at once. No register is changed: the dynamic linker knows that this function changes none.

   Signals are blocked as long as the thread is there, where the kernel may be called. A handler that forked would have
   its child go on in the agent's code, with the locks of threads that it has not; one that jumped away would leave the
   agent's locks taken; and it needs the program's own stack. They are unblocked by the last thing that is done. */
uint32_t strobe_loader_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to) {
    struct strobe_bytes out;
    uint8_t *child, *agent, *leaving, *unasked, *unblocked;
    out.at = memory;
    strobe_put(&out, 0x51509c, 3);         /* pushfq, push rax, rcx */
    strobe_put(&out, 0x575652, 3);         /* push rdx, rsi, rdi */
    strobe_put(&out, 0x51415041, 4);       /* push r8, r9 */
    strobe_put(&out, 0x53415241, 4);       /* push r10, r11 */
    strobe_put(&out, 0x544153, 3);         /* push rbx, r12 */
    strobe_put(&out, 0xe38948, 3);         /* mov rbx, rsp */
    strobe_put(&out, 0xfffffde0a38d48, 7); /* lea rsp, [rbx - 544]: two masks, and 512 bytes for fxsave */
    strobe_put(&out, 0xf0e48348, 4);       /* and rsp, -16 */
    child = strobe_put_agent_check(&out, recorder);
    strobe_put(&out, 0xeb, 1); /* jmp */
    agent = out.at++;
    strobe_jump_to_here(child, &out);
    strobe_put_end_of_loader_guard(&out);
    strobe_jump_to_here(agent, &out);
    strobe_put(&out, 0xb848, 2); /* mov rax, &may_call_kernel */
    strobe_put(&out, (uint64_t)&recorder->may_call_kernel, 8);
    strobe_put(&out, 0x208b44, 3); /* mov r12d, [rax] */
    strobe_put(&out, 0xe48545, 3); /* test r12d, r12d; jz */
    strobe_put(&out, 0x74, 1);
    unasked = out.at++;
    strobe_put(&out, 0xb848, 2); /* mov rax, the mask; mov [rbx - 16], rax */
    strobe_put(&out, STROBE_BLOCKED, 8);
    strobe_put(&out, 0xf0438948, 4);
    strobe_put_mask_change(&out, 0);
    strobe_jump_to_here(unasked, &out);
    strobe_put(&out, 0xb848, 2); /* mov rax, &control->has_agent */
    strobe_put(&out, (uint64_t)&recorder->control->has_agent, 8);
    leaving = strobe_put_count(&out);
    strobe_put(&out, 0x2404ae0f48, 5); /* fxsave64 [rsp] */
    strobe_put(&out, 0xbf48, 2);       /* mov rdi, recorder */
    strobe_put(&out, (uint64_t)recorder, 8);
    strobe_put(&out, 0xbe48, 2); /* mov rsi, leads_to */
    strobe_put(&out, leads_to, 8);
    strobe_put(&out, 0xb848, 2); /* mov rax, strobe_tell_agent; call rax */
    strobe_put(&out, (uint64_t)strobe_tell_agent, 8);
    strobe_put(&out, 0xd0ff, 2);
    strobe_put(&out, 0x240cae0f48, 5); /* fxrstor64 [rsp] */
    strobe_put(&out, 0xb848, 2);       /* mov rax, &control->has_agent */
    strobe_put(&out, (uint64_t)&recorder->control->has_agent, 8);
    strobe_jump_to_here(leaving, &out);
    strobe_put(&out, 0x0448fff0, 4); /* lock dec dword [rax + 4] */
    strobe_put(&out, 0xe48545, 3);   /* test r12d, r12d; jz */
    strobe_put(&out, 0x74, 1);
    unblocked = out.at++;
    strobe_put_mask_change(&out, 1);
    strobe_jump_to_here(unblocked, &out);
    strobe_put_end_of_loader_guard(&out);
    return (uint32_t)(out.at - memory);
}

/*
 * A thread that is in the recorder has a place in recorder->inside: there is the address of a word on its stack, and in
 * that word the address of the place. A jump out of a signal handler leaves the place as it is, but the word is lost as
 * soon as the stack is used again: so it can be told whether the thread is still there (strobe_agent_let_leave). The
 * next call that puts its word at the same address takes the place over.
 *
 * The places are in groups of a cache line, chosen by the address, so that threads seldom meet. A thread that finds a
 * whole group taken is counted in agent_calls, and its word is 0.
 *
 * The word is [rbx - 8]. Changes rax, rcx, rdx and flags; as a locked instruction is in it, what is read next is newer.
 */
void strobe_put_arrival(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    uint8_t *next, *taken, *own;
    strobe_put(out, 0xf8538d48, 4); /* lea rdx, [rbx - 8] */
    strobe_put(out, 0xca6948, 3);   /* imul rcx, rdx, a large odd number */
    strobe_put(out, 0x61c88647, 4);
    strobe_put(out, 0x20e9c148, 4); /* shr rcx, 32 */
    strobe_put(out, 0xe181, 2);     /* and ecx, ...: where a group begins */
    strobe_put(out, STROBE_INSIDE_BYTES - 64, 4);
    strobe_put(out, 0xb848, 2); /* mov rax, inside */
    strobe_put(out, (uint64_t)recorder->inside, 8);
    strobe_put(out, 0xc10148, 3); /* add rcx, rax */
    next = out->at;
    strobe_put(out, 0x0a8948, 3);     /* mov [rdx], rcx: before the place says so */
    strobe_put(out, 0xc031, 2);       /* xor eax, eax */
    strobe_put(out, 0x11b10f48f0, 5); /* lock cmpxchg [rcx], rdx */
    strobe_put(out, 0x74, 1);         /* je: it was free */
    taken = out->at++;
    strobe_put(out, 0xd03948, 3); /* cmp rax, rdx; je: it is of a call that was left, at this address */
    strobe_put(out, 0x74, 1);
    own = out->at++;
    strobe_put(out, 0x08c18348, 4); /* add rcx, 8 */
    strobe_put(out, 0x3fc1f6, 3);   /* test cl, 63; jnz: the next one of the group */
    strobe_put(out, 0x75, 1);
    *out->at = (uint8_t)(next - (out->at + 1));
    out->at++;
    strobe_put(out, 0x02c748, 3); /* mov qword [rdx], 0 */
    strobe_put(out, 0, 4);
    strobe_put(out, 0xb848, 2); /* mov rax, &control->agent_calls; lock inc dword [rax] */
    strobe_put(out, (uint64_t)&recorder->control->agent_calls, 8);
    strobe_put(out, 0x00fff0, 3);
    strobe_jump_to_here(taken, out);
    strobe_jump_to_here(own, out);
}

/* STROBE_DEPARTURE_BYTES. Changes rax, rcx and flags. */
void strobe_put_departure(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    strobe_put(out, 0xf84b8b48, 4); /* mov rcx, [rbx - 8] */
    strobe_put(out, 0xc031, 2);     /* xor eax, eax */
    strobe_put(out, 0xc98548, 3);   /* test rcx, rcx; jz over the next two */
    strobe_put(out, 0x0574, 2);
    strobe_put(out, 0x018948, 3); /* mov [rcx], rax */
    strobe_put(out, 0x0deb, 2);   /* jmp over the next two */
    strobe_put(out, 0xb848, 2);   /* mov rax, &control->agent_calls; lock dec dword [rax] */
    strobe_put(out, (uint64_t)&recorder->control->agent_calls, 8);
    strobe_put(out, 0x08fff0, 3);
}

/* As the function itself goes on: flags, rax, and to where the trampoline does, which lies in the red zone then. */
static void strobe_put_end_of_entry(struct strobe_bytes* out) {
    strobe_put(out, 0x9d, 1);         /* popfq */
    strobe_put(out, 0x0824448b48, 5); /* mov rax, [rsp + 8] */
    strobe_put(out, 0x1024648d48, 5); /* lea rsp, [rsp + 16] */
    strobe_put(out, 0xf02464ff, 4);   /* jmp [rsp - 16] */
}

/* A thread whose call the agent's threads do not bear waits, once it is out of the agent's code, until the host clears
   lone_waits, as the agent has left. edx: how many turns at most, 0 for none; negative: without system calls. Changes
   all registers that the guard has pushed. */
static void strobe_put_departure_wait(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    uint8_t *turn, *none, *gone, *spins, *late;
    strobe_put(out, 0xd285, 2); /* test edx, edx; jz */
    strobe_put(out, 0x74, 1);
    none = out->at++;
    strobe_put(out, 0x68, 1); /* push nanoseconds; push 0 */
    strobe_put(out, STROBE_DEPARTURE_TURN_NS, 4);
    strobe_put(out, 0x006a, 2);
    strobe_put(out, 0xb949, 2); /* mov r9, &control->lone_waits */
    strobe_put(out, (uint64_t)&recorder->control->lone_waits, 8);
    turn = out->at;
    strobe_put(out, 0x00398341, 4); /* cmp dword [r9], 0; je */
    strobe_put(out, 0x74, 1);
    gone = out->at++;
    strobe_put(out, 0xf841c741, 4); /* mov dword [r9 - 8], STROBE_LONE_FILTER */
    strobe_put(out, STROBE_LONE_FILTER, 4);
    strobe_put(out, 0xd285, 2); /* test edx, edx; js */
    strobe_put(out, 0x78, 1);
    spins = out->at++;
    strobe_put(out, 0xe78948, 3); /* mov rdi, rsp; xor esi, esi; mov eax, nanosleep; syscall */
    strobe_put(out, 0xf631, 2);
    strobe_put(out, 0xb8, 1);
    strobe_put(out, STROBE_SYS_NANOSLEEP, 4);
    strobe_put(out, 0x050f, 2);
    strobe_put(out, 0xcaff, 2); /* dec edx; jnz turn */
    strobe_put(out, 0x75, 1);
    *out->at = (uint8_t)(turn - (out->at + 1));
    out->at++;
    strobe_put(out, 0xeb, 1); /* jmp */
    late = out->at++;
    strobe_jump_to_here(spins, out);
    strobe_put(out, 0x90f3, 2); /* pause; dec edx; js turn */
    strobe_put(out, 0xcaff, 2);
    strobe_put(out, 0x78, 1);
    *out->at = (uint8_t)(turn - (out->at + 1));
    out->at++;
    strobe_jump_to_here(gone, out);
    strobe_jump_to_here(late, out);
    strobe_put(out, 0xdc8948, 3); /* mov rsp, rbx */
    strobe_jump_to_here(none, out);
}

/* syscall(seccomp, ...) while the agent leaves, or is about to: gives where the distance of a jump to the wait goes. */
static uint8_t* strobe_put_filter_check(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    uint8_t *other, *gone, *leaves;
    strobe_put(out, 0xff81, 2); /* cmp edi, seccomp; jne */
    strobe_put(out, STROBE_SYS_SECCOMP, 4);
    strobe_put(out, 0x75, 1);
    other = out->at++;
    gone = strobe_put_word_check(out, &recorder->control->lone_waits);
    strobe_put(out, 0xeb, 1); /* jmp */
    leaves = out->at++;
    strobe_jump_to_here(other, out);
    strobe_jump_to_here(gone, out);
    return leaves;
}

/* Where the trampolines of the portable form lead (trampolines.c), with the program's rax pushed and the place where
   the trampoline goes on in rax, 18 bytes before which is the function's number. Calls `enter`, a
   strobe_enter_function, and goes on there with all registers and flags as they were; vector registers and what lies on
   the stack are not touched. `waits`: it gives for how many turns the thread is to wait. How many bytes. */
uint32_t strobe_entry_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t enter, int waits) {
    struct strobe_bytes out;
    uint8_t *child, *agent, *leaving, *over, *leaves = NULL;
    out.at = memory;
    strobe_put(&out, 0x9c50, 2); /* push rax, pushfq */
    child = strobe_put_agent_check(&out, recorder);
    strobe_put(&out, 0xeb, 1); /* jmp */
    agent = out.at++;
    strobe_jump_to_here(child, &out);
    if (waits) leaves = strobe_put_filter_check(&out, recorder);
    strobe_put_end_of_entry(&out);
    strobe_jump_to_here(agent, &out);
    if (waits) strobe_jump_to_here(leaves, &out);
    strobe_put(&out, 0x53415241, 4); /* push r10, r11 */
    strobe_put(&out, 0x53, 1);       /* push rbx */
    strobe_put(&out, 0x50415141, 4); /* push r9, r8 */
    strobe_put(&out, 0x57565251, 4); /* push rcx, rdx, rsi, rdi: the first arguments lie in order now */
    strobe_put(&out, 0xe38948, 3);   /* mov rbx, rsp; [rbx + 80] = where to go on, [rbx + 96] = return address */
    strobe_put_arrival(&out, recorder);
    leaving = strobe_put_agent_check(&out, recorder);
    strobe_put(&out, 0x50438b48, 4); /* mov rax, [rbx + 80] */
    strobe_put(&out, 0xee708b, 3);   /* mov esi, [rax - 18]: the function's number */
    strobe_put(&out, 0x60538d48, 4); /* lea rdx, [rbx + 96]: slot */
    strobe_put(&out, 0xd98948, 3);   /* mov rcx, rbx: registers */
    strobe_put(&out, 0xc03145, 3);   /* xor r8d, r8d: the stub is not to go on anywhere */
    strobe_put(&out, 0xbf48, 2);     /* mov rdi, recorder */
    strobe_put(&out, (uint64_t)recorder, 8);
    strobe_put(&out, 0xf8638d48, 4); /* lea rsp, [rbx - 8] */
    strobe_put(&out, 0xf0e48348, 4); /* and rsp, -16 */
    strobe_put(&out, 0xb848, 2);     /* mov rax, enter */
    strobe_put(&out, enter, 8);
    strobe_put(&out, 0xd0ff, 2);   /* call rax */
    strobe_put(&out, 0xdc8948, 3); /* mov rsp, rbx */
    strobe_put(&out, 0xc289, 2);   /* mov edx, eax; jmp over what follows */
    strobe_put(&out, 0xeb, 1);
    over = out.at++;
    strobe_jump_to_here(leaving, &out);
    strobe_put(&out, 0xd231, 2); /* xor edx, edx; cmp dword [rbx], seccomp; jne over the next one */
    strobe_put(&out, 0x3b81, 2);
    strobe_put(&out, STROBE_SYS_SECCOMP, 4);
    strobe_put(&out, 0x0575, 2);
    strobe_put(&out, 0xba, 1); /* mov edx, turns */
    strobe_put(&out, STROBE_DEPARTURE_SPINS, 4);
    strobe_jump_to_here(over, &out);
    strobe_put_departure(&out, recorder);
    if (waits) strobe_put_departure_wait(&out, recorder);
    strobe_put(&out, 0x595a5e5f, 4); /* pop rdi, rsi, rdx, rcx */
    strobe_put(&out, 0x59415841, 4); /* pop r8, r9 */
    strobe_put(&out, 0x5b, 1);       /* pop rbx */
    strobe_put(&out, 0x5a415b41, 4); /* pop r11, r10 */
    strobe_put_end_of_entry(&out);
    return (uint32_t)(out.at - memory);
}
