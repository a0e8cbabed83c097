/*
 * What the target and the host share: the layout of a segment.
 *
 * The recorder (in the target) writes a segment, the reader (on the host) maps the same file read-only.
 * This is the only declaration of that layout. It compiles as C11, as C++20 and under TinyCC, and Python
 * reads it with cffi, so it includes nothing but <stdint.h> and <stddef.h> and uses no compiler extension.
 *
 *   segment file
 *   +--------+--------------+-------------------+-------------------+--------------------------------+
 *   | header | thread table | function plans    | totals            | chunks, 64 KiB each            |
 *   | 4 KiB  | 4096 x 64 B  | function_capacity | totals_capacity   | chunk_count                    |
 *   +--------+--------------+-------------------+-------------------+--------------------------------+
 *   The owners of the lanes lie between the thread table and the plans.
 *   Regions start at the offsets the header names, each a multiple of 64 KiB. The file is sparse: what was never used
 *   takes no space. The recorder asks the kernel for the pages (MADV_POPULATE_WRITE) before it first writes a chunk or
 *   a totals entry, so that a full file system is an error value and never a SIGBUS in the target.
 *
 *   a chunk's life
 *     FREE --claim--> OWNED by one thread --no room left, or thread exit--> FULL --claim (evicts)--> OWNED ...
 *   A claim takes the next ticket (one atomic add); ticket % chunk_limit names the chunk, so chunks are handed out in a
 *   ring and the oldest one is evicted first. A chunk that is still OWNED is passed over, unless its owner has ended.
 * While a chunk is being taken over its `sequence` is 0; afterwards it is ticket + 1. A reader reads `sequence`, copies
 * the chunk, and reads `sequence` again: a different value means that the copy is torn and the old content is gone
 * (evicted).
 *
 *   Publication: the owner writes a record, then stores `progress` (release). Only the bytes that `progress` covers may
 *   be read. Records of one thread have ticks that differ by 1 << number_shift at least, and increase.
 */
#ifndef STROBE_ABI_H
#define STROBE_ABI_H

#include <stddef.h>
#include <stdint.h>

#define STROBE_ABI_VERSION 5u
#define STROBE_ABI_OLDEST 5u               /* that can still be read */
#define STROBE_MAGIC 0x31424f5254530000ull /* "\0\0STROB1", little endian */

#define STROBE_HEADER_BYTES 4096u
/* At the beginning of a stack that the recorder has switched to, so many bytes below its end; then the address from
   where on the stack before it is in use. */
#define STROBE_STACK_NOTE 0x6b63617453627453ull
#define STROBE_STACK_NOTE_BYTES 256u
#define STROBE_REGION_ALIGN 65536u
#define STROBE_CHUNK_BYTES 65536u
#define STROBE_THREAD_CAPACITY 4096u
#define STROBE_THREAD_INDEX_HOST 4095u   /* events that the host makes: output, exit */
#define STROBE_THREAD_INDEX_SHARED 4094u /* threads beyond the table */
/* A lane tells apart what several hands write at the same moment: of all hands at work at once no two have the same. */
#define STROBE_LANE_BITS 10
#define STROBE_LANES 1024u
#define STROBE_LANE_SHARED 0u  /* of hands beyond the lanes: only here may two events have one number */
#define STROBE_LANE_HOST 1023u /* of events that the host makes: the last of their moment */
#define STROBE_OPEN_FRAMES 32u
#define STROBE_HISTOGRAM_BUCKETS 128u /* 4 per octave, from 2^4 ticks; see strobe_histogram_bucket */

/* strobe_header.clock_kind */
#define STROBE_CLOCK_MONOTONIC 0u /* a tick is a nanosecond of CLOCK_MONOTONIC */
#define STROBE_CLOCK_TSC 1u       /* a tick is a cycle of the invariant time stamp counter */

/* strobe_header.exit_state */
#define STROBE_EXIT_RUNNING 0u
#define STROBE_EXIT_CALLED 1u /* the program called _exit or exit_group; exit_code holds its argument */

/* strobe_chunk.state */
#define STROBE_CHUNK_FREE 0u
#define STROBE_CHUNK_OWNED 1u
#define STROBE_CHUNK_FULL 2u

