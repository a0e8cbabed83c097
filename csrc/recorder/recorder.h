/*
 * The recorder: runs in the target and writes what its hooks see into the segment (csrc/abi).
 *
 * Rules of this folder, because the code runs inside arbitrary functions of somebody else's program:
 * no allocation, no lock, no libc, no global or static data (TinyCC's are read-only), no floating point on the way of a
 * call, never exit or abort; what cannot be recorded is counted. The same source is compiled by TinyCC in the target
 * (the portable form) and natively.
 *
 * A return is caught by a return stub, which stands for the return address. Every thread state owns STROBE_FRAMES stubs
 * and as many frames; stub d knows frame d, so frames left behind by longjmp or an exception cost nothing: a later
 * entry drops those whose stack slot lies below its own, and a return through stub d sets the depth to d. In the native
 * form it is the stub that calls the function, so that the CPU predicts all returns; in the portable form the return
 * address is replaced.
 */
#ifndef STROBE_RECORDER_H
#define STROBE_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "../abi/strobe_abi.h"
#include "../abi/strobe_agent.h"
#include "../recipe/machine.h"
#include "arch/cpu.h"
#include "extras.h"

/* What a call seldom needs is kept apart from what it always needs, or gcc gives that up registers for it. */
#ifdef __TINYC__
#define STROBE_COLD
#define STROBE_APART
#define STROBE_UNLIKELY(condition) (condition)
#else
#define STROBE_COLD __attribute__((noinline, cold))
#define STROBE_APART __attribute__((noinline))
#define STROBE_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#endif

#define STROBE_FRAMES 1024u /* traced frames of one thread whose return is caught */
#define STROBE_STUB_BYTES 16u
#define STROBE_RETURNED_RBP 12    /* so many words below the slot of a call that returns lies rbp (stubs.c) */
#define STROBE_STUB_CALL_BYTES 6u /* at its beginning; behind them lies what stands on the stack */
#define STROBE_LEFT_RETURNS 256u
/* Of handlers that interrupt the recording of one another. What is recorded may have to wait for the kernel, longer
   than until the next signal: without a limit the stack would fill. */
#define STROBE_NESTED_STATES 2u
/* Of one function in one thread. A function is looked at for the first time after so many calls: they are all kept. */
#define STROBE_SAMPLING_WINDOW_CALLS 10000u
#define STROBE_SAMPLING_WINDOW_NS 100000000.0
#define STROBE_SAMPLING_KEEP_ONE_IN 100u
#define STROBE_UNWINDERS 64u
#define STROBE_OWN_RANGES 24u
#define STROBE_DEPARTURE_SPINS 0x90000000u  /* turns without a system call, some seconds: guards.c */
#define STROBE_END_ATTEMPTS 1000            /* of a millisecond: threads that are to end what they are at */
#define STROBE_FILTERED_BYTES (16u << 20)   /* of chunks, made ahead when a program begins to filter its system calls */
#define STROBE_RETURNING_MARK 0x80000000ull /* added to a frame's number, which alone could be anything on a stack */
#define STROBE_PAGE_BYTES 4096u
#define STROBE_MADV_DONTNEED 4
#define STROBE_SIG_BLOCK 0 /* rt_sigprocmask(2) */
#define STROBE_SIG_UNBLOCK 1
#define STROBE_SIG_SETMASK 2
#define STROBE_PR_GET_NAME 16 /* prctl(2) */
#define STROBE_PR_GET_TSC 25
#define STROBE_PR_SET_TSC 26
#define STROBE_TSC_READABLE 1
#define STROBE_TSC_FAULTS 2
#define STROBE_THREAD_BLOCK_BYTES 2048u /* less than glibc's struct pthread has */
#define STROBE_TEXT_PIECE 64u           /* bytes of wide text that are read before its end is looked for */
#define STROBE_JUMPS (2 * STROBE_FUNCTION_CAPACITY)
#define STROBE_EXTRAS 65536u /* sets of them, watches, recipes */
#define STROBE_RECIPE_STEPS (1u << 20)
#define STROBE_SCRATCH_BYTES 4096u
#define STROBE_SCRATCH_ITEMS 128u
#define STROBE_ENTRY_WORDS 8192u /* that the calls of a thread keep until they return */

#define STROBE_FRAME_SKIP 1u   /* the entry was not recorded, so the exit is not either */
#define STROBE_FRAME_UNHELD 2u /* with SKIP: its condition did not hold; else it was sampled out */
#define STROBE_FRAME_LATE 4u   /* with SKIP: its condition is decided at the return */
#define STROBE_FRAME_TAIL 8u   /* times the number of frames below that jumped on, and return with this one */
#define STROBE_TAIL_CHAIN 64u

