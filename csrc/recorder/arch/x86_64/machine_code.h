/* Machine code and tables written at run time, byte by byte; and where the return path lies. */
#ifndef STROBE_RECORDER_MACHINE_CODE_H
#define STROBE_RECORDER_MACHINE_CODE_H

#include "../../recorder.h"

#define STROBE_PATH_PUSHES_BYTES 22u /* of the return path until rbx points to what was pushed */
#define STROBE_DEPARTURE_BYTES 29u   /* of what strobe_put_departure writes */

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

/* mov rax, &word; cmp dword [rax], 0; je. Gives where the jump's distance goes. */
static inline uint8_t* strobe_put_word_check(struct strobe_bytes* out, const uint32_t* word) {
    strobe_put(out, 0xb848, 2);
    strobe_put(out, (uint64_t)word, 8);
    strobe_put(out, 0x003883, 3);
    strobe_put(out, 0x74, 1);
    return out->at++;
}

static inline uint8_t* strobe_put_agent_check(struct strobe_bytes* out, const struct strobe_recorder* recorder) {
    return strobe_put_word_check(out, &recorder->control->has_agent);
}

/* guards.c: what stands around a call of code that goes with the agent. */
void strobe_put_arrival(struct strobe_bytes* out, const struct strobe_recorder* recorder);
void strobe_put_departure(struct strobe_bytes* out, const struct strobe_recorder* recorder);

static inline void strobe_jump_to_here(uint8_t* distance, const struct strobe_bytes* out) {
    *distance = (uint8_t)(out->at - (distance + 1));
}

#endif
