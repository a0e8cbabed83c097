/*
 * Reads of the program's memory, wherever a pointer of it leads: that may be nowhere, and another thread may unmap it
 * at any moment. So no read may end the program.
 *
 * In the native form each load is one whose fault is caught (native/faults.c), for as long as that is sure to work: the
 * thread must not have SIGSEGV or SIGBUS blocked, as the kernel then ends the process. Elsewhere, and in the portable
 * form, the kernel reads (process_vm_readv): a bad address is an error there. In a program that fills pages itself
 * (userfaultfd) either would wait for it: it is asked which pages are there.
 */
#include "recorder.h"

/* The first page, which the kernel lets nobody map, as null pointers lead there, and what is the kernel's own: a fault,
   or asking, takes a thousand times as long as to see that. */
#define STROBE_IS_NOWHERE(address) ((address) < STROBE_PAGE_BYTES || (address) >= 1ull << 47)
#define STROBE_EVERYWHERE inline __attribute__((always_inline))
#define STROBE_ONES 0x0101010101010101ull
#define STROBE_HIGH_BITS 0x8080808080808080ull

#ifdef STROBE_CATCHES_FAULTS
static STROBE_COLD int strobe_faults_are_unblocked(const struct strobe_recorder* recorder) {
    uint64_t mask = ~(uint64_t)0;
    if (!recorder->may_call_kernel) return 0;
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, 0, 0, (int64_t)&mask, 8, 0, 0);
    return (mask & STROBE_FAULT_SIGNALS) == 0;
}

int strobe_may_touch(const struct strobe_recorder* recorder, const struct strobe_thread_state* state) {
    if (STROBE_UNLIKELY(recorder->pages_wait)) return 0;
    if (recorder->fault_catching == STROBE_FAULTS_CAUGHT) return 1;
    if (recorder->fault_catching == STROBE_FAULTS_MASKED_IN_CONTEXTS)
        return state != NULL && state->touching == STROBE_TOUCHING_ALLOWED;
    return recorder->fault_catching == STROBE_FAULTS_MASKED_AT_TIMES && strobe_faults_are_unblocked(recorder);
}

/* By whole aligned words as far as there are any, so that no number is half of an old and half of a new one. */
static uint32_t strobe_load_bytes(uint64_t from, uint8_t* into, uint32_t bytes) {
    uint32_t done = 0;
    while (done < bytes) {
        uint32_t left = bytes - done;
        uint64_t value;
        if ((from & 7) == 0 && left >= 8) {
            if (!strobe_try_load64(from, &value)) return done;
            *(uint64_t*)(into + done) = value;
            done += 8;
            from += 8;
        } else if ((from & 3) == 0 && left >= 4) {
            if (!strobe_try_load32(from, &value)) return done;
            *(uint32_t*)(into + done) = (uint32_t)value;
            done += 4;
            from += 4;
        } else if ((from & 1) == 0 && left >= 2) {
            if (!strobe_try_load16(from, &value)) return done;
            *(uint16_t*)(into + done) = (uint16_t)value;
            done += 2;
            from += 2;
        } else {
            if (!strobe_try_load8(from, &value)) return done;
            into[done++] = (uint8_t)value;
            from++;
        }
    }
    return done;
}

/* The lowest byte that is zero has the lowest bit. */
static inline uint64_t strobe_zero_bytes(uint64_t value) { return (value - STROBE_ONES) & ~value & STROBE_HIGH_BITS; }

static inline uint32_t strobe_lowest_byte(uint64_t zeros) { return strobe_highest_bit(zeros & (0 - zeros)) / 8; }

/* From an aligned word, of which `got` bytes count and the lowest `before` do not: as strobe_load_text. */
static STROBE_APART uint32_t strobe_load_part(uint64_t word, uint32_t before, uint8_t* into, uint32_t got, int* ended) {
    uint64_t value, zeros;
    uint32_t index;
    if (!strobe_try_load64(word, &value)) return 0;
    value >>= 8 * before;
    for (index = 0; index < got; index++) into[index] = (uint8_t)(value >> 8 * index);
    zeros = strobe_zero_bytes(value);
    if (zeros == 0 || (index = strobe_lowest_byte(zeros)) >= got) return got;
    *ended = 1;
    return index;
}

/* Up to the first zero byte, which is not counted. Aligned words are read, as one lies on one page: what is read of it
   beyond the text is there. */
static inline uint32_t strobe_load_text(uint64_t from, uint8_t* into, uint32_t bytes, int* ended) {
    uint32_t before = from & 7, done = 0, first = 8 - before;
    uint64_t value, zeros;
    if (STROBE_UNLIKELY(before != 0)) {
        if (first > bytes) first = bytes;
        done = strobe_load_part(from - before, before, into, first, ended);
        if (*ended || done < first) return done;
    }
    for (; bytes - done >= 8; done += 8) {
        if (STROBE_UNLIKELY(!strobe_try_load64(from + done, &value))) return done;
        *(uint64_t*)(into + done) = value;
        zeros = strobe_zero_bytes(value);
        if (zeros == 0) continue;
        *ended = 1;
        return done + strobe_lowest_byte(zeros);
    }
    return bytes == done ? done : done + strobe_load_part(from + done, 0, into + done, bytes - done, ended);
}