struct strobe_frame {
    uint64_t return_address;
    uint64_t slot; /* where on the stack it stood */
    uint64_t enter_ticks;
    uint32_t function;
    uint32_t flags;               /* STROBE_FRAME_* */
    uint64_t callee_ticks;        /* of traced callees that returned */
    struct strobe_totals* totals; /* NULL: there was no room */
    uint64_t resume;              /* where the stub goes on into the function; 0 in the portable form */
    uint64_t total_before;        /* the function's total_ticks when the call began */
};
STROBE_STATIC_ASSERT(sizeof(struct strobe_frame) == 64, "a frame is one cache line; arch/ relies on the size");

/* Where a frame that was dropped with its stub in place would have returned to. */
struct strobe_left_return {
    uint64_t stub;
    uint64_t slot;
    uint64_t return_address;
};

/* One recording thread. Owned by that thread from claim to thread end; nobody else writes to it. The host reads its
   beginning from outside (struct strobe_thread_state_view). */
struct strobe_thread_state {
    uint32_t claimed;
    uint32_t tid;
    struct strobe_frame* frames; /* this state's STROBE_FRAMES frames; set with its stubs */
    uint64_t first_stub;         /* the address that stands for the first of them on the stack */
    uint64_t busy_slot; /* not `idle` while the recorder works with this state: a handler then needs another one */
    uint64_t idle; /* 0, or what it is once the thread has run its destructors, or the session has ended (threads.c) */
    uint64_t thread_pointer;
    uint64_t begun_at; /* where on the stack it was begun */
    uint32_t depth;    /* open frames */
    uint32_t thread_index;
    uint64_t stack_low; /* of the thread's own stack; beyond it only entries are recorded */
    uint64_t stack_high;
    uint64_t last_ticks;
    struct strobe_chunk* chunk;
    uint64_t chunk_sequence; /* of the last chunk taken; never reset */
    uint32_t used;           /* bytes of the chunk */
    uint32_t records;        /* ENTER and EXIT records in the chunk */
    uint32_t name_countdown; /* events until the thread's name is read again: threads name themselves late */
    uint32_t name_interval;
    uint32_t end_rounds; /* times the thread-end destructor has run */
    uint32_t stubs_written;
    uint32_t runs_script;               /* what the thread calls meanwhile, the agent calls */
    uint32_t touching;                  /* STROBE_TOUCHING_*, while signals are held for a record's reads */
    struct strobe_thread_state* nested; /* of the same thread: records while this one is busy, in signal handlers */
    uint32_t totals_chain;              /* first of this state's totals entries, 0 for none */
    uint32_t lane;                      /* of this process in this segment, kept to the session's end; 0 for none yet */
    uint32_t entries_top;               /* place of the newest entry, counted from 1; 0: none. entries.c */
    uint32_t reserved;
    uint64_t hit;                                                  /* STROBE_FACT_HIT of the probe that is at work */
    struct strobe_left_return left_returns[STROBE_LEFT_RETURNS];   /* by stub and slot, the newest of each place */
    struct recipe_run machine;                                     /* of a recipe that is running: 5 KB */
    struct strobe_recipe_item scratch_items[STROBE_SCRATCH_ITEMS]; /* what it gives */
    uint8_t scratch[STROBE_SCRATCH_BYTES];
    uint64_t entries[STROBE_ENTRY_WORDS];
    struct strobe_steps steps;                       /* of stacks, as they were last */
    uint32_t totals_index[STROBE_FUNCTION_CAPACITY]; /* function id -> totals entry, 0 for none yet */
};

#define STROBE_INSIDE_BYTES 8192u

/* A page that the kernel clears in a forked child (MADV_WIPEONFORK): there the recorder is off, and the return stubs go
   straight to the caller, because the child would otherwise write into its parent's chunks. */
struct strobe_control {
    uint64_t exit_handler; /* address of strobe_exit; 0: return stubs only return */
    uint32_t alive;
    uint32_t has_agent;      /* never set again in a child, whatever is recorded there */
    uint32_t agent_calls;    /* threads in code that goes with the agent, save those that have a place in
                                strobe_recorder.inside; behind has_agent, as machine code has it */
    uint32_t is_own;         /* this memory is the process's own: 0 in a child until it is recorded */
    uint64_t loading_thread; /* thread pointer of the one that reports a library to the agent, and is in its code; 12
                                bytes behind has_agent. Who comes there has the dynamic linker's lock. */
    uint32_t lone_call;      /* STROBE_LONE_*; 0: none waits. The host clears it. */
    uint32_t lone_fd;        /* its first argument; behind lone_call, as machine code has it */
    uint32_t lone_waits;     /* such calls wait: threads of the agent are there, or may be. The host clears it. */
    uint32_t notes_exit;     /* _exit is noted for the host: not in a child */
};

