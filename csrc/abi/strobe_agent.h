/*
 * What the recorder shares with the agent that sets it up, and with the host, besides the segment (strobe_abi.h).
 * The same rules: plain C that every compiler and cffi read. csrc/abi/generate.py makes strobe/_abi.py and agent/abi.ts
 * of both headers.
 */
#ifndef STROBE_AGENT_H
#define STROBE_AGENT_H

#include <stddef.h>
#include <stdint.h>

#define STROBE_THREAD_STATES 1024u /* threads that record at the same time */
#define STROBE_FUNCTION_CAPACITY 262144u
#define STROBE_CAPTURE_CAPACITY 1048576u /* of all functions and sets together; the same ones are there once */
#define STROBE_WATCH_DEREFERENCES 4u
#define STROBE_REGISTERS 6u /* of integer arguments */

/* What a script writes: up to so many bytes of JSON. The flag: why there is no value. */
#define STROBE_SCRIPT_BYTES 512u
#define STROBE_SCRIPT_FAILED 0x80000000ull
#define STROBE_SCRIPT_AT_EXIT 0x10000u /* added to the number of a script: at the return */

/*
 * Why a function is not hooked; strobe/capture/refusals.py has a sentence for each. The recorder, the agent and the
 * host refuse: the first ones are found in the function's code (csrc/recorder/arch).
 */
#define STROBE_REFUSED_NOTHING 0
#define STROBE_REFUSED_CALL_IN_ENTRY 1        /* a call lies in the bytes that would be overwritten */
#define STROBE_REFUSED_BRANCH_INTO_ENTRY 2    /* its own code jumps into them */
#define STROBE_REFUSED_TOO_SHORT 3            /* another function begins there */
#define STROBE_REFUSED_NOT_CODE 4             /* no instruction could be decoded */
#define STROBE_REFUSED_JUMP_AT_ENTRY 5        /* Interceptor would hook where that leads */
#define STROBE_REFUSED_TOO_FAR 6              /* what it refers to is out of a trampoline's reach */
#define STROBE_REFUSED_IN_USE 7               /* Interceptor hooks it itself */
#define STROBE_REFUSED_LANDING_AT_ENTRY 8     /* the CPU looks for its first instruction at an indirect call */
#define STROBE_REFUSED_SYSTEM_CALL_IN_ENTRY 9 /* the kernel goes back to it by its length */
#define STROBE_REFUSED_INTERCEPTOR 10         /* Interceptor could not hook it */
#define STROBE_REFUSED_UNLOADED 11            /* its library has gone */
#define STROBE_REFUSED_OTHER_CODE 12          /* memory has other code there than the file */
#define STROBE_REFUSED_THREAD_INSIDE 13       /* a thread stood in the bytes and did not leave */
#define STROBE_REFUSED_THREAD_BLOCKED 14      /* a thread could not be stopped */
#define STROBE_REFUSED_ALREADY_RUNNING 15     /* the code of this CPU is only changed before the program runs */
#define STROBE_REFUSED_NO_NUMBER 16           /* a session has no room for it */
/* the same of an instruction that is to be probed */
#define STROBE_REFUSED_NOT_NATIVE 17     /* the portable form of the recorder, or another CPU than x86-64 */
#define STROBE_REFUSED_UNMOVABLE 18      /* the instruction means something else elsewhere */
#define STROBE_REFUSED_SIGNAL_BLOCKED 19 /* a thread has SIGTRAP blocked: a breakpoint would end the program */
#define STROBE_REFUSED_LIBRARY_BLOCKS 20 /* the same, in the C library, which blocks signals by itself */
#define STROBE_REFUSED_UNDER_OBSERVER 21 /* the jump to an observer lies over it */
/* of a function again */
#define STROBE_REFUSED_ENTERED_ELSEWHERE 22 /* other code, or a table, leads into the bytes that are overwritten */

/* What is found in a function's code: its refusal in the low 8 bits, then */
#define STROBE_ENTRY_REFUSAL 0xff
#define STROBE_ENTRY_LOOPS 0x100        /* its own code jumps to its first byte */
#define STROBE_ENTRY_DISPLACED_SHIFT 16 /* bytes of the instructions that begin where the jump will lie */

