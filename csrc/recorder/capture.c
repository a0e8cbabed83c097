/*
 * Values of arguments and results that are more than a register: floating point, parts of structs, text. What pointers
 * lead to is read by memory.c.
 */
#include "recorder.h"

/* `length` bytes, of which `most` are kept; `unit` 0: whatever they are, else they end where a zero character does. */
static uint32_t strobe_capture_text(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                    uint64_t address, uint64_t length, uint32_t most, uint32_t unit, uint64_t* out) {
    uint32_t bytes = length < most ? (uint32_t)length : most;
    uint32_t kept;
    int ended = 0;
    if (address == 0 || length == 0) { /* an empty view may have any pointer, null too */
        out[0] = length == 0 ? 0 : STROBE_TEXT_NULL;
        return 1;
    }
    if (unit != 0)
        kept = strobe_read_text(recorder, state, address, (uint8_t*)(out + 1), bytes, unit, &ended);
    else
        kept = strobe_read_bytes(recorder, state, strobe_may_touch_here(recorder, state), address, (uint8_t*)(out + 1),
                                 bytes);
    out[0] = kept;
    if (kept == 0 && bytes > 0 && !ended) out[0] |= STROBE_TEXT_UNREADABLE;
    if (!ended && (unit != 0 || kept < length)) out[0] |= STROBE_TEXT_CUT;
    if (kept % 8 != 0) out[1 + kept / 8] &= (1ull << 8 * (kept % 8)) - 1;
    return 1 + (kept + 7) / 8;
}

uint64_t strobe_source(uint32_t source, const uint64_t* registers, const uint64_t* slot) {
    uint64_t vector[2];
    if (source >= STROBE_SOURCE_STACK) return slot[1 + source - STROBE_SOURCE_STACK];
    if (source < STROBE_SOURCE_XMM0) return registers[source];
    strobe_vector(source - STROBE_SOURCE_XMM0, vector);
    return vector[0];
}

/* Characters of a length that is counted in them. */
static uint32_t strobe_capture_counted(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                       const struct strobe_capture* capture, uint64_t address, uint64_t length,
                                       uint64_t unit, uint64_t* out) {
    uint64_t bytes = length > ~(uint64_t)0 / 4 ? length : length * unit;
    return strobe_capture_text(recorder, state, address, bytes, 8u * capture->text_words, 0, out);
}

static uint32_t strobe_capture_string(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                      const struct strobe_capture* capture, uint64_t object, uint64_t* out) {
    uint64_t parts[2];
    int may_touch = strobe_may_touch_here(recorder, state);
    if (!strobe_read_number(recorder, state, may_touch, object + capture->offset, 8, &parts[0]) ||
        !strobe_read_number(recorder, state, may_touch, object + capture->other, 8, &parts[1])) {
        out[0] = STROBE_TEXT_UNREADABLE;
        return 1;
    }
    return strobe_capture_counted(recorder, state, capture, parts[0], parts[1], capture->second, out);
}

/* Three words: with the lowest bit set capacity, length and address, else a byte of twice the length and, behind a
   character's place, the text. */
static uint32_t strobe_capture_libcxx(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                      const struct strobe_capture* capture, uint64_t object, uint64_t* out) {
    uint64_t parts[3];
    int may_touch = strobe_may_touch_here(recorder, state);
    if (strobe_read_bytes(recorder, state, may_touch, object, (uint8_t*)parts, sizeof parts) != sizeof parts) {
        out[0] = STROBE_TEXT_UNREADABLE;
        return 1;
    }
    if (parts[0] & 1) return strobe_capture_counted(recorder, state, capture, parts[2], parts[1], capture->second, out);
    return strobe_capture_counted(recorder, state, capture, object + capture->second, (parts[0] & 0xff) >> 1,
                                  capture->second, out);
}

/* `index` from the top of the stack. */
STROBE_COLD static void strobe_x87(uint32_t index, uint64_t* out) {
    uint8_t memory[512 + 16];
    uint8_t* area = (uint8_t*)(((uint64_t)memory + 15) & ~(uint64_t)15);
    uint32_t top;
    strobe_x87_save(area);
    top = (area[3] >> 3) & 7; /* bits 11 to 13 of the status word; one bit for each register that is in use */
    out[0] = out[1] = 0;
    if (!((area[4] >> ((top + index) & 7)) & 1)) return;
    out[0] = *(const uint64_t*)(area + 32 + 16 * index);
    out[1] = *(const uint16_t*)(area + 32 + 16 * index + 8);
}

static uint32_t strobe_capture_one(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                   const struct strobe_capture* capture, const uint64_t* registers,
                                   const uint64_t* slot, uint64_t* out) {
    uint64_t value;
    if (capture->kind == STROBE_CAPTURE_VECTOR) {
        strobe_vector(capture->source - STROBE_SOURCE_XMM0, out);
        return 2;
    }
    if (capture->kind == STROBE_CAPTURE_X87) {
        strobe_x87(capture->source - STROBE_SOURCE_ST0, out);
        return 2;
    }
    value = strobe_source(capture->source, registers, slot);
    switch (capture->kind) {
        case STROBE_CAPTURE_CHARS:
            return strobe_capture_text(recorder, state, value, ~(uint64_t)0, 8u * capture->text_words, capture->second,
                                       out);
        case STROBE_CAPTURE_PAIR:
            return strobe_capture_counted(recorder, state, capture, value,
                                          strobe_source(capture->second, registers, slot), capture->offset, out);
        case STROBE_CAPTURE_STRING:
            return strobe_capture_string(recorder, state, capture, value, out);
        case STROBE_CAPTURE_LIBCXX:
            return strobe_capture_libcxx(recorder, state, capture, value, out);
        case STROBE_CAPTURE_BYTES:
            return strobe_capture_text(recorder, state, value + capture->offset, capture->other, capture->other, 0,
                                       out);
        default:
            out[0] = value;
            return 1;
    }
}

uint32_t strobe_capture_values(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                               const struct strobe_capture* captures, uint32_t count, const uint64_t* registers,
                               const uint64_t* slot, uint64_t* out) {
    uint32_t words = 0;
    uint32_t index;
    for (index = 0; index < count; index++)
        words += strobe_capture_one(recorder, state, &captures[index], registers, slot, out + words);
    return words;
}
