#ifndef STROBE_RECORDER_PROBE_H
#define STROBE_RECORDER_PROBE_H

#include <gum/guminterceptor.h>

#define STROBE_PROBE_REGISTERS 6
#define STROBE_PROBE_FIRST_ARGUMENT offsetof(GumCpuContext, rdi)

/* On the stack lie the flags, where the trampoline goes on, rax, and the return address (guards.c). 18 bytes before
   where it goes on is the function's number. */
static inline uint32_t strobe_probe_function(GumInvocationContext* context) {
    return *(const uint32_t*)(((const uint64_t*)context->cpu_context->rsp)[1] - 18);
}

/* Copies the argument registers in the order of STROBE_SOURCE_*; gives the place of the return address. */
static inline uint64_t* strobe_probe_read(const GumCpuContext* cpu, uint64_t* registers) {
    registers[0] = cpu->rdi;
    registers[1] = cpu->rsi;
    registers[2] = cpu->rdx;
    registers[3] = cpu->rcx;
    registers[4] = cpu->r8;
    registers[5] = cpu->r9;
    return (uint64_t*)cpu->rsp + 3;
}

#endif