struct strobe_probe {
    uint32_t next;    /* of the same instruction; of a hooked function the first probe of its returns; 0: none */
    uint32_t limit;   /* which of the limits is its; 0: it has none */
    uint64_t address; /* of the instruction, where it is its first probe */
};

/* Memory with trampolines of probed instructions, as strobe_agent_write_sites has made them, or of functions. */
struct strobe_site_range {
    uint64_t start;
    uint64_t end;
    uint64_t is_of_functions;
};

/* At the end of a function's trampoline, so many bytes behind its number: for who finds a thread in it. */
#define STROBE_TRAMPOLINE_ORIGIN 80u
struct strobe_trampoline_origin {
    uint64_t jump;     /* where the jump to the trampoline lies */
    uint8_t copies[4]; /* as strobe_trampoline has them */
    uint8_t displaced; /* bytes of the instructions that have copies */
    uint8_t call;      /* so far behind the trampoline's begin the return address of a displaced call is pushed, from
                          the next bytes on it is whole; 0: there is none */
    uint8_t back;      /* the jump to what is behind the displaced instructions lies so far behind it; 0: none */
    uint8_t reserved;
};
#define STROBE_SITE_RANGES 4096u

/* What was passed to the call of a frame: once a thread's STROBE_FRAMES are open, the next call has a slot as well. */
struct strobe_kept {
    uint64_t enter_ticks; /* of the call; another's are not its */
    struct strobe_passed passed;
};
#define STROBE_KEPT_SLOTS (STROBE_FRAMES + 1)

/* Runs script `number & 0xffff` at the entry, with STROBE_SCRIPT_AT_EXIT at the return: `registers` as
   strobe_capture_values has them. Writes JSON, up to STROBE_SCRIPT_BYTES, and returns how many bytes; with
   STROBE_SCRIPT_FAILED it says why there is no value. */
typedef uint64_t strobe_script_function(uint64_t number, const uint64_t* registers, const uint64_t* slot, void* out);

