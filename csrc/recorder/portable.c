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
    return strobe_entry_guard_write(&strobe_recorder, memory, (uint64_t)strobe_enter, 0);
}

/* What the portable form observes of the C library, whatever is traced: what filters system calls, gives up the clock
   or fills pages itself (restrictions.c), what locks all memory (mappings.c), the loader's functions that ask whose
   code calls them, and those that are given where a call comes from. */
enum strobe_portable_observed {
    STROBE_OBSERVED_PRCTL,
    STROBE_OBSERVED_SYSCALL,
    STROBE_OBSERVED_MLOCKALL,
    STROBE_OBSERVED_DLADDR,
    STROBE_OBSERVED_DLADDR1,
    STROBE_OBSERVED_FUNCTION_ENTER, /* of the program: -finstrument-functions */
    STROBE_OBSERVED_FUNCTION_EXIT,
    STROBE_OBSERVED_CALLERS, /* and all from here on */
    STROBE_OBSERVED = STROBE_OBSERVED_CALLERS + 4
};

/* NULL where there are no more. */
const char* strobe_portable_observed_name(uint32_t number) {
    static const char* const names[STROBE_OBSERVED] = {
        "prctl", "syscall", "mlockall", "dladdr", "dladdr1", "__cyg_profile_func_enter", "__cyg_profile_func_exit",
        "dlsym", "dlvsym",  "dlopen",   "dlmopen"};
    return number < STROBE_OBSERVED ? names[number] : NULL;
}

#define STROBE_DEPARTURE_TURNS 6000u

/* Not here: this code goes with the agent, and nothing is recorded from then on. The guard waits. */
void strobe_await_departure(struct strobe_recorder* recorder) { recorder->control->lone_call = STROBE_LONE_FILTER; }

/* For how many turns the guard is to wait. */
static uint64_t strobe_observe_seccomp_call(struct strobe_recorder* recorder, const uint64_t* registers) {
    uint64_t turns = recorder->may_call_kernel ? STROBE_DEPARTURE_TURNS : STROBE_DEPARTURE_SPINS;
    strobe_observe_seccomp((uint32_t)registers[1], (uint32_t)registers[2], registers[3]);
    return recorder->control->lone_call == STROBE_LONE_FILTER ? turns : 0;
}

/* A strobe_enter_function. syscall(number, ...) has a system call's arguments one register further. */
static uint64_t strobe_portable_observe(struct strobe_recorder* recorder, uint32_t function, uint64_t* slot,
                                        const uint64_t* registers, uint64_t resume) {
    (void)resume;
    if (function == STROBE_OBSERVED_PRCTL) {
        strobe_observe_prctl((uint32_t)registers[0], registers[1], registers[2]);
    } else if (function == STROBE_OBSERVED_MLOCKALL) {
        strobe_observe_mlockall(recorder, (uint64_t*)&registers[0]); /* the guard puts them back from there */
    } else if (function == STROBE_OBSERVED_DLADDR || function == STROBE_OBSERVED_DLADDR1) {
        ((uint64_t*)registers)[0] = strobe_call_site(recorder, registers[0]);
    } else if (function == STROBE_OBSERVED_FUNCTION_ENTER || function == STROBE_OBSERVED_FUNCTION_EXIT) {
        ((uint64_t*)registers)[1] = strobe_call_site(recorder, registers[1]);
    } else if (function >= STROBE_OBSERVED_CALLERS) {
        strobe_caller_restore(recorder, (uint64_t)slot);
    } else if (registers[0] == STROBE_SYS_PRCTL) {
        strobe_observe_prctl((uint32_t)registers[1], registers[2], registers[3]);
    } else if (registers[0] == STROBE_SYS_SECCOMP) {
        return strobe_observe_seccomp_call(recorder, registers);
    } else if (registers[0] == STROBE_SYS_MLOCKALL) {
        strobe_observe_mlockall(recorder, (uint64_t*)&registers[1]);
    } else if (registers[0] == STROBE_SYS_USERFAULTFD) {
        strobe_observe_userfaultfd();
    }
    return 0;
}