#define STROBE_TRAMPOLINE_BYTES 96u
#define STROBE_TRAMPOLINE_HEAD 14u /* bytes of a function's before the displaced instructions */
#define STROBE_CODE_BEHIND 32u     /* bytes that are looked at behind a function's end */

/* A function that is to be hooked, and the trampoline that is made for it. */
struct strobe_trampoline {
    uint64_t entry;
    uint64_t size;
    uint32_t function;
    uint32_t result;    /* out: STROBE_ENTRY_*, without what is displaced; where nothing is refused: */
    uint64_t address;   /* out: where the jump leads */
    uint64_t leads_to;  /* out: where the function's first instruction jumps, if it is a jump; else 0 */
    uint32_t skip;      /* out: the jump lies so many bytes behind the entry */
    uint32_t displaced; /* out: bytes of the instructions that begin where it lies */
    uint8_t copies[4];  /* out: the copy of the instruction 1 to 4 bytes behind the jump's first lies so far behind
                           `address`; 0: none begins there */
    uint32_t reserved;
    uint8_t original[8]; /* out: what stands where the jump is to lie */
};

/* Of an instruction's trampoline, from its number on: where it calls the recorder, 128 bytes further down the stack,
   and where the instruction lies. */
#define STROBE_SITE_CALL 9u
#define STROBE_SITE_INSTRUCTION 23u
#define STROBE_SITE_CALLED 36u /* of an indirect call: its return address was pushed before */
#define STROBE_SITE_STACK 128u
#define STROBE_TRAMPOLINES_HEADER 16u /* bytes before the first one of a memory */

/* An instruction that is to be probed, and the trampoline that is made for it. */
struct strobe_site {
    uint64_t address;
    uint32_t function; /* the number of its first probe */
    uint32_t result;   /* out: STROBE_REFUSED_*; where nothing is refused: */
    uint64_t leads_to; /* out: the trampoline */
    uint64_t back;     /* out: where its last jump lies, to what follows the instruction; 0: nothing follows */
    uint32_t size;     /* out: bytes of the instruction */
    uint32_t reserved;
    uint8_t original[16]; /* out: these bytes */
};

/* A jump, or a breakpoint instruction, that may stand in the program's code, as it was made. */
struct strobe_jump {
    uint64_t address;
    uint64_t leads_to;
    uint64_t original;
    uint32_t written;  /* bytes: 5 of a jump, 1 of a breakpoint instruction */
    uint32_t is_probe; /* of an instruction; else of a function's entry */
};

/* Of the times that the condition of a probe holds, wherever that is, `most` are recorded, behind the first `after`,
   and no more than `rate` in a second. */
struct strobe_limit {
    uint64_t held;
    uint32_t after;
    uint32_t most;     /* STROBE_NO_LIMIT: all */
    uint64_t hits;     /* how often threads came by, where it is counted */
    uint64_t recorded; /* where it has a rate */
    uint64_t second;   /* of the session, in the high 32 bits; how often it was recorded in that */
    uint32_t rate;     /* STROBE_NO_LIMIT: none */
    uint32_t flags;    /* STROBE_LIMIT_* */
};
#define STROBE_NO_LIMIT 0xffffffffu
#define STROBE_LIMIT_COUNTS_HITS 1u /* which `hits` has */
#define STROBE_LIMIT_ENDS 2u        /* once `most` of them are recorded the condition is not looked at any more */

/* Where a thread goes on that runs into the breakpoint instruction at an address; 0: none was there ever. */
struct strobe_trap {
    uint64_t address;
    uint64_t leads_to;
};
#define STROBE_TRAPS 65536u

/* A number of 1 to 8 bytes behind some pointers. */
struct strobe_watch {
    uint64_t address;
    int64_t offsets[STROBE_WATCH_DEREFERENCES];
    uint8_t dereferences;
    uint8_t width;
    uint8_t is_thread_local; /* `address` counts from the thread pointer */
    uint8_t reserved[21];
};

/*
 * Words that were passed to a call, and that it returned, by number: first the integer registers, rdi, rsi, rdx, rcx,
 * r8, r9. Step PASSED of a recipe names them.
 */
