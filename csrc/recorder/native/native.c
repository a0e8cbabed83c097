/*
 * The native form: the same recorder as a shared library, which the agent loads into the target. Functions jump to
 * trampolines of our own (arch/x86_64/trampolines.c), and these call strobe_native_enter.
 *
 * One unit, so that the compiler can inline across the files. It must not touch vector registers, as the traced
 * function's arguments may lie in them: it is compiled with -mgeneral-regs-only, and needs no libc.
 */
#define STROBE_CATCHES_FAULTS 1

// clang-format off: the loads that everything below makes come first
// clang-format on

#include "../../recipe/columns.c"
#include "../../recipe/doubles.c"
#include "../../recipe/loops.c"
#include "../../recipe/numbers.c"
#include "../../recipe/recipe.c"
#include "../../recipe/scans.c"
#include "../../recipe/sweeps.c"
#include "../../recipe/texts.c"
#include "../agent.c"
#include "../callers.c"
#include "../calls.c"
#include "../capture.c"
#include "../chunks.c"
#include "../entries.c"
#include "../extras.c"
#include "../limits.c"
#include "../mappings.c"
#include "../memory.c"
#include "../own_stacks.c"
#include "../quick.c"
#include "../restrictions.c"
#include "../returns.c"
#include "../stack.c"
#include "../threads.c"
#include "../totals.c"
#include "core_dump.c"
#include "crash.c"
#include "faults.c"
#include "fork.c"
#include "observed.c"
#include "plain_calls.c"
#include "vectors.h"
#include "x86_64/backtrace.c"
#include "x86_64/leave_trampoline.c"

// those before are inlined here
#include "fault_entry.c"
#include "rich_calls.c"

struct strobe_recorder strobe_recorder __attribute__((aligned(4096), visibility("hidden")));

strobe_enter_function* strobe_native_enter_function __attribute__((visibility("hidden"))) = strobe_enter;

static int (*strobe_real_set_specific)(uint32_t key, const void* value);

/* Where the value lies in the thread's own block, it is stored without vector registers: a thread's first event may be
   on an alternate stack of 4 KB, on which there is no room for all of them. */
static int strobe_set_specific_keeping_vectors(uint32_t key, const void* value) {
    if (strobe_recorder.thread_slot != 0) return strobe_real_set_specific(key, value);
    strobe_call_keeping_vectors(key, (uint64_t)value, 0, 0, (void*)strobe_real_set_specific);
    return 0;
}

uint64_t strobe_call_script(strobe_script_function* script, uint64_t number, const uint64_t* registers,
                            const uint64_t* slot, void* out) {
    return strobe_call_keeping_vectors(number, (uint64_t)registers, (uint64_t)slot, (uint64_t)out, (void*)script);
}

static int strobe_is_plain_recorder(const struct strobe_recorder* recorder) {
    return recorder->thread_slot != 0 && recorder->clock_kind == STROBE_CLOCK_TSC && recorder->catch_returns;
}

/* Gives what trampolines of probed instructions call. */
void* strobe_native_sites(void) { return (void*)strobe_native_site; }

/* After strobe_agent_init. Gives what trampolines jump to. */
void* strobe_native_begin(void) {
    if (strobe_is_plain_recorder(&strobe_recorder)) {
        strobe_native_enter_function = strobe_enter_plain;
        strobe_recorder.exit_function = (uint64_t)strobe_exit_plain;
        strobe_recorder.control->exit_handler = strobe_recorder.exit_function;
    }
    strobe_vectors_prepare();
    strobe_real_set_specific = strobe_recorder.set_specific;
    strobe_recorder.set_specific = strobe_set_specific_keeping_vectors;
    strobe_recorder.follows_forks = 1;
    return (void*)strobe_native_enter;
}