/* strobe_chunk.owner, and that of a lane: a process in another namespace, which nobody here can look for */
#define STROBE_OWNER_UNKNOWN 0xffffffffu

/* strobe_record.kind */
#define STROBE_RECORD_ENTER 1u /* payload: what the plan's captures give, in their order, then extras */
#define STROBE_RECORD_EXIT \
    2u /* payload: duration in ticks, then the same of the return value where HAS_RETURN is set, then extras */
#define STROBE_RECORD_THREAD \
    3u /* payload: index into the thread table, tid; what follows in this chunk is of that thread */

/* strobe_record.flags */
#define STROBE_FLAG_SAMPLED 1u    /* kept while the function was being sampled */
#define STROBE_FLAG_HAS_RETURN 2u /* EXIT: the payload has a return value */
#define STROBE_FLAG_LATE 4u /* EXIT: its ENTER was written right before it, when its condition was known to hold */
#define STROBE_FLAG_HAS_EXTRAS 2u /* ENTER: extras follow */
#define STROBE_FLAG_NO_EXIT 4u    /* ENTER: the return could not be caught (see strobe_totals.exits_missed) */
#define STROBE_FLAG_TAIL 8u       /* ENTER: reached by a jump from the traced function one level up */

/* strobe_function_plan.flags; the host writes them through the agent, the recorder reads them at each call */
#define STROBE_PLAN_ENABLED 1u /* record calls; cleared: the hook passes straight on */
#define STROBE_PLAN_SAMPLE 2u  /* may be sampled when it is hot */
#define STROBE_PLAN_WORDS 4u   /* its captures at the entry are all words of registers, at the return rax at most */
#define STROBE_PLAN_LOOPS_TO_ENTRY 8u /* its own code jumps to its first byte: a repeated entry may be no call */
#define STROBE_PLAN_EXTRAS 16u        /* more is recorded of its calls; never beside WORDS */
#define STROBE_PLAN_ENTRY_ONLY 32u    /* its return address stays as it is; never beside WORDS */
#define STROBE_PLAN_SITE                                                                                             \
    128u /* no function but an instruction: each time that a thread comes by; of a hooked function: only its returns \
            are probed; never beside WORDS */
#define STROBE_PLAN_CALLER 64u /* the same, where it leads to code that nobody can unwind; never beside WORDS */

/* strobe_header.crashes: which of them, and its state */
#define STROBE_CRASH_ENDED 0u   /* a signal for which the program has no handler */
#define STROBE_CRASH_HANDLED 1u /* a fault that the program's own handler got: it may have gone on */
#define STROBE_CRASH_ABORTED 2u /* abort was called */
#define STROBE_CRASHES 3u
#define STROBE_CRASH_NONE 0u
#define STROBE_CRASH_IN_THE_MAKING 1u
#define STROBE_CRASH_WHOLE 2u
#define STROBE_CRASH_CALLS 26u
#define STROBE_CRASH_STACK_BYTES 65536u /* of each: struct strobe_crash_stack, then what the stack holds */
/* strobe_crash.access of SIGABRT: a failed assertion, abort, raise. The others of its bits are the recorder's own. */
#define STROBE_CRASH_BY_ASSERTION 1u
#define STROBE_CRASH_BY_ABORT 2u
#define STROBE_CRASH_BY_RAISE 4u
#define STROBE_CRASH_OUTLIVED 8u /* its thread has come back from it: it is not how the program has ended */

/* A call that a thread was in. `flags`: 1 where its entry was not recorded. */
struct strobe_crash_call {
    uint64_t enter_ticks;
    uint32_t function;
    uint32_t flags;
};

/* How a thread was when it got a signal: written by it, `state` last. */
struct strobe_crash {
    uint32_t state; /* STROBE_CRASH_NONE, IN_THE_MAKING, WHOLE */
    uint32_t pid;
    uint32_t tid;
    uint32_t signal;
    int32_t code;   /* si_code: 0 or less where a process has sent it */
    uint32_t depth; /* traced calls that were open, those included that have no room in `calls` */
    uint32_t lane;  /* of their events */
    uint32_t call_count;
    uint64_t ticks;
    uint64_t address; /* si_addr; of a signal that was sent the sender's pid in the low 32 bits */
    uint64_t pc;      /* of abort where it was called from */
    uint64_t sp;
    uint64_t caller; /* what lies at `sp`; 0 where it cannot be read. A return address where pc is at a function's
                        beginning, or leads to no code */
    uint64_t access; /* the CPU's error code: of a page fault 2 for a write, 16 for an instruction; of SIGABRT
                        STROBE_CRASH_BY_*, OUTLIVED */
    uint64_t thread_pointer; /* recorder's own */
    uint64_t frame; /* of HANDLED the context that its handler was given; of the others the same one while that handler
                       still runs, or has just returned to where the fault was; else 0 */
    struct strobe_crash_call calls[STROBE_CRASH_CALLS]; /* innermost first */
};