struct strobe_recorder {
    struct strobe_control* control; /* what the host reads of this from outside: struct strobe_recorder_view */
    struct strobe_header* header;
    struct strobe_thread* threads;
    struct strobe_function_plan* plans;
    struct strobe_totals* totals;
    uint8_t* chunks;
    struct strobe_thread_state* states;
    uint32_t states_used;            /* states from the front that were ever claimed */
    uint32_t state_bytes;            /* of each of them */
    struct strobe_frame* frames;     /* STROBE_THREAD_STATES * STROBE_FRAMES */
    struct strobe_capture* captures; /* STROBE_CAPTURE_CAPACITY */
    uint8_t* stubs;                  /* as many stubs of STROBE_STUB_BYTES, then the common return path */
    uint32_t return_path_pops;       /* where in the return path the registers are restored */
    uint32_t return_path_bytes;
    uint8_t* unwind_table;    /* .eh_frame for all stubs, to be given to __register_frame */
    uint32_t first_function;  /* strobe_agent_first_function */
    uint32_t functions_given; /* how many numbers of functions this session has, from that one on */
    uint64_t start_ticks;
    uint64_t ns_per_tick; /* the bits of a double */
    uint64_t ticks_apart; /* events of a thread are so far from each other at least: each has a moment of its own */
    uint64_t sampling_window_ticks; /* STROBE_SAMPLING_WINDOW_CALLS in less than this are more than 100,000 a second */
    uint32_t clock_kind;
    uint32_t catch_returns; /* 0 where the CPU checks return addresses (shadow stack): entries only */
    uint32_t pid;
    uint32_t owner;                  /* pid, as chunks and lanes have it: STROBE_OWNER_UNKNOWN in another namespace */
    uint64_t no_chunk_before_ticks;  /* all chunks were in use, and are not looked through again before */
    uint64_t no_state_before_ticks;  /* the same of thread states */
    uint64_t no_totals_before_ticks; /* there was no room for a totals entry, and none is asked for again before */
    uint64_t loader_lock;            /* address of glibc's lock on its list of libraries; 0 where it is not known */
    uint64_t exit_lock;              /* of that on its list of functions to call at exit; likewise */
    uint32_t has_fork_handler;
    uint32_t follows_forks;
    uint32_t fault_catching;     /* STROBE_FAULTS_* */
    uint32_t pages_wait;         /* 1: the program fills pages itself, and reads of missing ones wait for it */
    uint32_t may_call_kernel;    /* 0 once the program filters its system calls: none is made on its threads then */
    uint32_t calling_kernel;     /* threads that may be about to make one: strobe_calls_begin */
    uint32_t is_filtering;       /* 1: a thread gets ready what needs system calls, as may_call_kernel is to be 0 */
    uint64_t tracer;             /* whom the program has permitted to trace it in this session (PR_SET_PTRACER); 0 */
    uint32_t thread_key;         /* pthread key of the thread state */
    uint32_t tid_offset;         /* of struct pthread, from the thread pointer: the thread's id; 0 where not known */
    uint32_t stack_offset;       /* and where its stack begins, its size and its guard's; 0 where not known */
    uint64_t main_stack_address; /* any address in the main thread's stack */
    uint64_t made_chunks[2];     /* once may_call_kernel is 0: from where to where there are pages; and of the totals */
    uint64_t made_totals[2];
    uint64_t filtered_name[2]; /* of the thread that has set up the filter, once may_call_kernel is 0 */
    uint64_t main_stack_low;
    uint64_t main_stack_high;
    uint64_t thread_slot;   /* where the C library keeps this key's value, from the thread pointer; 0: not known */
    uint64_t exit_function; /* what control->exit_handler is while the recorder is on */
    struct strobe_watch* watches; /* by id, as the recipes */
    struct strobe_stored_recipe* recipes;
    struct strobe_recipe_step* recipe_steps;
    struct strobe_extras* extras; /* sets; never changed once they are there */
    uint16_t* extras_of;          /* by function, for those with STROBE_PLAN_EXTRAS */
    struct strobe_kept* kept;     /* STROBE_THREAD_STATES * STROBE_KEPT_SLOTS */
    uint32_t recipe_steps_used;
    uint32_t extras_used;
    strobe_script_function* script;
    int (*set_cancel_state)(int state, int* before); /* pthread_setcancelstate; NULL where there is none */
    void (*libraries_changed)(void);                 /* the agent's, as the script */
    const uint8_t* library_state; /* of the dynamic linker, for the program's own namespace: r_debug.r_state */
    struct strobe_unwind_directory*
        unwinding;           /* csrc/unwind/table.h; how frames are unwound; NULL: nobody has asked for stacks */
    const uint64_t* callers; /* code that unwinders know: a count, then pairs of start and end, by address */
    void* (*get_specific)(uint32_t key);
    int (*set_specific)(uint32_t key, const void* value);
    int (*plain_set_specific)(uint32_t key, const void* value);
    uint64_t* inside; /* where the recorder goes with the agent: threads that are in it (arch/x86_64/guards.c) */
    struct strobe_jump* jumps; /* that may stand in the program's code, as they were made: STROBE_JUMPS */
    uint64_t jump_count;
    struct strobe_trap*
        traps; /* STROBE_TRAPS, by strobe_trap_index; of a library that has gone they lead nowhere (0) */
    struct strobe_probe* probes;           /* by function, of those that are probes */
    struct strobe_limit* limits;           /* likewise, of the first site of each probe */
    struct strobe_site_range* site_ranges; /* STROBE_SITE_RANGES; end 0: of a library that has gone */
    uint64_t site_range_count;
    uint64_t segment_bytes; /* 0: its memory is somebody else's business */
    uint32_t has_key;
    uint32_t agent_tid; /* the thread of the agent whose session this is */
    uint32_t unwinder_count;
    uint32_t routine_offset;  /* of struct pthread: the function that the thread began with; 0 where not known */
    uint64_t agent_code[2];   /* from where to where the agent's code lies: its threads begin there */
    uint64_t loader_code[2];  /* and that of the thread that has loaded it */
    uint64_t library_code[2]; /* and the C library's, which the agent calls */
    uint64_t kept_stack;      /* own_stacks.c; 0 for none yet */
    uint32_t kept_stack_taken;
    uint32_t unwinding_generation;        /* of `unwinding`; 0: there was none yet */
    uint64_t unwinders[STROBE_UNWINDERS]; /* that know the return stubs */
    uint64_t own[STROBE_OWN_RANGES][2];   /* from where to where the recorder's memory lies, but for the segment */
    uint32_t own_count;
    uint32_t* threads_of_states; /* by state: the thread that has it, or had it last; 0: it is free, or being claimed.
                                    States lie a megabyte apart: to look at 256 of them takes 50 us. */
    uint8_t* replaced_code;      /* where the agent is replacing code in steps, and by what; NULL: nowhere */
    uint8_t replacement[8];
    uint32_t replacement_bytes;
};