static STROBE_EVERYWHERE uint32_t strobe_load_word(uint64_t from, uint32_t width, uint64_t* value) {
    switch (width) {
        case 1:
            return (uint32_t)strobe_try_load8(from, value);
        case 2:
            return (uint32_t)strobe_try_load16(from, value);
        case 4:
            return (uint32_t)strobe_try_load32(from, value);
        default:
            return (uint32_t)strobe_try_load64(from, value);
    }
}

/* Compiled for each width by itself, as an element takes little more than its load. */
static STROBE_EVERYWHERE uint32_t strobe_load_row(uint64_t address, uint32_t stride, uint32_t width, uint32_t count,
                                                  uint64_t* into) {
    uint32_t done;
    for (done = 0; done < count; done++, address += stride)
        if (STROBE_IS_NOWHERE(address) || !strobe_load_word(address, width, &into[done])) break;
    return done;
}

uint32_t strobe_load_numbers(uint64_t address, uint32_t stride, uint32_t width, uint32_t count, uint64_t* into) {
    switch (width) {
        case 1:
            return strobe_load_row(address, stride, 1, count, into);
        case 2:
            return strobe_load_row(address, stride, 2, count, into);
        case 4:
            return strobe_load_row(address, stride, 4, count, into);
        default:
            return strobe_load_row(address, stride, 8, count, into);
    }
}

/* As strobe_load_row. */
static STROBE_EVERYWHERE uint32_t strobe_load_apart(uint64_t* addresses, uint64_t offset, uint32_t width,
                                                    uint32_t first, uint32_t count, uint64_t left_out) {
    for (; first < count; first++) {
        uint64_t address = addresses[first] + offset, number;
        if (left_out >> first & 1) continue;
        if (STROBE_IS_NOWHERE(address) || !strobe_load_word(address, width, &number)) break;
        addresses[first] = number;
    }
    return first;
}

uint32_t strobe_load_each(uint64_t* addresses, uint64_t offset, uint32_t width, uint32_t first, uint32_t count,
                          uint64_t left_out) {
    switch (width) {
        case 1:
            return strobe_load_apart(addresses, offset, 1, first, count, left_out);
        case 2:
            return strobe_load_apart(addresses, offset, 2, first, count, left_out);
        case 4:
            return strobe_load_apart(addresses, offset, 4, first, count, left_out);
        default:
            return strobe_load_apart(addresses, offset, 8, first, count, left_out);
    }
}

int strobe_touch_pages(const struct strobe_recorder* recorder, uint64_t from, uint64_t to) {
    if (!strobe_may_touch(recorder, NULL)) return 0;
    for (; from < to; from += STROBE_PAGE_BYTES)
        if (!strobe_try_touch(from)) return 0;
    return 1;
}
#else
uint32_t strobe_load_each(uint64_t* addresses, uint64_t offset, uint32_t width, uint32_t first, uint32_t count,
                          uint64_t left_out) {
    (void)addresses;
    (void)offset;
    (void)width;
    (void)count;
    (void)left_out;
    return first;
}

uint32_t strobe_load_numbers(uint64_t address, uint32_t stride, uint32_t width, uint32_t count, uint64_t* into) {
    (void)address;
    (void)stride;
    (void)width;
    (void)count;
    (void)into;
    return 0;
}

int strobe_touch_pages(const struct strobe_recorder* recorder, uint64_t from, uint64_t to) {
    (void)recorder;
    return from >= to;
}

int strobe_may_touch(const struct strobe_recorder* recorder, const struct strobe_thread_state* state) {
    (void)recorder;
    (void)state;
    return 0;
}
#endif

int strobe_may_touch_here(const struct strobe_recorder* recorder, const struct strobe_thread_state* state) {
    uint64_t here = (uint64_t)&state;
    int is_own = state != NULL && here >= state->stack_low && here < state->stack_high;
    if (recorder->may_call_kernel && !is_own) return 0;
    return strobe_may_touch(recorder, state);
}

STROBE_COLD void strobe_reads_hold(const struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                   struct strobe_held_signals* held) {
    strobe_signals_hold(recorder, held);
    state->touching =
        held->are_held && !(held->before & STROBE_FAULT_SIGNALS) ? STROBE_TOUCHING_ALLOWED : STROBE_TOUCHING_FORBIDDEN;
}

STROBE_COLD void strobe_reads_release(struct strobe_thread_state* state, struct strobe_held_signals* held) {
    state->touching = STROBE_TOUCHING_ASKS;
    strobe_signals_release(held);
}

