#ifndef STROBE_RECORDER_PROBE_H
#define STROBE_RECORDER_PROBE_H

#include <gum/guminterceptor.h>

#define STROBE_PROBE_REGISTERS 8
#define STROBE_PROBE_FIRST_ARGUMENT offsetof(GumCpuContext, x)

/* Copies x0 to x7. The return address is in x30 and not in memory; the place given lies below the stack's words, where
   the recorder counts them from, and is itself neither read nor written, as returns are not caught (stubs.c). */
static inline uint64_t* strobe_probe_read(const GumCpuContext* cpu, uint64_t* registers) {
    uint32_t index;
    for (index = 0; index < STROBE_PROBE_REGISTERS; index++) registers[index] = cpu->x[index];
    return (uint64_t*)cpu->sp - 1;
}

#endif