/* What the host reads from outside lies where csrc/abi/strobe_agent.h says. */
#define STROBE_IS_SEEN(kind, field) \
    STROBE_STATIC_ASSERT(offsetof(struct strobe_##kind, field) == offsetof(struct strobe_##kind##_view, field), #field)
STROBE_IS_SEEN(recorder, control);
STROBE_IS_SEEN(recorder, header);
STROBE_IS_SEEN(recorder, states);
STROBE_IS_SEEN(recorder, states_used);
STROBE_IS_SEEN(recorder, state_bytes);
STROBE_IS_SEEN(control, exit_handler);
STROBE_IS_SEEN(control, alive);
STROBE_IS_SEEN(control, has_agent);
STROBE_IS_SEEN(control, lone_call);
STROBE_IS_SEEN(control, lone_fd);
STROBE_IS_SEEN(control, lone_waits);
STROBE_IS_SEEN(thread_state, claimed);
STROBE_IS_SEEN(thread_state, tid);
STROBE_IS_SEEN(thread_state, busy_slot);
STROBE_IS_SEEN(thread_state, idle);
STROBE_IS_SEEN(thread_state, stack_low);
STROBE_IS_SEEN(thread_state, stack_high);
STROBE_IS_SEEN(thread_state, last_ticks);
STROBE_IS_SEEN(thread_state, runs_script);

STROBE_STATIC_ASSERT(offsetof(struct strobe_recorder, control) == 0, "the host reads it");
STROBE_STATIC_ASSERT(offsetof(struct strobe_recorder, header) == 8, "the host reads it");
STROBE_STATIC_ASSERT(offsetof(struct strobe_control, alive) == 8, "the host reads it");
STROBE_STATIC_ASSERT(offsetof(struct strobe_recorder, states) == 48, "the host reads it");
STROBE_STATIC_ASSERT(offsetof(struct strobe_thread_state, busy_slot) == 24 &&
                         offsetof(struct strobe_thread_state, stack_low) == 64 &&
                         offsetof(struct strobe_thread_state, last_ticks) == 80 &&
                         offsetof(struct strobe_thread_state, runs_script) == 128,
                     "the host reads it");
STROBE_STATIC_ASSERT(offsetof(struct strobe_control, loading_thread) == offsetof(struct strobe_control, has_agent) + 12,
                     "machine code has it so");

/* The one of this process. Portable form: memory that outlives the script, bound by the agent. */
extern struct strobe_recorder strobe_recorder;

static inline uint32_t strobe_trap_index(uint64_t address) {
    return (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 48) % STROBE_TRAPS;
}

/* recorder.c: set-up and end */

/* Lays out the state, or takes up that of a session that has ended, and switches the recorder on. `segment` is the
   mapped file. 0, or a negative errno. */
int64_t strobe_recorder_init(struct strobe_recorder* recorder, uint8_t* segment);
/* Switches it off; returns once no thread is inside the recorder (waits up to a second). Stubs stay usable, and the
   segment's place in memory is kept, with nothing of the file in it. */
void strobe_recorder_end(struct strobe_recorder* recorder);
/* Whoever still comes to the segment finds zeros: a thread that a debugger holds inside the recorder. */
void strobe_segment_replace(struct strobe_recorder* recorder);
void strobe_sleep_us(int64_t microseconds); /* less than a second */

/* calls.c: the hot path */

/* A call of `function` begins; `slot` points to the return address; `registers` are rdi, rsi, rdx, rcx, r8, r9. Gives
   the stub that is to call `resume`, with the stack pointer behind the slot; 0 where the return is not caught. */
STROBE_APART uint64_t strobe_enter(struct strobe_recorder* recorder, uint32_t function, uint64_t* slot,
                                   const uint64_t* registers, uint64_t resume);
typedef uint64_t strobe_enter_function(struct strobe_recorder*, uint32_t, uint64_t*, const uint64_t*, uint64_t);
/* The call of frame `frame_index`, whose return address stood at `slot`, returned with these in rax and rdx; gives the
   address to go on at. */
STROBE_APART uint64_t strobe_exit(struct strobe_recorder* recorder, uint64_t frame_index, uint64_t rax, uint64_t rdx,
                                  const uint64_t* slot);

/* A thread comes to the instruction whose first probe is `function`, with these registers (STROBE_CONTEXT_*), vector
   registers being as the program left them. */
STROBE_APART void strobe_site(struct strobe_recorder* recorder, uint32_t function, const uint64_t* registers);
/* Zeroed memory of the recorder's own; NULL where there is none. A system call. */
void* strobe_map(uint64_t bytes);
/* Of a thread that stands in a trampoline: makes of these registers what they would be at the program's own
   instruction. 0 where it is in none, or a probed instruction has run. Else where a function's trampoline begins, or 1.
 */
uint64_t strobe_leave_trampoline(const struct strobe_recorder* recorder, uint64_t* pc, uint64_t* sp);
/* Where the copy of an instruction lies over which the jump to this trampoline stands; 0: it is none of these. */
uint64_t strobe_copy_of(uint64_t trampoline, uint64_t pc);
/* Where a thread goes on that has run into the breakpoint instruction at `address`; 0: it is none of ours. */
uint64_t strobe_trap_find(const struct strobe_recorder* recorder, uint64_t address);

/* Room for a record of `function` with at most `words` words of payload, until it is written whole; NULL: there is
   none, which the caller counts. */
struct strobe_record* strobe_record_begin(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                          uint32_t function, uint32_t kind_flags, uint64_t ticks, uint32_t words);
void strobe_record_end(struct strobe_thread_state* state, struct strobe_record* record, uint32_t words);
/* Its set, which may become another at any time: it is looked up once for a record. NULL: none. */
const struct strobe_extras* strobe_extras_of(const struct strobe_recorder* recorder, uint32_t function);
/* As strobe_condition_holds, where reads are sure not to end the program. */
int strobe_call_is_wanted(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                          const struct strobe_extras* extras, int at_exit, const uint64_t* registers,
                          const uint64_t* slot);
/* limits.c: a thread comes by a probe. Where its condition holds: counts that, and says whether it is not to be
 * recorded.
 */
void strobe_hit_count(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t probe);
int strobe_is_beyond_limit(struct strobe_recorder* recorder, const struct strobe_thread_state* state, uint32_t probe);
/* Whether its condition is not to be looked at any more (STROBE_LIMIT_ENDS). */
int strobe_is_over(const struct strobe_recorder* recorder, uint32_t probe);

/* returns.c: a call of a function whose returns are probed begins, at `ticks`, and has returned. */
void strobe_returns_begin(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t function,
                          int catchable, uint64_t ticks, const uint64_t* registers, const uint64_t* slot);
void strobe_returns_record(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                           const struct strobe_frame* frame, const uint64_t* returned);

/* The innermost open frame of `state` was left by an exception, a jump, or the thread's end. */
void strobe_frame_drop(struct strobe_thread_state* state);
/* The same of all whose slots lie below `sp`, on the thread's own stack, which goes on there. The state is taken. */
void strobe_frames_leave(struct strobe_thread_state* state, uint64_t sp);
/* The program calls mlockall with these flags, and goes on with what is left here. Its memory is in RAM by then; the
   recorder's, some GB of addresses of which hardly any is used, is not to come there. */
void strobe_observe_mlockall(const struct strobe_recorder* recorder, uint64_t* flags);
/* The stub of frame `depth` is running, interrupted by a handler: it has put its number where it stood itself. */
int strobe_is_returning(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                        uint32_t depth);

/* capture.c: writes what `count` captures give to `out`, which has room for the plan's most_words; returns how many
   words. `registers`: by STROBE_SOURCE_*; `slot`: where the return address stands. Vector registers must be as the
   program left them. */
uint32_t strobe_capture_values(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                               const struct strobe_capture* captures, uint32_t count, const uint64_t* registers,
                               const uint64_t* slot, uint64_t* out);

uint64_t strobe_source(uint32_t source, const uint64_t* registers, const uint64_t* slot);

/* extras.c: writes the blocks of a set to `out`, which has room for its most_words; returns how many words. The rest as
   above. `totals`: of the function in this thread; NULL: each call has what the first ones have. */
uint32_t strobe_capture_extras(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                               const struct strobe_extras* extras, struct strobe_totals* totals, int at_exit,
                               const uint64_t* registers, const uint64_t* slot, uint64_t* out);
/* At the entry, with an entry begun (entries.c): keeps what is asked for at the return. */
void strobe_keep_entry(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                       const struct strobe_extras* extras, const uint64_t* registers, const uint64_t* slot);
/* At the entry of the call that begins at `ticks`: keeps what was passed to it (STROBE_NEEDS_*). */
void strobe_keep_passed(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t needs,
                        uint64_t ticks, const uint64_t* registers, const uint64_t* slot);
/* Of a set with a condition, at the entry, or at the return where it is decided then: 1 where it holds, 0 where it does
   not, -1 where what it asks for cannot be read. */
int strobe_condition_holds(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                           const struct strobe_extras* extras, int at_exit, const uint64_t* registers,
                           const uint64_t* slot);

/* entries.c: what the call that begins keeps until it returns. 0 where there is no room for anything. */
int strobe_entry_begin(struct strobe_thread_state* state);
/* The same, where the call, which begins at `enter_ticks`, may keep something already. */
int strobe_entry_go_on(struct strobe_thread_state* state, uint64_t enter_ticks);
/* Where the next words go, and how many there is room for; then how many it were. The payload comes first. */
uint64_t* strobe_entry_room(struct strobe_thread_state* state, uint32_t* room);
void strobe_entry_add_payload(struct strobe_thread_state* state, uint32_t words);
void strobe_entry_add_block(struct strobe_thread_state* state, uint32_t words);
/* When the call began, by which its return knows it. */
void strobe_entry_end(struct strobe_thread_state* state, uint64_t enter_ticks);
/* Of the call that returns, whose depth is the state's; NULL where nothing was kept. */
const uint64_t* strobe_entry_payload(struct strobe_thread_state* state, uint32_t* words);
const uint64_t* strobe_entry_blocks(struct strobe_thread_state* state, uint32_t* words);
/* By form: calls it with all of the CPU's registers kept for the program. */
uint64_t strobe_call_script(strobe_script_function* script, uint64_t number, const uint64_t* registers,
                            const uint64_t* slot, void* out);

#include "threads.h"

/* chunks.c: room for a record with `words` payload words, or NULL (counted by the caller) */
int strobe_populate(const struct strobe_recorder* recorder, void* start, uint64_t bytes);
/* Has the kernel make pages ahead, for when it may not be asked any more. */
void strobe_pages_prepare(struct strobe_recorder* recorder);
/* A process that has chunks or lanes of the segment. */
int strobe_owner_has_ended(const struct strobe_recorder* recorder, uint32_t owner);
uint64_t* strobe_record_reserve(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t words);
void strobe_record_publish(struct strobe_thread_state* state, uint32_t words, uint32_t counted);
void strobe_record_thread(struct strobe_recorder* recorder, struct strobe_thread_state* state);

/* totals.c: the thread's entry for `function`, made at the first call; NULL where there is no room (counted) */
struct strobe_totals* strobe_totals_begin(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                          uint32_t function);
void strobe_totals_forget(struct strobe_recorder* recorder, struct strobe_thread_state* state);
void strobe_totals_free(const struct strobe_recorder* recorder, struct strobe_thread_state* state);
/* Of the call of `frame`, which has returned. */
void strobe_totals_add_duration(struct strobe_totals* totals, const struct strobe_frame* frame,
                                uint64_t duration_ticks);

/* recorder.c: CLOCK_MONOTONIC */
uint64_t strobe_kernel_ns(void);
/* Before system calls: 1 where they are allowed until strobe_calls_end, for which a thread waits that is about to
   filter those of all threads. Else 0, and strobe_calls_end must not be called. What must be quick asks
   may_call_kernel. */
int strobe_calls_begin(const struct strobe_recorder* recorder);
void strobe_calls_end(const struct strobe_recorder* recorder);

/* restrictions.c */
/* Ticks of now, also where the thread has given up the clock before: not as exactly then. */
uint64_t strobe_ticks_anyhow(const struct strobe_recorder* recorder);
/* For the host; the first moment counts. */
void strobe_note_moment(uint64_t* place);
/* prctl(2), or seccomp(2), is about to be called with these arguments: of prctl the first three. */
void strobe_observe_prctl(uint32_t option, uint64_t argument, uint64_t other);
void strobe_observe_seccomp(uint32_t operation, uint32_t flags, uint64_t filter);
/* By form, called before a filter is set for all threads: the thread waits until the agent's are not there any more. */
void strobe_await_departure(struct strobe_recorder* recorder);
/* userfaultfd(2) is about to be called. */
void strobe_observe_userfaultfd(void);

/* mappings.c: 0 where there is none */
/* The mapping that holds `address`. */
int strobe_mapping_find(uint64_t address, uint64_t* low, uint64_t* high);
/* From where to where code of the same file lies without a gap, with `address` in it. */
int strobe_code_find(uint64_t address, uint64_t* range);
/* Whether the program has a descriptor by which it fills pages itself. */
int strobe_has_userfaultfd(void);

/* arch: return stubs and their unwind information */
/* 0: calls are recorded without their returns, and none of the stubs is used. */
int strobe_returns_can_be_caught(void);
int64_t strobe_stubs_write(struct strobe_recorder* recorder, uint32_t state_index);
void strobe_return_path_write(struct strobe_recorder* recorder);
/* A probe of Interceptor's for _exit; NULL for a CPU that has the following. */
void* strobe_exit_probe_write(struct strobe_recorder* recorder, uint32_t cpu_offset, uint32_t rdi_offset);
/* What the agent has _exit, and the dynamic linker's notification, jump to: their code, at `memory`. How many bytes; 0
   for a CPU that has none. `leads_to`: Frida's own hook. Likewise where the portable form's trampolines lead; `enter`:
   a strobe_enter_function. */
uint32_t strobe_exit_routine_write(struct strobe_recorder* recorder, uint8_t* memory);
/* Likewise unshare and setns, which `call` names (STROBE_LONE_*). `displaced`: the five bytes that the jump there
   replaces; it goes on behind them. */
uint32_t strobe_lone_routine_write(struct strobe_recorder* recorder, uint8_t* memory, uint32_t call,
                                   const uint8_t* displaced);
uint32_t strobe_entry_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t enter, int waits);
uint32_t strobe_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to);
uint32_t strobe_loader_guard_write(struct strobe_recorder* recorder, uint8_t* memory, uint64_t leads_to);
/* After the return path. */
void strobe_unwind_table_write(struct strobe_recorder* recorder);

