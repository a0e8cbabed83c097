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

/* Calls the function at `leads_to`, or returns at once. No register is changed: the dynamic linker knows that the
   function which Frida has hooked changes none. Meanwhile control->loading_thread is this thread; before, it may have
   been as well, as the agent loads libraries of its own there. */
uint32_t strobe_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to) {
    struct strobe_bytes out;
    uint8_t *child, *leaving, *distance;
    out.at = memory;
    strobe_put(&out, 0xf824648d48, 5); /* lea rsp, [rsp - 8]: where loading_thread is kept */
    strobe_put(&out, 0x509c, 2);       /* pushfq, push rax */
    child = strobe_put_agent_check(&out, recorder);
    leaving = strobe_put_count(&out);
    strobe_put(&out, 0x51, 1);         /* push rcx */
    strobe_put(&out, 0x250c8b4864, 9); /* mov rcx, fs:[0] */
    strobe_put(&out, 0x0c488748, 4);   /* xchg [rax + 12], rcx */
    strobe_put(&out, 0x18244c8948, 5); /* mov [rsp + 24], rcx */
    strobe_put(&out, 0x9d5859, 3);     /* pop rcx, pop rax, popfq */
    strobe_put(&out, 0x15ff, 2);       /* call [the address at the end] */
    distance = out.at;
    out.at += 4;
    strobe_put(&out, 0x51509c, 3); /* pushfq, push rax, push rcx */
    strobe_put(&out, 0xb848, 2);   /* mov rax, &control->has_agent */
    strobe_put(&out, (uint64_t)&recorder->control->has_agent, 8);
    strobe_put(&out, 0x18244c8b48, 5); /* mov rcx, [rsp + 24] */
    strobe_put(&out, 0x250c3b4864,
               9);                   /* cmp rcx, fs:[0]; je over the next: never another thread, which may have left */
    strobe_put(&out, 0xc9310274, 4); /* xor ecx, ecx */
    strobe_put(&out, 0x0c488948, 4); /* mov [rax + 12], rcx */
    strobe_put(&out, 0x59, 1);       /* pop rcx */
    strobe_jump_to_here(leaving, &out);
    strobe_put(&out, 0x0448fff0, 4); /* lock dec dword [rax + 4] */
    strobe_jump_to_here(child, &out);
    strobe_put(&out, 0xc30824648d489d58, 8); /* pop rax, popfq, lea rsp, [rsp + 8], ret */
    *distance = (uint8_t)(out.at - (distance + 4));
    distance[1] = distance[2] = distance[3] = 0;
    strobe_put(&out, leads_to, 8);
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

/* Where the trampolines of the portable form lead (trampolines.c), with the program's rax pushed and the place where
   the trampoline goes on in rax, 18 bytes before which is the function's number. Calls `enter`, a
   strobe_enter_function, and goes on there with all registers and flags as they were; vector registers and what lies on
   the stack are not touched. How many bytes. */
uint32_t strobe_entry_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t enter) {
    struct strobe_bytes out;
    uint8_t *child, *agent, *leaving;
    out.at = memory;
    strobe_put(&out, 0x9c50, 2); /* push rax, pushfq */
    child = strobe_put_agent_check(&out, recorder);
    strobe_put(&out, 0xeb, 1); /* jmp */
    agent = out.at++;
    strobe_jump_to_here(child, &out);
    strobe_put_end_of_entry(&out);
    strobe_jump_to_here(agent, &out);
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
    strobe_jump_to_here(leaving, &out);
    strobe_put_departure(&out, recorder);
    strobe_put(&out, 0x595a5e5f, 4); /* pop rdi, rsi, rdx, rcx */
    strobe_put(&out, 0x59415841, 4); /* pop r8, r9 */
    strobe_put(&out, 0x5b, 1);       /* pop rbx */
    strobe_put(&out, 0x5a415b41, 4); /* pop r11, r10 */
    strobe_put_end_of_entry(&out);
    return (uint32_t)(out.at - memory);
}
