/*
 * The two places in libraries of the process that are changed whatever is traced, as machine code written at run time:
 * `_exit`, and the function that the dynamic linker calls when libraries come and go, which Frida's agent has hooked.
 * A child gets both places by fork, but no agent: its threads are not there, and their locks stay taken. What is
 * written here looks at the control page first, which the kernel clears in a child, and is done there without the
 * agent. It outlives the script.
 */
#include "machine_code.h"

/* mov rax, &control->has_agent; cmp dword [rax], 0; je. Gives where the jump's distance goes. */
static uint8_t* strobe_put_agent_check(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    strobe_put(out, 0xb848, 2);
    strobe_put(out, (uint64_t)&recorder->control->has_agent, 8);
    strobe_put(out, 0x003883, 3);
    strobe_put(out, 0x74, 1);
    return out->at++;
}

static void strobe_jump_to_here(uint8_t* distance, const struct strobe_bytes* out) {
    *distance = (uint8_t)(out->at - (distance + 1));
}

/* What `_exit` does, after a note of its argument for the host, which also says that the recorder was on until
   then. Not of a child of vfork, which shares the memory and has another process id, as far as it may be asked for. */
uint32_t strobe_exit_routine_write(struct strobe_recorder* recorder, uint8_t* memory) {
    struct strobe_bytes out;
    uint8_t *child, *other, *unasked;
    out.at = memory;
    child = strobe_put_agent_check(&out, recorder);
    strobe_put(&out, 0xb848, 2); /* mov rax, &may_call_kernel; cmp dword [rax], 0; je */
    strobe_put(&out, (uint64_t)&recorder->may_call_kernel, 8);
    strobe_put(&out, 0x003883, 3);
    strobe_put(&out, 0x74, 1);
    unasked = out.at++;
    strobe_put(&out, 0xb8, 1); /* mov eax, getpid */
    strobe_put(&out, STROBE_SYS_GETPID, 4);
    strobe_put(&out, 0x050f, 2); /* syscall */
    strobe_put(&out, 0x3d, 1);   /* cmp eax, pid; jne */
    strobe_put(&out, recorder->pid, 4);
    strobe_put(&out, 0x75, 1);
    other = out.at++;
    strobe_jump_to_here(unasked, &out);
    strobe_put(&out, 0xb848, 2); /* mov rax, &header->exit_code */
    strobe_put(&out, (uint64_t)&recorder->header->exit_code, 8);
    strobe_put(&out, 0x3889, 2); /* mov [rax], edi */
    strobe_put(&out, 0xb848, 2); /* mov rax, &header->exit_state */
    strobe_put(&out, (uint64_t)&recorder->header->exit_state, 8);
    strobe_put(&out, 0x00c7, 2); /* mov dword [rax], STROBE_EXIT_CALLED */
    strobe_put(&out, STROBE_EXIT_CALLED, 4);
    strobe_jump_to_here(child, &out);
    strobe_jump_to_here(other, &out);
    strobe_put(&out, 0xb8, 1); /* mov eax, exit_group */
    strobe_put(&out, STROBE_SYS_EXIT_GROUP, 4);
    strobe_put(&out, 0x050f, 2); /* syscall */
    strobe_put(&out, 0xf4, 1);   /* hlt: as the C library's own, if a filter of system calls lets it go on */
    return (uint32_t)(out.at - memory);
}

/* In front of Frida's hook, which it calls and counts the threads in, for an agent that goes while a thread is there
   takes the code away under it; in a child, and when the agent is about to go, it returns, as the function without a
   hook does. No register is changed: the linker knows that the function changes none. */
uint32_t strobe_loader_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to) {
    struct strobe_bytes out;
    uint8_t *child, *leaving, *distance;
    out.at = memory;
    strobe_put(&out, 0x509c, 2); /* pushfq, push rax */
    child = strobe_put_agent_check(&out, recorder);
    strobe_put(&out, 0x0440fff0, 4); /* lock inc dword [rax + 4] */
    strobe_put(&out, 0x003883, 3);   /* cmp dword [rax], 0: once more, for who waits for the count to be 0; je */
    strobe_put(&out, 0x74, 1);
    leaving = out.at++;
    strobe_put(&out, 0x9d58, 2);       /* pop rax, popfq */
    strobe_put(&out, 0xf824648d48, 5); /* lea rsp, [rsp - 8] */
    strobe_put(&out, 0x15ff, 2);       /* call [the address at the end] */
    distance = out.at;
    out.at += 4;
    strobe_put(&out, 0x0824648d48, 5); /* lea rsp, [rsp + 8] */
    strobe_put(&out, 0x509c, 2);       /* pushfq, push rax */
    strobe_put(&out, 0xb848, 2);       /* mov rax, &control->has_agent */
    strobe_put(&out, (uint64_t)&recorder->control->has_agent, 8);
    strobe_jump_to_here(leaving, &out);
    strobe_put(&out, 0x0448fff0, 4); /* lock dec dword [rax + 4] */
    strobe_jump_to_here(child, &out);
    strobe_put(&out, 0xc39d58, 3); /* pop rax, popfq, ret */
    *distance = (uint8_t)(out.at - (distance + 4));
    distance[1] = distance[2] = distance[3] = 0;
    strobe_put(&out, leads_to, 8);
    return (uint32_t)(out.at - memory);
}

void* strobe_exit_probe_write(struct strobe_recorder* recorder, uint32_t cpu_offset, uint32_t rdi_offset) {
    (void)recorder;
    (void)cpu_offset;
    (void)rdi_offset;
    return NULL;
}
