/* Calls of other code from inside a traced function's entry or return: its vector registers may hold arguments or a
   result, and libc and scripts use them. */
#ifndef STROBE_RECORDER_VECTORS_H
#define STROBE_RECORDER_VECTORS_H

#include <stdint.h>

void strobe_vectors_prepare(void);
/* Calls `function` with these arguments, all vector registers kept, on a stack of any alignment; gives its result. */
uint64_t strobe_call_keeping_vectors(uint64_t a, uint64_t b, uint64_t c, uint64_t d, void* function);
/* What trampolines jump to: see enter.c. Keeps every register. */
void strobe_native_enter(void);
/* What trampolines of probed instructions call: see site.c. Keeps every register. */
void strobe_native_site(void);

#endif
