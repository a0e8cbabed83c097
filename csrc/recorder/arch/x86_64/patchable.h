#ifndef STROBE_RECORDER_PATCHABLE_H
#define STROBE_RECORDER_PATCHABLE_H

#include <capstone.h>

#include "../../recorder.h"

#define STROBE_JUMP_BYTES 5 /* jmp rel32 */

/* A function's code in a copy: a library may be unloaded at any moment, and its code with it. */
struct strobe_code {
    uint64_t entry;
    uint64_t bytes; /* of the function */
    const uint8_t* copy;
    uint64_t copied; /* bytes; some lie behind the function's end, where there is memory */
};

/* Where the jump lies from the entry: behind an `endbr64`, which indirect calls must find. */
uint64_t strobe_jump_offset(const struct strobe_code* function);
/* A decoder for cs_close, or 0. */
csh strobe_decoder_open(void);
/* STROBE_ENTRY_* of a jump at the function's entry + `skip`. */
int strobe_patchable(csh decoder, const struct strobe_code* function, uint64_t skip);

#endif
