/*
 * What the recorder needs of the CPU and the kernel on x86-64 Linux, without libc: the recorder runs inside functions
 * of the target, libc's among them, so it must not call any of those. Inline assembly throughout, because TinyCC has
 * neither the atomic builtins nor <stdatomic.h>.
 */
#ifndef STROBE_RECORDER_CPU_H
#define STROBE_RECORDER_CPU_H

#include <stddef.h>
#include <stdint.h>

#define STROBE_SYS_READ 0
#define STROBE_SYS_CLOSE 3
#define STROBE_SYS_STAT 4
#define STROBE_SYS_MMAP 9
#define STROBE_SYS_MPROTECT 10
#define STROBE_SYS_MUNMAP 11
#define STROBE_SYS_MREMAP 25
#define STROBE_SYS_MLOCK 149
#define STROBE_SYS_MUNLOCK 150
#define STROBE_SYS_MLOCKALL 151
#define STROBE_SYS_MINCORE 27
#define STROBE_SYS_MADVISE 28
#define STROBE_SYS_RT_SIGACTION 13
#define STROBE_SYS_RT_SIGPROCMASK 14
#define STROBE_SYS_NANOSLEEP 35
#define STROBE_SYS_GETPID 39
#define STROBE_SYS_KILL 62
#define STROBE_SYS_GETPPID 110
#define STROBE_SYS_GETRLIMIT 97
#define STROBE_SYS_SIGALTSTACK 131
#define STROBE_SYS_RT_SIGPENDING 127
#define STROBE_SYS_PRCTL 157
#define STROBE_SYS_ARCH_PRCTL 158
#define STROBE_SYS_GETTID 186
#define STROBE_SYS_GETDENTS64 217
#define STROBE_SYS_READLINKAT 267
#define STROBE_SYS_USERFAULTFD 323
#define STROBE_SYS_MEMBARRIER 324
#define STROBE_SYS_TKILL 200
#define STROBE_SYS_CLOCK_GETTIME 228
#define STROBE_SYS_EXIT_GROUP 231
#define STROBE_SYS_TGKILL 234
#define STROBE_SYS_OPENAT 257
#define STROBE_SYS_SECCOMP 317
#define STROBE_SYS_PROCESS_VM_READV 310
#define STROBE_SYS_RT_TGSIGQUEUEINFO 297

#define STROBE_SIGBUS 7
#define STROBE_SIGSEGV 11
#define STROBE_SIGILL 4
#define STROBE_SIGTRAP 5
#define STROBE_SIGABRT 6
#define STROBE_SIGFPE 8

#define STROBE_EPERM 1
#define STROBE_ESRCH 3
#define STROBE_EFAULT 14
#define STROBE_EINVAL 22
#define STROBE_ENOSYS 38

#define STROBE_COMPILER_BARRIER() __asm__ volatile("" : : : "memory")
#define STROBE_PAUSE() __asm__ volatile("rep; nop" : : : "memory")

static inline uint64_t strobe_fetch_add64(uint64_t* target, uint64_t value) {
    __asm__ volatile("lock; xaddq %0, (%1)" : "=r"(value) : "r"(target), "0"(value) : "memory");
    return value;
}

static inline uint32_t strobe_fetch_add32(uint32_t* target, uint32_t value) {
    __asm__ volatile("lock; xaddl %0, (%1)" : "=r"(value) : "r"(target), "0"(value) : "memory");
    return value;
}

/* 1 when *target was `expected` and is now `desired`. */
static inline int strobe_compare_exchange32(uint32_t* target, uint32_t expected, uint32_t desired) {
    uint8_t done;
    __asm__ volatile("lock; cmpxchgl %3, (%2); sete %0"
                     : "=q"(done), "+a"(expected)
                     : "r"(target), "r"(desired)
                     : "memory", "cc");
    return done;
}

static inline int strobe_compare_exchange64(uint64_t* target, uint64_t expected, uint64_t desired) {
    uint8_t done;
    __asm__ volatile("lock; cmpxchgq %3, (%2); sete %0"
                     : "=q"(done), "+a"(expected)
                     : "r"(target), "r"(desired)
                     : "memory", "cc");
    return done;
}

/* The same where none but this thread changes it: one instruction, so that no signal comes in between. TinyCC inlines
   no function, and each traced call comes by here twice. */
#define strobe_own_compare_exchange64(target, expected, desired)    \
    __extension__({                                                 \
        uint8_t strobe_done;                                        \
        uint64_t strobe_expected = (expected);                      \
        __asm__ volatile("cmpxchgq %3, (%2); sete %0"               \
                         : "=q"(strobe_done), "+a"(strobe_expected) \
                         : "r"(target), "r"((uint64_t)(desired))    \
                         : "memory", "cc");                         \
        strobe_done;                                                \
    })

