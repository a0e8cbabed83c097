/* Reads of the program's memory that never fault, whatever other threads do: memory.c. */
#ifndef STROBE_RECORDER_MEMORY_H
#define STROBE_RECORDER_MEMORY_H

#include "recorder.h"
#ifdef STROBE_CATCHES_FAULTS
#include "native/x86_64/checked.h"
#endif

#define STROBE_SIGNAL_BIT(number) (1ull << ((number) - 1))
#define STROBE_FAULT_SIGNALS (STROBE_SIGNAL_BIT(STROBE_SIGSEGV) | STROBE_SIGNAL_BIT(STROBE_SIGBUS))

/* strobe_recorder.fault_catching: what a load by the recorder that faults leads to */
#define STROBE_FAULTS_END_THE_PROGRAM 0u /* its end, so memory is read by the kernel */
#define STROBE_FAULTS_CAUGHT 1u          /* our handler, always */
#define STROBE_FAULTS_MASKED_AT_TIMES 2u /* the program's end where a thread has the signal blocked: it is asked */
/* The same, and a handler that comes after the question may change the answer, in the context that it returns to. */
#define STROBE_FAULTS_MASKED_IN_CONTEXTS 3u

/* strobe_thread_state.touching */
#define STROBE_TOUCHING_ASKS 0u
#define STROBE_TOUCHING_ALLOWED 1u
#define STROBE_TOUCHING_FORBIDDEN 2u

/* Around a record that reads memory: handlers wait where they might change what strobe_may_touch has said. */
#define STROBE_MUST_HOLD(recorder) STROBE_UNLIKELY((recorder)->fault_catching == STROBE_FAULTS_MASKED_IN_CONTEXTS)
void strobe_reads_hold(const struct strobe_recorder* recorder, struct strobe_thread_state* state,
                       struct strobe_held_signals* held);
void strobe_reads_release(struct strobe_thread_state* state, struct strobe_held_signals* held);
/* Whether memory may be touched directly, as each fault of ours is caught; asked once for what is read together.
   `state`: this thread's, or NULL. */
int strobe_may_touch(const struct strobe_recorder* recorder, const struct strobe_thread_state* state);
/* The same on the present stack. A fault is a signal, whose frame takes more than 3 KB where the CPU's registers are
   large: only the thread's own stack is sure to have them. Where the kernel may not be asked instead, it is touched. */
int strobe_may_touch_here(const struct strobe_recorder* recorder, const struct strobe_thread_state* state);
/* As many of `bytes` from `address` on as can be read. Aligned numbers are read at once. */
uint32_t strobe_read_bytes(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                           int may_touch, uint64_t address, uint8_t* into, uint32_t bytes);
/* The same up to the first zero character of `unit` bytes (1, 2 or 4); `ended` says that there was one. */
uint32_t strobe_read_text(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                          uint64_t address, uint8_t* into, uint32_t bytes, uint32_t unit, int* ended);
/* A number of `width` bytes (1, 2, 4 or 8), extended with zeros. 0 where it cannot be read. */
int strobe_read_number(const struct strobe_recorder* recorder, const struct strobe_thread_state* state, int may_touch,
                       uint64_t address, uint32_t width, uint64_t* value);
/* Numbers as the last, `stride` bytes apart, where memory may be touched: how many, up to the first that cannot be
   read. */
uint32_t strobe_load_numbers(uint64_t address, uint32_t stride, uint32_t width, uint32_t count, uint64_t* into);
/* As strobe_recipe_fetcher, where memory may be touched. */
uint32_t strobe_load_each(uint64_t* addresses, uint64_t offset, uint32_t width, uint32_t first, uint32_t count,
                          uint64_t left_out);
/* Has the kernel make these pages, without a system call. 0 where it cannot, or faults are not caught. */
int strobe_touch_pages(const struct strobe_recorder* recorder, uint64_t from, uint64_t to);
void strobe_copy(uint8_t* into, const uint8_t* from, uint32_t bytes);

#ifdef STROBE_CATCHES_FAULTS
enum { STROBE_STACK_AT_ENTRY, STROBE_STACK_AT_SITE, STROBE_STACK_AT_RETURN };

/* native/x86_64/backtrace.c: up to `most` return addresses, the innermost first; gives how many, and why there are no
   more, STROBE_STACK_*. `from`: STROBE_STACK_AT_*; `slot`: of a call, where its return address lies; `registers`: as
   strobe_enter and strobe_site have them. */
uint32_t strobe_backtrace(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                          uint32_t from, const uint64_t* registers, const uint64_t* slot, uint32_t most, uint64_t* out,
                          uint32_t* status);
#endif

#endif
