/* Machine code and tables written at run time, byte by byte; and where the return path lies. */
#ifndef STROBE_RECORDER_MACHINE_CODE_H
#define STROBE_RECORDER_MACHINE_CODE_H

#include "../../recorder.h"

#define STROBE_PATH_PUSHES_BYTES 22u /* of the return path until rbx points to what was pushed */

struct strobe_bytes {
    uint8_t* at;
};

static inline void strobe_put(struct strobe_bytes* out, uint64_t value, uint32_t count) {
    while (count-- > 0) {
        *out->at++ = (uint8_t)value;
        value >>= 8;
    }
}

/* The return path begins behind all stubs. */
static inline uint8_t* strobe_return_path(const struct strobe_recorder* recorder) {
    return recorder->stubs + (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES * STROBE_STUB_BYTES;
}

#endif
