/*
 * What the recorder needs of the CPU and the kernel on AArch64 Linux, without libc.
 *
 * TinyCC has no inline assembly for this CPU: there the functions are machine code that the agent brings
 * (agent/aarch64_routines.ts). x86-64 keeps stores in order by itself; here barriers and atomic operations do.
 */
#ifndef STROBE_RECORDER_CPU_H
#define STROBE_RECORDER_CPU_H

#include <stddef.h>
#include <stdint.h>

#define STROBE_SYS_OPENAT 56
#define STROBE_SYS_CLOSE 57
#define STROBE_SYS_READ 63
#define STROBE_SYS_NANOSLEEP 101
#define STROBE_SYS_CLOCK_GETTIME 113
#define STROBE_SYS_KILL 129
#define STROBE_SYS_TKILL 130
#define STROBE_SYS_TGKILL 131
#define STROBE_SYS_SIGALTSTACK 132
#define STROBE_SYS_RT_SIGPROCMASK 135
#define STROBE_SYS_RT_SIGPENDING 136
#define STROBE_SYS_GETRLIMIT 163
#define STROBE_SYS_PRCTL 167
#define STROBE_SYS_GETPID 172
#define STROBE_SYS_GETPPID 173
#define STROBE_SYS_GETTID 178
#define STROBE_SYS_GETDENTS64 61
#define STROBE_SYS_READLINKAT 78
#define STROBE_SYS_USERFAULTFD 282
#define STROBE_SYS_MEMBARRIER 283
#define STROBE_SYS_MMAP 222
#define STROBE_SYS_MPROTECT 226
#define STROBE_SYS_MUNMAP 215
#define STROBE_SYS_MREMAP 216
#define STROBE_SYS_MLOCK 228
#define STROBE_SYS_MUNLOCK 229
#define STROBE_SYS_MLOCKALL 230
#define STROBE_SYS_MINCORE 232
#define STROBE_SYS_MADVISE 233
#define STROBE_SYS_SECCOMP 277
#define STROBE_SYS_PROCESS_VM_READV 270

#define STROBE_SIGBUS 7
#define STROBE_SIGSEGV 11

#define STROBE_ESRCH 3
#define STROBE_EFAULT 14
#define STROBE_EINVAL 22

#define STROBE_COMPILER_BARRIER() strobe_barrier()
#define STROBE_PAUSE() strobe_barrier()

#ifdef __TINYC__

/* Orders all reads and writes before it before all after it. */
void strobe_barrier(void);
uint64_t strobe_fetch_add64(uint64_t* target, uint64_t value);
uint32_t strobe_fetch_add32(uint32_t* target, uint32_t value);
/* 1 when *target was `expected` and is now `desired`. */
int strobe_compare_exchange32(uint32_t* target, uint32_t expected, uint32_t desired);
int strobe_compare_exchange64(uint64_t* target, uint64_t expected, uint64_t desired);
uint64_t strobe_cycles(void);
/* Address of the thread control block: in glibc and musl it lies at the upper end of a thread's stack mapping. */
uint64_t strobe_thread_pointer(void);
/* The kernel's answer as it is: a negative errno on failure. */
int64_t strobe_syscall(int64_t number, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f);
/* After writing code there: makes it what is executed. */
void strobe_sync_code(const void* start, const void* end);

static inline uint32_t strobe_highest_bit(uint64_t value) {
    uint32_t index = 0;
    while (value >>= 1) index++;
    return index;
}

#else

static inline void strobe_barrier(void) { __asm__ volatile("dmb ish" : : : "memory"); }

static inline uint64_t strobe_fetch_add64(uint64_t* target, uint64_t value) {
    return __atomic_fetch_add(target, value, __ATOMIC_SEQ_CST);
}

static inline uint32_t strobe_fetch_add32(uint32_t* target, uint32_t value) {
    return __atomic_fetch_add(target, value, __ATOMIC_SEQ_CST);
}

static inline int strobe_compare_exchange32(uint32_t* target, uint32_t expected, uint32_t desired) {
    return __atomic_compare_exchange_n(target, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline int strobe_compare_exchange64(uint64_t* target, uint64_t expected, uint64_t desired) {
    return __atomic_compare_exchange_n(target, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline uint64_t strobe_cycles(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}

static inline uint64_t strobe_thread_pointer(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(value));
    return value;
}

static inline int64_t strobe_syscall(int64_t number, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f) {
    register int64_t x8 __asm__("x8") = number;
    register int64_t x0 __asm__("x0") = a;
    register int64_t x1 __asm__("x1") = b;
    register int64_t x2 __asm__("x2") = c;
    register int64_t x3 __asm__("x3") = d;
    register int64_t x4 __asm__("x4") = e;
    register int64_t x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

static inline void strobe_sync_code(const void* start, const void* end) {
    __builtin___clear_cache((char*)start, (char*)end);
}

static inline uint32_t strobe_highest_bit(uint64_t value) { return 63u - (uint32_t)__builtin_clzll(value); }

#endif

/* 0: here the block that the C library keeps lies below the thread pointer, and how far it reaches is not known. The
   recorder then asks pthread_getspecific. */
static inline uint64_t strobe_thread_word(uint64_t offset) {
    (void)offset;
    return 0;
}

/* The portable form cannot know vector registers: Interceptor's own code has run in between. */
#define STROBE_VECTORS 8u

static inline void strobe_vector(uint32_t index, uint64_t* into) {
    (void)index;
    into[0] = into[1] = 0;
}

/* Where none but this thread changes it. */
#define strobe_own_compare_exchange64(target, expected, desired) strobe_compare_exchange64(target, expected, desired)

/* There is no x87: an area that says that none of its registers is in use. */
static inline void strobe_x87_save(uint8_t* area) { area[3] = area[4] = 0; }

/* Probes alone run scripts here, at entries, and Interceptor keeps these registers. */
static inline void strobe_vectors_save(uint8_t* area) { (void)area; }
static inline void strobe_vectors_restore(uint8_t* area) { (void)area; }
static inline void strobe_vectors_reset(void) {}

/* Probes alone run the agent's code in threads of the program here. */
#define STROBE_SWITCHES_STACKS 0

static inline void strobe_call_on(uint64_t stack, void (*function)(void*), void* argument) {
    (void)stack;
    function(argument);
}

#endif
