/*
 * Loads and stores that may fault. Each is one instruction at a known address, listed in the section `strobe_fixups`
 * together with where to go on when it faults: the handler of SIGSEGV and SIGBUS (native/faults.c) looks the
 * instruction up, sets rcx to 1 and goes on there. While nothing faults they cost what a plain load does.
 *
 * Only where that handler is sure to be called: see strobe_may_touch.
 */
#ifndef STROBE_RECORDER_CHECKED_H
#define STROBE_RECORDER_CHECKED_H

#include <stdint.h>

#define STROBE_FIXUP(instruction)         \
    "    xorl %%ecx, %%ecx\n"             \
    "1:  " instruction                    \
    "\n2:\n"                              \
    ".pushsection strobe_fixups, \"a\"\n" \
    "    .balign 4\n"                     \
    "    .long 1b - ., 2b - .\n"          \
    ".popsection"

#define STROBE_TRY_LOAD(name, type, instruction)                                                           \
    static inline int name(uint64_t from, uint64_t* value) {                                               \
        uint64_t loaded = 0, failed;                                                                       \
        __asm__ volatile(STROBE_FIXUP(instruction) : "+&r"(loaded), "=&c"(failed) : "r"(from) : "memory"); \
        *value = (type)loaded;                                                                             \
        return !failed;                                                                                    \
    }

/* 1, or 0 where nothing can be read. */
STROBE_TRY_LOAD(strobe_try_load8, uint8_t, "movzbl (%2), %k0")
STROBE_TRY_LOAD(strobe_try_load16, uint16_t, "movzwl (%2), %k0")
STROBE_TRY_LOAD(strobe_try_load32, uint32_t, "movl (%2), %k0")
STROBE_TRY_LOAD(strobe_try_load64, uint64_t, "movq (%2), %0")

#define STROBE_TRY_STORE(name, instruction)                                                           \
    static inline int name(uint64_t to, uint64_t value) {                                             \
        uint64_t failed;                                                                              \
        __asm__ volatile(STROBE_FIXUP(instruction) : "=&c"(failed) : "r"(to), "q"(value) : "memory"); \
        return !failed;                                                                               \
    }

/* 1, or 0 where nothing can be written. */
STROBE_TRY_STORE(strobe_try_store8, "movb %b2, (%1)")
STROBE_TRY_STORE(strobe_try_store16, "movw %w2, (%1)")
STROBE_TRY_STORE(strobe_try_store32, "movl %k2, (%1)")
STROBE_TRY_STORE(strobe_try_store64, "movq %2, (%1)")

/* Has the kernel make the page of `at`, and changes nothing, whoever writes there meanwhile. 0 where that fails. */
static inline int strobe_try_touch(uint64_t at) {
    uint64_t failed;
    __asm__ volatile(STROBE_FIXUP("lock; orb $0, (%1)") : "=&c"(failed) : "r"(at) : "memory", "cc");
    return !failed;
}

/* Reads the time stamp counter. 0 where the thread has given it up. */
static inline int strobe_try_cycles(void) {
    uint64_t failed;
    __asm__ volatile(STROBE_FIXUP("rdtsc") : "=&c"(failed)::"rax", "rdx");
    return !failed;
}

/* As strobe_compare_exchange32; -1 where nothing can be written. */
static inline int strobe_try_exchange32(uint64_t at, uint32_t expected, uint32_t desired) {
    uint64_t failed;
    uint32_t found = expected;
    __asm__ volatile(STROBE_FIXUP("lock; cmpxchgl %3, (%2)")
                     : "=&c"(failed), "+&a"(found)
                     : "r"(at), "r"(desired)
                     : "memory", "cc");
    return failed ? -1 : found == expected;
}

#endif