/* The part of the thread's own stack that is in use cannot go away: how much of it lies from `address` on. */
static uint32_t strobe_bytes_on_stack(const struct strobe_thread_state* state, uint64_t address, uint32_t bytes) {
    uint64_t here = (uint64_t)&address;
    if (state == NULL || here < state->stack_low || here >= state->stack_high || address < here ||
        address >= state->stack_high)
        return 0;
    return bytes < state->stack_high - address ? bytes : (uint32_t)(state->stack_high - address);
}

/* How many of them, from the first on, are in memory: the kernel would wait for others, too. */
static STROBE_COLD uint32_t strobe_bytes_present(uint64_t address, uint32_t bytes) {
    uint32_t known = 0;
    while (known < bytes) {
        uint64_t within = (address + known) % STROBE_PAGE_BYTES;
        uint8_t is_present = 0;
        if (strobe_syscall(STROBE_SYS_MINCORE, (int64_t)(address + known - within), STROBE_PAGE_BYTES,
                           (int64_t)&is_present, 0, 0, 0) != 0 ||
            !(is_present & 1))
            return known;
        known += (uint32_t)(STROBE_PAGE_BYTES - within);
    }
    return bytes;
}

/* Bytes read by the kernel, page by page as far as there is memory. */
static uint32_t strobe_read_by_kernel(const struct strobe_recorder* recorder, uint64_t address, uint8_t* into,
                                      uint32_t bytes) {
    uint64_t from[2], to[2];
    int64_t result;
    if (!recorder->may_call_kernel) return 0;
    if (STROBE_UNLIKELY(recorder->pages_wait)) bytes = strobe_bytes_present(address, bytes);
    if (bytes == 0) return 0;
    from[0] = address;
    to[0] = (uint64_t)into;
    from[1] = to[1] = bytes;
    result = strobe_syscall(STROBE_SYS_PROCESS_VM_READV, recorder->pid, (int64_t)to, 1, (int64_t)from, 1, 0);
    return result < 0 ? 0 : (uint32_t)result;
}

void strobe_copy(uint8_t* into, const uint8_t* from, uint32_t bytes) {
    for (; bytes >= 8; bytes -= 8, into += 8, from += 8) *(uint64_t*)into = *(const uint64_t*)from;
    for (; bytes > 0; bytes--) *into++ = *from++;
}

static uint32_t strobe_copy_from_stack(uint64_t address, uint8_t* into, uint32_t bytes) {
    uint32_t index;
    if (address % 8 == 0 && bytes == 8) {
        *(uint64_t*)into = *(const volatile uint64_t*)address;
        return 8;
    }
    for (index = 0; index < bytes; index++) into[index] = ((const volatile uint8_t*)address)[index];
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

uint32_t strobe_read_bytes(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                           int may_touch, uint64_t address, uint8_t* into, uint32_t bytes) {
    uint32_t known;
    if (STROBE_IS_NOWHERE(address)) return 0;
#ifdef STROBE_CATCHES_FAULTS
    if (may_touch) return strobe_load_bytes(address, into, bytes);
#endif
    (void)may_touch;
    known = strobe_bytes_on_stack(state, address, bytes);
    return known != 0 ? strobe_copy_from_stack(address, into, known)
                      : strobe_read_by_kernel(recorder, address, into, bytes);
}

uint32_t strobe_read_text(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                          uint64_t address, uint8_t* into, uint32_t bytes, uint32_t unit, int* ended) {
    int may_touch = strobe_may_touch_here(recorder, state);
    uint32_t done = 0;
    *ended = 0;
    if (STROBE_IS_NOWHERE(address)) return 0;
#ifdef STROBE_CATCHES_FAULTS
    if (may_touch && unit == 1) return strobe_load_text(address, into, bytes, ended);
#endif
    while (done < bytes) {
        uint32_t wanted = bytes - done < STROBE_TEXT_PIECE ? bytes - done : STROBE_TEXT_PIECE;
        uint32_t piece, end;
        if (!may_touch) wanted = bytes - done; /* the kernel takes its time for each request, not for each byte */
        piece = strobe_read_bytes(recorder, state, may_touch, address + done, into + done, wanted);
        end = strobe_text_end(into, done - done % unit, done + piece, unit);
        done += piece;
        if (end != done) {
            *ended = 1;
            return end;
        }
        if (piece < wanted) break;
    }
    return done;
}

int strobe_read_number(const struct strobe_recorder* recorder, const struct strobe_thread_state* state, int may_touch,
                       uint64_t address, uint32_t width, uint64_t* value) {
    *value = 0;
    if (STROBE_IS_NOWHERE(address)) return 0;
#ifdef STROBE_CATCHES_FAULTS
    if (may_touch) return (int)strobe_load_word(address, width, value);
#endif
    return strobe_read_bytes(recorder, state, may_touch, address, (uint8_t*)value, width) == width;
}