/* How the stack was at that moment, for unwinding on the host; not of HANDLED. `registers` by DWARF's numbers, those
   whose bits are set in `known`. `bytes` from `start` on follow, which is the stack pointer or less, or the first page
   above it that is there; return addresses are the program's own. */
struct strobe_crash_stack {
    uint64_t registers[16];
    uint64_t pc;
    uint64_t known;
    uint64_t start;
    uint64_t bytes;
};

/* One page. Fields above the dashed line are written once, by the host, before the target maps the file. */
struct strobe_header {
    uint64_t magic;
    uint32_t version;
    uint32_t clock_kind;
    uint64_t total_bytes;        /* of the file */
    uint64_t start_ticks;        /* the clock at session start; all ticks in records are relative to it */
    uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC at the same moment */
    double ns_per_tick;          /* fixed for the life of the session, so that a timestamp never changes */
    uint64_t thread_offset;
    uint64_t plan_offset;
    uint64_t totals_offset;
    uint64_t chunk_offset;
    uint32_t thread_capacity;
    uint32_t function_capacity; /* function ids are 1 .. function_capacity - 1; 0 means none */
    uint32_t totals_capacity;   /* entries, 1 .. totals_capacity - 1; entry 0 is never used */
    uint32_t chunk_count;
    uint32_t reads_make_pages;   /* 1: on a tmpfs, where reading from a hole takes the space for it as writing does */
    uint32_t number_shift;       /* ticks >> number_shift is an event's moment; see STROBE_EVENT_NUMBER */
    uint64_t lane_offset;        /* STROBE_LANES words of 32 bits: the process that has the lane, 0 for none */
    uint64_t crash_stack_offset; /* STROBE_CRASHES times STROBE_CRASH_STACK_BYTES; 0: there are none */
    uint8_t reserved0[136];      /* zero */
    /* ---------------------------------------------------------------- offset 256: written by the recorder */
    uint64_t next_ticket; /* atomic add; chunks claimed so far, passed-over ones included */
    uint8_t reserved1[56];
    uint32_t chunk_limit;  /* usable chunks; lowered from chunk_count when the file system is full */
    uint32_t thread_count; /* atomic add; entries of the thread table handed out, may pass the capacity */
    uint32_t totals_used;  /* atomic add; totals entries handed out, entry 0 included; may pass the capacity */
    uint32_t exit_state;   /* STROBE_EXIT_* */
    int32_t exit_code;
    uint32_t unreported_libraries; /* atomic add; loaded when the agent could no longer report them to the host */
    /* events that could not be written; all atomic adds, all off the hot path */
    uint64_t lost_no_thread;  /* no thread state was free */
    uint64_t lost_reentrant;  /* a signal handler ran traced functions in the middle of a write */
    uint64_t lost_no_chunk;   /* no chunk could be claimed */
    uint64_t lost_no_totals;  /* calls that no totals entry could count */
    uint64_t evicted_records; /* ENTER and EXIT records in chunks that were taken over */
    uint64_t forked_children; /* atomic add; forks after which the child went on recording */
    uint64_t checked_ticks;   /* by the host: when it last saw that the hooks stood and the recorder was on; 0: never */
    uint64_t filtered_ticks;  /* when the program began to filter its system calls; 0: not that it is known */
    uint64_t stopped_ticks;   /* when the recorder went off, as it may not read the clock any more; 0: it did not */
    uint64_t limited_ticks;   /* when the program began to limit its memory; 0: not that it is known */
    uint64_t evicted_ticks;   /* events from before may have been evicted with the last chunk of a hand; 0: none were */
    uint64_t lost_no_clock;   /* as those above; calls of threads that may not read the clock */
    struct strobe_crash crashes[STROBE_CRASHES]; /* the last signal of each kind that the program itself got */
    uint8_t reserved3[2120];                     /* zero */
};

