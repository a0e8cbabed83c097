/*
 * What stands in front of code that goes with the agent, wherever threads of the program come to it: machine code
 * written at run time, which outlives the agent. It counts the threads behind it, because an agent that goes while a
 * thread is there takes the code away under it, and lets none in once the agent is about to go. Nor in a forked child,
 * where the agent's threads are not there, and their locks stay taken: the kernel clears the control page in it.
 */
#include "machine_code.h"

/* lock inc dword [rax + 4]; cmp dword [rax], 0: once more, for who waits for the count to be 0; je. Gives where the
   jump's distance goes. */
static uint8_t* strobe_put_arrival(struct strobe_bytes* out) {
    strobe_put(out, 0x0440fff0, 4);
    strobe_put(out, 0x003883, 3);
    strobe_put(out, 0x74, 1);
    return out->at++;
}

/* Calls the function at `leads_to`, or returns at once. No register is changed: the dynamic linker knows that the
   function which Frida has hooked changes none. */
uint32_t strobe_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to) {
    struct strobe_bytes out;
    uint8_t *child, *leaving, *distance;
    out.at = memory;
    strobe_put(&out, 0x509c, 2); /* pushfq, push rax */
    child = strobe_put_agent_check(&out, recorder);
    leaving = strobe_put_arrival(&out);
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

/* Where the trampolines of the portable form lead (trampolines.c), with the program's rax pushed and the place where
   the trampoline goes on in rax, for which flags and rax are as they were. In between Interceptor calls
   strobe_on_enter, from the instructions at the address that is given: a jump of Interceptor's goes over them (probe.h:
   what lies on the stack there). */
uint8_t* strobe_probe_guard_write(struct strobe_recorder* recorder, uint8_t* memory) {
    struct strobe_bytes out;
    uint8_t *child, *leaving, *probe;
    uint32_t index;
    out.at = memory;
    strobe_put(&out, 0x9c50, 2); /* push rax, pushfq */
    child = strobe_put_agent_check(&out, recorder);
    leaving = strobe_put_arrival(&out);
    probe = out.at;
    for (index = 0; index < 4; index++) strobe_put(&out, 0x0000441f0f, 5); /* nop, as long as Interceptor's jump */
    strobe_put(&out, 0xb848, 2);                                           /* mov rax, &control->has_agent */
    strobe_put(&out, (uint64_t)&recorder->control->has_agent, 8);
    strobe_jump_to_here(leaving, &out);
    strobe_put(&out, 0x0448fff0, 4); /* lock dec dword [rax + 4] */
    strobe_jump_to_here(child, &out);
    strobe_put(&out, 0x9d, 1);         /* popfq */
    strobe_put(&out, 0x0824448b48, 5); /* mov rax, [rsp + 8] */
    strobe_put(&out, 0x1024648d48, 5); /* lea rsp, [rsp + 16] */
    strobe_put(&out, 0xf02464ff, 4);   /* jmp [rsp - 16] */
    return probe;
}
