/*
 * The portable form: the recorder behind Frida's Interceptor, compiled by TinyCC as a CModule.
 *
 * Probes only (one function pointer): any form of Interceptor hook that catches the return ends the program at the
 * first C++ exception that passes, so returns go through the recorder's own stubs.
 */
#include <gum/guminterceptor.h>

#include "recorder.h"

extern struct strobe_recorder strobe_recorder; /* memory that outlives the script; bound by the agent */

void strobe_on_enter(GumInvocationContext* context) {
    GumCpuContext* cpu = context->cpu_context;
    uint64_t registers[STROBE_MAX_ARGUMENTS];
    registers[0] = cpu->rdi;
    registers[1] = cpu->rsi;
    registers[2] = cpu->rdx;
    registers[3] = cpu->rcx;
    registers[4] = cpu->r8;
    registers[5] = cpu->r9;
    strobe_enter(&strobe_recorder, (uint32_t)(size_t)gum_invocation_context_get_listener_function_data(context),
                 (uint64_t*)cpu->rsp, registers);
}

void strobe_on_thread_end(void* state) { strobe_thread_end(&strobe_recorder, (struct strobe_thread_state*)state); }

/* what the agent calls */

STROBE_STATIC_ASSERT(sizeof(struct strobe_recorder) <= 4096, "the agent maps one page for it");

int64_t strobe_agent_init(uint8_t* segment, void* get_specific, void* set_specific, uint64_t main_stack_address) {
    strobe_recorder.get_specific = (void* (*)(uint32_t))get_specific;
    strobe_recorder.set_specific = (int (*)(uint32_t, const void*))set_specific;
    strobe_recorder.main_stack_address = main_stack_address;
    return strobe_recorder_init(&strobe_recorder, segment);
}

void strobe_agent_set_thread_key(uint32_t key) { strobe_recorder.thread_key = key; }

/* The probe for _exit: the kernel does not tell a program's exit status to anybody but its parent. */
void* strobe_agent_exit_probe(void) {
    return strobe_exit_probe_write(&strobe_recorder, offsetof(GumInvocationContext, cpu_context),
                                   offsetof(GumCpuContext, rdi));
}

void* strobe_agent_unwind_table(void) { return strobe_recorder.unwind_table; }

int strobe_agent_catches_returns(void) { return (int)strobe_recorder.catch_returns; }

void strobe_agent_end(void) { strobe_recorder_end(&strobe_recorder); }

/* `plans`: count times struct strobe_function_plan; `functions`: their ids. */
void strobe_agent_set_plans(uint32_t count, const uint32_t* functions, const struct strobe_function_plan* plans) {
    uint32_t index;
    for (index = 0; index < count; index++)
        if (functions[index] < STROBE_FUNCTION_CAPACITY) strobe_recorder.plans[functions[index]] = plans[index];
}

/* Writes one aligned-enough word of code: 8 bytes at once where they do not cross a cache line, so that no other CPU
   can fetch half of a jump. The page must be writable. */
void strobe_agent_write_code(uint8_t* address, const uint8_t* bytes, uint32_t count) {
    uint32_t index;
    uint64_t word;
    if (((uint64_t)address & 63) <= 56 && count <= 8) {
        word = *(uint64_t*)address;
        for (index = 0; index < count; index++) ((uint8_t*)&word)[index] = bytes[index];
        *(volatile uint64_t*)address = word;
        return;
    }
    for (index = count; index-- > 0;) ((volatile uint8_t*)address)[index] = bytes[index]; /* first byte last */
}