/* A thread that recorded at least one call. Written by that thread; `tid` last. */
struct strobe_thread {
    uint64_t start_ticks; /* of its first event */
    uint64_t end_ticks;   /* 0 while it lives, or when its end was not seen */
    uint32_t pid;
    uint32_t tid;
    char name[16]; /* as the kernel had it when it was last read, NUL-terminated */
    uint8_t reserved[24];
};

/* What the recorder does for one function; by function id. Written by the agent before the hook is installed. */
struct strobe_function_plan {
    uint8_t flags;       /* STROBE_PLAN_* */
    uint8_t enter_count; /* captures at the entry */
    uint8_t exit_count;  /* captures at the return */
    uint8_t most_words;  /* the most that either of them gives, the duration left out */
    uint32_t captures;   /* index of the first one in the recorder's table; those at the return follow */
};

/* strobe_capture.source: a word of the machine's state. 64 + n is the n-th word on the stack above the return address.
 */
#define STROBE_SOURCE_RDI 0u /* then rsi, rdx, rcx, r8, r9 */
#define STROBE_SOURCE_RAX 6u /* at the return, as the next one */
#define STROBE_SOURCE_RDX 7u
#define STROBE_SOURCE_XMM0 16u /* to xmm7, their low halves */
#define STROBE_SOURCE_ST0 32u  /* at the return, as the next one: of the x87, for STROBE_CAPTURE_X87 alone */
#define STROBE_SOURCE_STACK 64u

/* strobe_capture.kind */
#define STROBE_CAPTURE_WORD 0u   /* one word: the source */
#define STROBE_CAPTURE_VECTOR 1u /* two words: a vector register whole */
#define STROBE_CAPTURE_CHARS 2u  /* text: the source points to characters that a zero one ends */
#define STROBE_CAPTURE_PAIR 3u   /* text: the source points to it, `second` is the source of its length */
#define STROBE_CAPTURE_STRING \
    4u /* text: the source points to an object with a pointer at `offset`, a length at `other` */
#define STROBE_CAPTURE_BYTES 5u   /* text: `other` bytes from the source plus `offset` */
#define STROBE_CAPTURE_LIBCXX 6u  /* text: the source points to a string of libc++, which keeps short text inside */
#define STROBE_CAPTURE_X87 7u     /* two words: a register of the x87, 10 bytes of them; zero where it is empty */
#define STROBE_CAPTURE_WATCH 8u   /* as the next two an extra: the watch at `offset` */
#define STROBE_CAPTURE_RECIPE 9u  /* the recipe at `offset`, from where the source points to; `second` is the role */
#define STROBE_CAPTURE_SCRIPT 10u /* the script at `offset` */
#define STROBE_CAPTURE_BEFORE 11u /* at the return: the block of this id that was kept at the entry */
#define STROBE_CAPTURE_STACK \
    12u /* an extra: up to `offset` return addresses; `source`: STROBE_NEEDS_CONTEXT of a probe */

/* Text in a payload: a word of what is known of it, then its bytes, filled up to whole words. */
#define STROBE_TEXT_KEPT 0xffffull        /* bytes that follow */
#define STROBE_TEXT_CUT 0x10000ull        /* there was more */
#define STROBE_TEXT_NULL 0x20000ull       /* a null pointer */
#define STROBE_TEXT_UNREADABLE 0x40000ull /* the pointer, or the object's, leads to no memory */

/* strobe_capture.text_words of a recipe: of which calls of the function in a thread it is recorded. Later ones are
   those behind the first STROBE_FIRST_CALLS, where extras took more than STROBE_SHALLOW_WORDS of these on the average.
 */
#define STROBE_CALLS_ALL 0u
#define STROBE_CALLS_FIRST 1u /* not of later ones */
#define STROBE_CALLS_LATER 2u /* of those alone */
#define STROBE_FIRST_CALLS 100u
#define STROBE_SHALLOW_WORDS 64u

