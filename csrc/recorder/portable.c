/*
 * The portable form: the recorder compiled by TinyCC as a CModule. Trampolines of our own lead to a guard that calls
 * it; where there are none for the CPU, it is behind Frida's Interceptor.
 *
 * Probes only (one function pointer): any form of Interceptor hook that catches the return ends the program at the
 * first C++ exception that passes, so returns go through the recorder's own stubs.
 */
#include "arch/probe.h"
#include "recorder.h"

#ifdef STROBE_PROBE_REGISTERS
void strobe_on_enter(GumInvocationContext* context) {
    uint64_t registers[STROBE_PROBE_REGISTERS];
    uint64_t* slot = strobe_probe_read(context->cpu_context, registers);
    strobe_enter(&strobe_recorder, (uint32_t)(size_t)gum_invocation_context_get_listener_function_data(context), slot,
                 registers, 0);
}
#endif

/* It may allocate where the value does not lie in the thread's own block. AVX's upper halves are not kept. */
static int strobe_set_specific_keeping_vectors(uint32_t key, const void* value) {
    uint8_t memory[512 + 16];
    uint8_t* area = (uint8_t*)(((uint64_t)memory + 15) & ~(uint64_t)15);
    int result;
    if (strobe_recorder.thread_slot != 0) return strobe_recorder.plain_set_specific(key, value);
    strobe_vectors_save(area);
    result = strobe_recorder.plain_set_specific(key, value);
    strobe_vectors_restore(area);
    return result;
}

/* Where the trampolines are to lead; how many bytes it takes, 0 where the CPU has none. */
uint32_t strobe_agent_entry_guard(uint8_t* memory) {
    strobe_recorder.plain_set_specific = strobe_recorder.set_specific;
    strobe_recorder.set_specific = strobe_set_specific_keeping_vectors;
    return strobe_entry_guard_write(&strobe_recorder, memory, (uint64_t)strobe_enter);
}

/* Where a probe finds the first argument: the offset of the CPU context in the low half, of the argument's register in
   that in the high one. */
uint32_t strobe_agent_probe_offsets(void) {
    return (uint32_t)(offsetof(GumInvocationContext, cpu_context) | (STROBE_PROBE_FIRST_ARGUMENT << 16));
}

/* AVX's upper halves are not kept here either. */
uint64_t strobe_call_script(strobe_script_function* script, uint64_t number, const uint64_t* registers,
                            const uint64_t* slot, void* out) {
    uint8_t memory[512 + 16];
    uint8_t* area = (uint8_t*)(((uint64_t)memory + 15) & ~(uint64_t)15);
    uint64_t result;
    strobe_vectors_save(area);
    result = script(number, registers, slot, out);
    strobe_vectors_restore(area);
    return result;
}
