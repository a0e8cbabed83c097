/*
 * The portable form: the recorder behind Frida's Interceptor, compiled by TinyCC as a CModule.
 *
 * Probes only (one function pointer): any form of Interceptor hook that catches the return ends the program at the
 * first C++ exception that passes, so returns go through the recorder's own stubs.
 */
#include <gum/guminterceptor.h>

#include "recorder.h"

void strobe_on_enter(GumInvocationContext* context) {
    GumCpuContext* cpu = context->cpu_context;
    uint64_t registers[STROBE_REGISTERS];
    registers[0] = cpu->rdi;
    registers[1] = cpu->rsi;
    registers[2] = cpu->rdx;
    registers[3] = cpu->rcx;
    registers[4] = cpu->r8;
    registers[5] = cpu->r9;
    strobe_enter(&strobe_recorder, (uint32_t)(size_t)gum_invocation_context_get_listener_function_data(context),
                 (uint64_t*)cpu->rsp, registers, 0);
}

/* Where a probe finds the first argument: the offset of the CPU context in the low half, of rdi in that in the high
 * one. */
uint32_t strobe_agent_probe_offsets(void) {
    return (uint32_t)(offsetof(GumInvocationContext, cpu_context) | (offsetof(GumCpuContext, rdi) << 16));
}
