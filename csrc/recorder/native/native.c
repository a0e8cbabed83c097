/*
 * The native form: the same recorder as a shared library, which the agent loads into the target. Functions jump to
 * trampolines of our own (arch/x86_64/trampolines.c), and these call strobe_native_enter.
 *
 * One unit, so that the compiler can inline across the files. It must not touch vector registers, as the traced
 * function's arguments may lie in them: it is compiled with -mgeneral-regs-only, and needs no libc.
 */
#include "../agent.c"
#include "../calls.c"
#include "../capture.c"
#include "../chunks.c"
#include "../stack.c"
#include "../threads.c"
#include "../totals.c"
#include "fork.c"
#include "x86_64/vectors.h"

struct strobe_recorder strobe_recorder __attribute__((aligned(4096), visibility("hidden")));

/* After strobe_agent_init. Gives what trampolines call. */
void* strobe_native_begin(void) {
    strobe_vectors_prepare(strobe_recorder.set_specific);
    strobe_recorder.set_specific = strobe_set_specific_keeping_vectors;
    strobe_recorder.follows_forks = 1;
    return (void*)strobe_native_enter;
}
