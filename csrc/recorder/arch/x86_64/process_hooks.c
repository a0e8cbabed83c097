/*
 * `_exit`, which is changed whatever is traced, as machine code written at run time. A child gets it by fork, but no
 * agent. So it looks at the control page first, which the kernel clears in a child. It outlives the script.
 */
#include "machine_code.h"

/* What `_exit` does, after a note of its argument for the host, which also says that the recorder was on until
   then. Not of a child of vfork, which shares the memory and has another process id, as far as it may be asked for: in
   its control block there is the parent's. */
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

void* strobe_exit_probe_write(struct strobe_recorder* recorder, uint32_t cpu_offset, uint32_t rdi_offset) {
    (void)recorder;
    (void)cpu_offset;
    (void)rdi_offset;
    return NULL;
}