struct strobe_capture {
    uint8_t source;
    uint8_t kind;
    uint8_t second;     /* PAIR: the source of the length. CHARS, STRING, LIBCXX: bytes of a character, 1, 2 or 4 */
    uint8_t text_words; /* of text: the most that is kept of it; of a recipe STROBE_CALLS_* */
    uint16_t offset;    /* PAIR: bytes of a character. Extras: the place in the recorder's table */
    uint16_t other;     /* CHARS: the host's own. Extras: their id */
};

/*
 * Extras: what else is recorded of a call, in blocks that say themselves what they are, up to the end of the payload.
 * What is watched may change while the program runs. A block begins with a word: STROBE_EXTRA_*.
 */
#define STROBE_EXTRA_WORDS 0xffffull /* of the block, this one included */
#define STROBE_EXTRA_KIND_SHIFT 16   /* 8 bits */
#define STROBE_EXTRA_STATUS_SHIFT 24 /* 8 bits: STROBE_RECIPE_* */
#define STROBE_EXTRA_ID_SHIFT 32     /* 16 bits: what the host calls it; never used for anything else in a session */
#define STROBE_EXTRA_ROLE_SHIFT 48   /* 8 bits */
#define STROBE_EXTRA_WATCH 1u        /* one word follows: the value, or where it failed what could not be read */
#define STROBE_EXTRA_RECIPE \
    2u /* the number of items, one or two words for each, then their bytes one after the other */
#define STROBE_EXTRA_SCRIPT 3u /* JSON: a word with its length in bytes, then these */
/* The callers, the innermost first: a word for each, the address behind its call. The status is why there are no more.
 */
#define STROBE_EXTRA_STACK 4u
#define STROBE_STACK_WHOLE 0u      /* the thread began there */
#define STROBE_STACK_LIMITED 1u    /* no more were asked for */
#define STROBE_STACK_UNKNOWN 2u    /* nothing says how to unwind the last one */
#define STROBE_STACK_UNREADABLE 3u /* its part of the stack cannot be read, or is none */
#define STROBE_STACK_MOST 32u
/* Of an address: that of an instruction which a signal has interrupted; and of what the handler returns to. */
#define STROBE_STACK_INTERRUPTED 0x8000000000000000ull
#define STROBE_STACK_SIGNAL 0x4000000000000000ull
/* strobe_capture.second: the number of a parameter, or */
#define STROBE_ROLE_RETURN 255u
#define STROBE_ROLE_WATCH 254u
#define STROBE_ROLE_BEFORE 253u /* as WATCH; at the entry it is kept until the return */
/* An item: a word with its size in the low 12 bits and its status in 4, then, where that is OK, its address in 48; else
   its step in the high 32, and a second word with the address. */
#define STROBE_ITEM_STATUS_SHIFT 12
#define STROBE_ITEM_ADDRESS_SHIFT 16
#define STROBE_ITEM_STEP_SHIFT 32

/*
 * Totals of one function in one thread. Exact: counted whether or not the event was kept. Written by the owning thread
 * alone, plain stores; a reader may see one entry in mid-update, never a torn word.
 * calls = exits + unwound + exits_missed + (open at this moment).
 * What nearly every call touches is the first cache line.
 */
struct strobe_totals {
    uint32_t function; /* 0 until the entry is valid */
    uint16_t thread_index;
    uint8_t sampling; /* 1 while sampled */
    uint8_t reserved;
    uint64_t calls;
    uint64_t exits;
    uint64_t total_ticks;    /* from enter to exit, each moment once: a call within another of the function adds none */
    uint64_t duration_ticks; /* of all exits added up: above total_ticks where the function calls itself */
    uint64_t self_ticks;     /* of the durations what was not spent in traced callees that returned */
    uint64_t min_ticks;      /* of one call's duration, as the next and the histogram */
    uint64_t max_ticks;
    uint64_t window_start_ticks; /* recorder's own, as the next: the rate that sampling looks at */
    uint32_t window_calls;
    uint32_t next_of_thread;     /* recorder's own: chain of the entries of one thread state */
    uint64_t unwound;            /* left by an exception, longjmp or thread exit: no EXIT record */
    uint64_t exits_missed;       /* return not caught: too deep, or on a stack that is not the thread's own */
    uint64_t sampled_out_enters; /* records left out because the function was being sampled */
    uint64_t sampled_out_exits;
    uint64_t lost_enters; /* records that found no chunk */
    uint64_t lost_exits;
    uint64_t unheld_enters;  /* records left out because the function's condition did not hold at the entry */
    uint64_t unheld_exits;   /* of a probe: of unheld_enters those for which it did hold, beyond the probe's limit */
    uint64_t undecided;      /* of unheld_enters: what the condition asks for could not be read */
    uint64_t extra_words[2]; /* recorder's own: of extras at the first calls, of entries and of returns */
    uint64_t reserved1[3];
    uint32_t histogram[STROBE_HISTOGRAM_BUCKETS]; /* of durations in ticks; saturates */
};