static inline uint64_t strobe_cycles(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return ((uint64_t)high << 32) | low;
}

/* Index of the highest bit set; `value` is not 0. */
static inline uint32_t strobe_highest_bit(uint64_t value) {
    uint64_t index;
    __asm__("bsrq %1, %0" : "=r"(index) : "r"(value) : "cc");
    return (uint32_t)index;
}

/* Address of the thread control block: in glibc and musl it lies at the upper end of a thread's stack mapping. */
static inline uint64_t strobe_thread_pointer(void) {
    uint64_t value;
    __asm__ volatile("movq %%fs:0, %0" : "=r"(value));
    return value;
}

/* A word of the thread's own block. */
static inline uint64_t strobe_thread_word(uint64_t offset) {
    uint64_t value;
    __asm__ volatile("movq %%fs:(%1), %0" : "=r"(value) : "r"(offset));
    return value;
}

#define STROBE_VECTORS 16u

/* Vector register `index` of them, as the program left it. Not in the portable form. */
static inline void strobe_vector(uint32_t index, uint64_t* into) {
    into[0] = into[1] = 0;
#ifndef __TINYC__
    switch (index) {
#define STROBE_STORE_VECTOR(n)                                                 \
    case n:                                                                    \
        __asm__ volatile("movups %%xmm" #n ", (%0)" : : "r"(into) : "memory"); \
        break;
        STROBE_STORE_VECTOR(0)
        STROBE_STORE_VECTOR(1)
        STROBE_STORE_VECTOR(2)
        STROBE_STORE_VECTOR(3)
        STROBE_STORE_VECTOR(4)
        STROBE_STORE_VECTOR(5)
        STROBE_STORE_VECTOR(6)
        STROBE_STORE_VECTOR(7)
        STROBE_STORE_VECTOR(8)
        STROBE_STORE_VECTOR(9)
        STROBE_STORE_VECTOR(10)
        STROBE_STORE_VECTOR(11)
        STROBE_STORE_VECTOR(12)
        STROBE_STORE_VECTOR(13)
        STROBE_STORE_VECTOR(14)
        STROBE_STORE_VECTOR(15)
#undef STROBE_STORE_VECTOR
    }
#else
    (void)index;
#endif
}

/* Into 512 bytes, aligned to 16. Changes nothing, and raises no exception that is pending. */
static inline void strobe_x87_save(uint8_t* area) { __asm__ volatile("fxsave (%0)" : : "r"(area) : "memory"); }

/* The x87's and xmm registers, into as many bytes. */
static inline void strobe_vectors_save(uint8_t* area) { strobe_x87_save(area); }
static inline void strobe_vectors_restore(uint8_t* area) { __asm__ volatile("fxrstor (%0)" : : "r"(area) : "memory"); }

/* The program may have unmasked floating-point exceptions, and set how is rounded: not for code that is not its own. */
static inline void strobe_vectors_reset(void) {
    uint8_t memory[512 + 16];
    uint64_t* area = (uint64_t*)(((uint64_t)memory + 15) & ~(uint64_t)15);
    uint32_t index;
    for (index = 0; index < 512 / 8; index++) area[index] = 0;
    area[0] = 0x37f;  /* the x87's control word */
    area[3] = 0x1f80; /* mxcsr */
    strobe_vectors_restore((uint8_t*)area);
}

#define STROBE_SWITCHES_STACKS 1

/* Calls the function with `stack`, aligned to 16, as the stack pointer. */
static inline void strobe_call_on(uint64_t stack, void (*function)(void*), void* argument) {
    uint64_t called = (uint64_t)function, first = (uint64_t)argument;
    __asm__ volatile(
        "movq %%rsp, %%rbx\n\t"
        "movq %2, %%rsp\n\t"
        "call *%%rax\n\t"
        "movq %%rbx, %%rsp"
        : "+a"(called), "+D"(first)
        : "m"(stack)
        : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
}

/* The kernel's answer as it is: a negative errno on failure. */
static inline int64_t strobe_syscall(int64_t number, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f) {
    int64_t result;
    __asm__ volatile(
        "movq %5, %%r10\n\t"
        "movq %6, %%r8\n\t"
        "movq %7, %%r9\n\t"
        "syscall"
        : "=a"(result)
        : "a"(number), "D"(a), "S"(b), "d"(c), "m"(d), "m"(e), "m"(f)
        : "rcx", "r11", "r10", "r8", "r9", "memory");
    return result;
}

#endif