/* Macros, because TinyCC does not inline functions. */
#define STROBE_KEPT_OF(recorder, state) \
    (&(recorder)->kept[(uint64_t)((state) - (recorder)->states) * STROBE_KEPT_SLOTS + (state)->depth])
#define STROBE_STUB_OF(state, depth) ((state)->first_stub + (uint64_t)(depth) * STROBE_STUB_BYTES)
/* Of whichever thread. */
#define STROBE_IS_STUB(recorder, address) \
    ((address) - (uint64_t)(recorder)->stubs < (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES * STROBE_STUB_BYTES)
#define STROBE_ON_OWN_STACK(state, slot) \
    ((uint64_t)(slot) >= (state)->stack_low && (uint64_t)(slot) < (state)->stack_high)

static inline struct strobe_totals* strobe_totals_of(struct strobe_recorder* recorder,
                                                     struct strobe_thread_state* state, uint32_t function) {
    uint32_t index = state->totals_index[function];
    if (STROBE_UNLIKELY(index == 0)) return strobe_totals_begin(recorder, state, function);
    return &recorder->totals[index];
}

/* STROBE_NEEDS_*: what is needed where both are. */
static inline uint32_t strobe_joined_needs(uint32_t one, uint32_t other) {
    uint32_t stack = one & STROBE_NEEDS_STACK;
    if ((other & STROBE_NEEDS_STACK) > stack) stack = other & STROBE_NEEDS_STACK;
    return ((one | other) & ~(uint32_t)STROBE_NEEDS_STACK) | stack;
}

static inline void strobe_count_skipped_exit(struct strobe_totals* totals, uint32_t flags) {
    if (!(flags & STROBE_FRAME_SKIP)) return;
    if (flags & STROBE_FRAME_LATE) { /* and nothing has decided */
        totals->unheld_enters++;
        totals->unheld_exits++;
        totals->undecided++;
    } else if (flags & STROBE_FRAME_UNHELD) {
        totals->unheld_exits++;
    } else {
        totals->sampled_out_exits++;
    }
}

static inline uint64_t strobe_ticks(const struct strobe_recorder* recorder) {
    if (STROBE_UNLIKELY(recorder->clock_kind != STROBE_CLOCK_TSC)) return strobe_kernel_ns() - recorder->start_ticks;
    return strobe_cycles() - recorder->start_ticks;
}

/* As below, where the clock is the TSC. */
static inline uint64_t strobe_next_cycles(const struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint64_t ticks = strobe_cycles() - recorder->start_ticks;
    uint64_t least = state->last_ticks + recorder->ticks_apart;
    if (STROBE_UNLIKELY(ticks < least)) ticks = least;
    state->last_ticks = ticks;
    return ticks;
}

/* Strictly increasing within a thread, so that (moment, lane) names an event. */
static inline uint64_t strobe_next_ticks(const struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    uint64_t ticks = strobe_ticks(recorder);
    uint64_t least = state->last_ticks + recorder->ticks_apart;
    if (ticks < least) ticks = least;
    state->last_ticks = ticks;
    return ticks;
}

#include "memory.h"

#endif