/* As strobe_agent_entry_guard, for the trampolines of these. */
uint32_t strobe_portable_observe_guard(uint8_t* memory) {
    return strobe_entry_guard_write(&strobe_recorder, memory, (uint64_t)strobe_portable_observe, 1);
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
    strobe_vectors_reset();
    result = script(number, registers, slot, out);
    strobe_vectors_restore(area);
    return result;
}

static void strobe_unmap(void* start, uint64_t bytes) {
    if (bytes != 0) strobe_syscall(STROBE_SYS_MUNMAP, (int64_t)start, (int64_t)bytes, 0, 0, 0, 0);
}

/* All whole pages from `start` on. */
static void strobe_unmap_rest(void* start, void* end) {
    uint64_t first = ((uint64_t)start + 4095) & ~(uint64_t)4095;
    if ((uint64_t)end > first) strobe_unmap((void*)first, (uint64_t)end - first);
}

/* No thread is in the recorder's code, nor will be: what that alone reads goes, which the next agent maps anew. What
   threads of the program may still come to stays: the machine code that was written with what it reads, the segment's
   header, and the states that were in use with their stubs and frames. The next agent's thread key may have the same
   number, and then a thread still finds its old state there. */
void strobe_agent_release(void) {
    struct strobe_recorder* recorder = &strobe_recorder;
    uint64_t used = (uint64_t)recorder->states_used * STROBE_FRAMES;
    uint64_t all = (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES;
    strobe_own_stack_release(recorder);
    strobe_states_retire(recorder); /* also one that was begun when the others were */
    if (recorder->segment_bytes > STROBE_HEADER_BYTES)
        strobe_unmap((uint8_t*)recorder->header + STROBE_HEADER_BYTES, recorder->segment_bytes - STROBE_HEADER_BYTES);
    strobe_unmap(recorder->stubs + used * STROBE_STUB_BYTES, (all - used) * STROBE_STUB_BYTES);
    strobe_unmap_rest(recorder->frames + used, recorder->frames + all);
    strobe_unmap_rest(recorder->states + recorder->states_used, recorder->states + STROBE_THREAD_STATES);
    strobe_unmap(recorder->threads_of_states, (uint64_t)STROBE_THREAD_STATES * sizeof *recorder->threads_of_states);
    strobe_unmap(recorder->captures, (uint64_t)STROBE_CAPTURE_CAPACITY * sizeof *recorder->captures);
    strobe_unmap(recorder->watches, (uint64_t)STROBE_EXTRAS * sizeof *recorder->watches);
    strobe_unmap(recorder->recipes, (uint64_t)STROBE_EXTRAS * sizeof *recorder->recipes);
    strobe_unmap(recorder->recipe_steps, (uint64_t)STROBE_RECIPE_STEPS * sizeof *recorder->recipe_steps);
    strobe_unmap(recorder->extras, (uint64_t)STROBE_EXTRAS * sizeof *recorder->extras);
    strobe_unmap(recorder->kept, (uint64_t)STROBE_THREAD_STATES * STROBE_KEPT_SLOTS * sizeof *recorder->kept);
    strobe_unmap(recorder->extras_of, (uint64_t)STROBE_FUNCTION_CAPACITY * sizeof *recorder->extras_of);
    strobe_unmap(recorder->jumps, (uint64_t)STROBE_JUMPS * sizeof *recorder->jumps);
    strobe_unmap(recorder->traps, (uint64_t)STROBE_TRAPS * sizeof *recorder->traps);
    strobe_unmap(recorder->probes, (uint64_t)STROBE_FUNCTION_CAPACITY * sizeof *recorder->probes);
    strobe_unmap(recorder->site_ranges, (uint64_t)STROBE_SITE_RANGES * sizeof *recorder->site_ranges);
    strobe_unmap(recorder->limits, (uint64_t)STROBE_FUNCTION_CAPACITY * sizeof *recorder->limits);
}