#define STROBE_PASSED_RAX 6u     /* at the return, as the next one, rdx */
#define STROBE_PASSED_XMM0 8u    /* to xmm7, their low halves */
#define STROBE_PASSED_STACK 16u  /* the first words above the return address */
#define STROBE_PASSED_RETURN 24u /* xmm0 and xmm1 at the return */
#define STROBE_PASSED_RESULTS 2u /* so many of them */
#define STROBE_PASSED_WORDS 33u
#define STROBE_PASSED_ON_STACK 8u
/* strobe_capture.source of a watch that names some: what is needed, and in the low bits how many words of the stack. */
#define STROBE_NEEDS_PASSED 0x80
#define STROBE_NEEDS_VECTORS 0x40
#define STROBE_NEEDS_ENTRY 0x10 /* something is kept from the entry to the return */
#define STROBE_NEEDS_STACK 0x0f
/*
 * At a probed instruction step PASSED names the CPU's registers instead, by their DWARF numbers: rax, rdx, rcx, rbx,
 * rsi, rdi, rbp, rsp, r8 to r15, then
 */
#define STROBE_CONTEXT_RSP 7u
#define STROBE_CONTEXT_PC 16u   /* the trampoline's, which says nothing of the program */
#define STROBE_CONTEXT_XMM0 17u /* to xmm15, their low halves */
#define STROBE_NEEDS_CONTEXT 0x20
#define STROBE_NEEDS_CALLER 0x01 /* with that: where the function returns to, which is unwound */

/* struct strobe_unwind_directory, csrc/unwind/table.h: words of what was looked up, behind four others; its modules. */
#define STROBE_UNWIND_CACHED 8192u
#define STROBE_UNWIND_MOST_MODULES 4094u

/* What is known of the moment, beside memory: step FACT of a recipe names them. */
#define STROBE_FACT_THREAD 0u         /* its id */
#define STROBE_FACT_DEPTH 1u          /* traced calls above this one */
#define STROBE_FACT_THREAD_NAME 2u    /* the address of its name, of 16 bytes */
#define STROBE_FACT_THREAD_POINTER 3u /* its thread-local variables lie at places behind and before that */
#define STROBE_FACT_HIT 4u            /* of a probe: how often threads came by, this time included */
#define STROBE_FACT_TIME 5u           /* ticks since session start */
#define STROBE_FACT_NS_PER_TICK 6u    /* the bits of a double */
#define STROBE_FACT_PID 7u            /* of the process */
#define STROBE_FACT_CALLER 8u         /* where the call returns to; at a probed instruction with STROBE_NEEDS_CALLER */
#define STROBE_FACTS 9u

/* strobe_agent_add_extras: added to the number of a condition's recipe that is decided at the return */
#define STROBE_CONDITION_AT_RETURN 0x10000u

/* One step of a recipe; csrc/recipe/recipe.h says what they do. */
struct strobe_recipe_step {
    uint8_t op;
    uint8_t width;
    uint16_t zero; /* of a loop 1 where it is quiet */
    uint32_t count;
    int64_t operand;
};

/*
 * What the host reads of the recorder's own memory from outside, while the program runs: the beginnings of struct
 * strobe_recorder, strobe_control and strobe_thread_state, which csrc/recorder/recorder.h declares and compares.
 */
struct strobe_recorder_view {
    uint64_t control;
    uint64_t header;
    uint64_t reserved[4];
    uint64_t states;
    uint32_t states_used;
    uint32_t state_bytes; /* of each */
};

struct strobe_control_view {
    uint64_t exit_handler;
    uint32_t alive;
    uint32_t has_agent;
    uint64_t reserved1[2];
    uint32_t lone_call;
    uint32_t lone_fd;
    uint32_t lone_waits;
    uint32_t reserved2;
};

/* struct strobe_control.lone_call: which call waits until the agent has left. The first two fail where there are
   threads; a filter of the system calls of all threads would end the agent's, and the program with them. */
#define STROBE_LONE_UNSHARE 1u
#define STROBE_LONE_SETNS 2u
#define STROBE_LONE_FILTER 3u

struct strobe_thread_state_view {
    uint32_t claimed;
    uint32_t tid;
    uint64_t reserved0[2];
    uint64_t busy_slot;
    uint64_t idle;
    uint64_t reserved1[3];
    uint64_t stack_low;
    uint64_t stack_high;
    uint64_t last_ticks;
    uint64_t reserved2[5];
    uint32_t runs_script;
    uint32_t reserved3;
};

#endif
