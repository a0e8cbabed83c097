/* Calls into libc from inside a traced function's entry: its vector registers may hold arguments, and libc uses them.
 */
#ifndef STROBE_RECORDER_VECTORS_H
#define STROBE_RECORDER_VECTORS_H

#include <stdint.h>

typedef int strobe_set_specific_function(uint32_t key, const void* value);

/* `real`: the C library's pthread_setspecific. */
void strobe_vectors_prepare(strobe_set_specific_function* real);
/* Calls it with all vector registers kept, on a stack of any alignment. */
int strobe_set_specific_keeping_vectors(uint32_t key, const void* value);
/* What trampolines jump to: see enter.c. Keeps every register. */
void strobe_native_enter(void);

#endif
