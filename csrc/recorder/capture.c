/*
 * Values of arguments and results that are more than a register: floating point, parts of structs, text.
 *
 * Text is read where a pointer leads, and the program may pass any pointer. Memory that cannot go away is read at once:
 * the part of the thread's own stack that is in use, and what was loaded with the program. Of other memory the kernel
 * is asked first whether it can be read, a page at a time: an address that is none is an error there and not a fault
 * here.
 */
#include "recorder.h"

/* Where reading `address` cannot fail: the end of that memory; 0 where it is not known to be any. */
static uint64_t strobe_known_end(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                 uint64_t address) {
    uint64_t here = (uint64_t)&address;
    uint32_t index;
    if (here >= state->stack_low && here < state->stack_high && address >= here && address < state->stack_high)
        return state->stack_high;
    for (index = 0; index < recorder->range_count && recorder->ranges[index][0] <= address; index++)
        if (address < recorder->ranges[index][1]) return recorder->ranges[index][1];
    return 0;
}

int strobe_is_known(const struct strobe_recorder* recorder, uint64_t address, uint32_t bytes) {
    uint32_t index;
    for (index = 0; index < recorder->range_count; index++)
        if (recorder->ranges[index][0] <= address && address < recorder->ranges[index][1] &&
            bytes <= recorder->ranges[index][1] - address)
            return 1;
    return 0;
}

/* Asks to change the signal mask in a way that there is none: the kernel reads the new mask first, and a bad address is
   another error than a bad request. A tenth of the time of process_vm_readv. */
static int64_t strobe_ask_for_memory(uint64_t address) {
    return strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, -1, (int64_t)(address & ~7ull), 0, 8, 0, 0);
}

/* Whether the kernel answers in that order: sandboxes that stand in for one need not. */
int strobe_memory_can_be_asked_for(const void* readable, const void* unreadable) {
    return strobe_ask_for_memory((uint64_t)readable) == -STROBE_EINVAL &&
           strobe_ask_for_memory((uint64_t)unreadable) == -STROBE_EFAULT;
}

/* Bytes read by the kernel, 0 where there is no memory. */
static uint32_t strobe_read_safely(const struct strobe_recorder* recorder, uint64_t address, uint8_t* into,
                                   uint32_t bytes) {
    uint64_t from[2], to[2];
    int64_t result;
    from[0] = address;
    to[0] = (uint64_t)into;
    from[1] = to[1] = bytes;
    result = strobe_syscall(STROBE_SYS_PROCESS_VM_READV, recorder->pid, (int64_t)to, 1, (int64_t)from, 1, 0);
    return result < 0 ? 0 : (uint32_t)result;
}

/* By whole aligned words as far as there are any, so that no number is half of an old and half of a new one. */
void strobe_copy(uint8_t* into, uint64_t from, uint32_t bytes) {
    while (bytes > 0) {
        uint32_t width = from % 8 == 0 && bytes >= 8 ? 8 : from % 4 == 0 && bytes >= 4 ? 4 : bytes >= 2 ? 2 : 1;
        if (width == 2 && from % 2 != 0) width = 1;
        if (width == 8)
            *(uint64_t*)into = *(const volatile uint64_t*)from;
        else if (width == 4)
            *(uint32_t*)into = *(const volatile uint32_t*)from;
        else if (width == 2)
            *(uint16_t*)into = *(const volatile uint16_t*)from;
        else
            *into = *(const volatile uint8_t*)from;
        into += width;
        from += width;
        bytes -= width;
    }
}

/* Up to `bytes` bytes, in pieces that end where a page does. `unit` 1: a zero byte may end them, for text is short. */
static uint32_t strobe_read_piece(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                  uint64_t address, uint8_t* into, uint32_t bytes, uint32_t unit) {
    uint64_t end = strobe_known_end(recorder, state, address);
    uint32_t to_page_end = STROBE_PAGE_BYTES - (uint32_t)(address % STROBE_PAGE_BYTES);
    uint32_t index;
    if (end == 0) {
        if (bytes > to_page_end) bytes = to_page_end;
        if (!recorder->asks_for_memory) return strobe_read_safely(recorder, address, into, bytes);
        if (strobe_ask_for_memory(address) != -STROBE_EINVAL) return 0;
        end = address + bytes;
    }
    if (bytes > end - address) bytes = (uint32_t)(end - address);
    if (unit != 1) {
        strobe_copy(into, address, bytes);
        return bytes;
    }
    for (index = 0; index < bytes; index++) {
        into[index] = ((const uint8_t*)address)[index];
        if (into[index] == 0) return index + 1;
    }
    return bytes;
}

/* Where the first zero character lies within `bytes` bytes, from `from` on, which is a whole number of characters;
   `bytes` where there is none. */
static uint32_t strobe_text_end(const uint8_t* text, uint32_t from, uint32_t bytes, uint32_t unit) {
    uint32_t index = from;
    if (unit == 1) {
        while (index < bytes && text[index] != 0) index++;
        return index;
    }
    for (; index + unit <= bytes; index += unit) {
        if (text[index] == 0 && text[index + 1] == 0 && (unit == 2 || (text[index + 2] == 0 && text[index + 3] == 0)))
            return index;
    }
    return bytes;
}

uint32_t strobe_read(const struct strobe_recorder* recorder, const struct strobe_thread_state* state, uint64_t address,
                     uint8_t* into, uint32_t bytes, uint32_t unit, int* ended) {
    uint32_t done = 0;
    *ended = 0;
    while (done < bytes) {
        uint32_t piece = strobe_read_piece(recorder, state, address + done, into + done, bytes - done, unit);
        uint32_t end;
        if (piece == 0) break;
        end = unit == 0 ? done + piece : strobe_text_end(into, done - done % unit, done + piece, unit);
        done += piece;
        if (end == done) continue;
        *ended = 1;
        return end;
    }
    return done;
}

/* `length` bytes, of which `most` are kept; `unit` 0: whatever they are, else they end where a zero character does. */
static uint32_t strobe_capture_text(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                    uint64_t address, uint64_t length, uint32_t most, uint32_t unit, uint64_t* out) {
    uint32_t bytes = length < most ? (uint32_t)length : most;
    uint32_t kept, index;
    int ended;
    if (address == 0 || length == 0) { /* an empty view may have any pointer, null too */
        out[0] = length == 0 ? 0 : STROBE_TEXT_NULL;
        return 1;
    }
    kept = strobe_read(recorder, state, address, (uint8_t*)(out + 1), bytes, unit, &ended);
    out[0] = kept;
    if (kept == 0 && bytes > 0 && !ended) out[0] |= STROBE_TEXT_UNREADABLE;
    if (!ended && (unit != 0 || kept < length)) out[0] |= STROBE_TEXT_CUT;
    for (index = kept; index % 8 != 0; index++) ((uint8_t*)(out + 1))[index] = 0;
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
    int ended;
    if (strobe_read(recorder, state, object + capture->offset, (uint8_t*)&parts[0], 8, 0, &ended) != 8 ||
        strobe_read(recorder, state, object + capture->other, (uint8_t*)&parts[1], 8, 0, &ended) != 8) {
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
    int ended;
    if (strobe_read(recorder, state, object, (uint8_t*)parts, sizeof parts, 0, &ended) != sizeof parts) {
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
