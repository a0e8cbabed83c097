#ifndef STROBE_RECORDER_PATCHABLE_H
#define STROBE_RECORDER_PATCHABLE_H

#include <capstone.h>

#include "../../recorder.h"

#define STROBE_JUMP_BYTES 5 /* jmp rel32 */

/* Where the jump lies from the entry: behind an `endbr64`, which indirect calls must find. */
uint64_t strobe_jump_offset(uint64_t entry, uint64_t bytes);
/* A decoder for cs_close, or 0. */
csh strobe_decoder_open(void);
/* STROBE_PATCH_* of a jump at `entry` + `skip` in a function of `bytes` bytes. */
int strobe_patchable(csh decoder, uint64_t entry, uint64_t skip, uint64_t bytes);

#endif
