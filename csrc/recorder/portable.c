/*
 * The portable form: the recorder behind Frida's Interceptor, compiled by TinyCC as a CModule.
 *
 * Probes only (one function pointer): any form of Interceptor hook that catches the return ends the program at the
 * first C++ exception that passes, so returns go through the recorder's own stubs.
 */
#include "arch/probe.h"
#include "recorder.h"

void strobe_on_enter(GumInvocationContext* context) {
    uint64_t registers[STROBE_PROBE_REGISTERS];
    uint64_t* slot = strobe_probe_read(context->cpu_context, registers);
    strobe_enter(&strobe_recorder, strobe_probe_function(context), slot, registers, 0);
}

/* Where Interceptor is to attach. */
void* strobe_agent_probe_guard(uint8_t* memory) { return strobe_probe_guard_write(&strobe_recorder, memory); }

/* Where a probe finds the first argument: the offset of the CPU context in the low half, of the argument's register in
   that in the high one. */
uint32_t strobe_agent_probe_offsets(void) {
    return (uint32_t)(offsetof(GumInvocationContext, cpu_context) | (STROBE_PROBE_FIRST_ARGUMENT << 16));
}

/* AVX's upper halves are not kept here. */
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