struct strobe_chunk {
    uint64_t sequence;     /* ticket + 1; 0 while it is being taken over */
    uint64_t progress;     /* bytes used, header included, in the low 32 bits; ENTER and EXIT records in the high 32 */
    uint32_t state;        /* STROBE_CHUNK_* */
    uint32_t thread_index; /* of the first records; a THREAD record changes it from there on */
    uint32_t tid;
    uint32_t open_count;        /* frames that were open when the chunk was taken; may exceed STROBE_OPEN_FRAMES */
    uint64_t first_ticks;       /* when it was taken; no record in it is older */
    uint64_t previous_sequence; /* of the chunk that was filled before by the same hand; 0 for none: tells what was
                                   evicted */
    uint32_t lane;              /* of all records in it */
    uint32_t owner;             /* while OWNED: the process; 0 while it is being taken; or STROBE_OWNER_UNKNOWN */
    uint32_t reserved[2];
    uint64_t
        open_ticks[STROBE_OPEN_FRAMES]; /* enter ticks of those frames, outermost first; 0: its ENTER was sampled out */
};

struct strobe_record {
    uint64_t ticks; /* since session start */
    uint32_t function;
    uint16_t depth;        /* traced frames above this one; 0 for the outermost */
    uint8_t kind_flags;    /* kind in bits 0 and 1, bits 8 and 9 of payload_words in 2 and 3, flags in the high 4 */
    uint8_t payload_words; /* 8-byte words that follow: their low 8 bits */
};
#define STROBE_RECORD_MAX_WORDS 1023u
#define STROBE_RECORD_KIND(record) ((record).kind_flags & 3u)
#define STROBE_RECORD_WORDS(record) ((uint32_t)(record).payload_words | ((record).kind_flags & 0xcu) << 6)

/* An event's number: grows with time and is unique in a session, so it is also a cursor. Its moment, a few ns long,
   then its lane. The shift is such that a session of a year stays below 2^63. */
#define STROBE_EVENT_NUMBER(ticks, lane, number_shift) \
    (((uint64_t)(ticks) >> (number_shift) << STROBE_LANE_BITS) | (lane))
#define STROBE_NUMBER_SHIFT_MOST 24u

/* Log-linear: 4 buckets per octave; bucket 0 holds everything below 2^4 ticks, the last one everything from 2^36. */
#define STROBE_HISTOGRAM_FIRST_OCTAVE 4u

#ifdef __cplusplus
#define STROBE_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define STROBE_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

STROBE_STATIC_ASSERT(sizeof(struct strobe_header) == STROBE_HEADER_BYTES, "header is one page");
STROBE_STATIC_ASSERT(offsetof(struct strobe_header, next_ticket) == 256, "recorder's part is apart");
STROBE_STATIC_ASSERT(offsetof(struct strobe_header, chunk_limit) == 320, "next_ticket has a cache line");
STROBE_STATIC_ASSERT(sizeof(struct strobe_crash) == 512, "crash");
STROBE_STATIC_ASSERT(sizeof(struct strobe_thread) == 64, "thread");
STROBE_STATIC_ASSERT(sizeof(struct strobe_function_plan) == 8, "plan");
STROBE_STATIC_ASSERT(sizeof(struct strobe_totals) == 704, "totals entry is 11 cache lines");
STROBE_STATIC_ASSERT(offsetof(struct strobe_totals, histogram) == 192, "histogram after three cache lines");
STROBE_STATIC_ASSERT(sizeof(struct strobe_chunk) == 320, "chunk header");
STROBE_STATIC_ASSERT(sizeof(struct strobe_record) == 16, "record");
STROBE_STATIC_ASSERT(sizeof(struct strobe_capture) == 8, "capture");

#endif
