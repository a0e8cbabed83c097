/* Catching the faults of the recorder's own loads: native/faults.c. And what of that the observers of the C library's
   functions (native/observed.c) call. */
#ifndef STROBE_RECORDER_FAULTS_H
#define STROBE_RECORDER_FAULTS_H

#include "../recorder.h"

/* struct ucontext on x86-64 */
#define STROBE_CONTEXT_STACK 2     /* of the alternate one: where it begins; two words further its size */
#define STROBE_CONTEXT_REGISTERS 5 /* words before them */
#define STROBE_CONTEXT_MASK 37
#define STROBE_REGISTER_RCX (STROBE_CONTEXT_REGISTERS + 14)
#define STROBE_REGISTER_RSP (STROBE_CONTEXT_REGISTERS + 15)
#define STROBE_REGISTER_RIP (STROBE_CONTEXT_REGISTERS + 16)
#define STROBE_REGISTER_ERR (STROBE_CONTEXT_REGISTERS + 19) /* of a page fault: 2 a write, 16 of an instruction */

/* struct sigaction of the C library, of glibc and musl alike */
struct strobe_action {
    uint64_t handler;
    uint64_t mask[16];
    int32_t flags;
    uint32_t padding;
    uint64_t restorer;
};
STROBE_STATIC_ASSERT(sizeof(struct strobe_action) == 152, "struct sigaction");

typedef int strobe_sigaction_function(int signal, const struct strobe_action* wanted, struct strobe_action* before);

/* sigaction is about to be called with these registers, which it may change. */
void strobe_observe_sigaction(uint64_t* registers);
/* The same by the system call itself; the register with what is wanted. */
void strobe_observe_kernel_action(uint64_t signal, uint64_t* wanted);
/* A struct sigevent is about to be used, at the address in the register; 0: none. A function of the program's that the
   C library calls in a thread which has all signals blocked is called with SIGTRAP unblocked. */
void strobe_observe_event(uint64_t* place);
/* The register holds the address of a mask of signals that are to be blocked, which is about to be used; 0: none. It
   may become another address, of a mask without SIGTRAP. */
void strobe_observe_mask(uint64_t* place);
/* The same of a mask that stays where it is. */
void strobe_observe_context(uint64_t address);
/* The kernel's handler, with its arguments (native/fault_entry.c). */
void strobe_fault_entry(void) __attribute__((visibility("hidden")));
/* Notes for the host where the program is as it gets a signal that may end it (native/crash.c): as the handler gets it;
   `is_handled`: the program has a handler of its own. */
void strobe_crash_note_fault(uint64_t signal, const int32_t* information, const uint64_t* context, int is_handled);
/* The same where SIGABRT is about to be raised; `registers`: as an observer has them, `slot`: of the return address of
   who was called for that, `by`: STROBE_CRASH_BY_*. */
void strobe_crash_note_abort(const uint64_t* registers, const uint64_t* slot, uint64_t by);
/* For a core dump (native/core_dump.c): the program ends by what has happened; or it does where SIGABRT ends it. */
void strobe_core_prepare(void);
void strobe_core_prepare_abort(void);
/* This thread is at `sp`, in no deeper call, or about to go on there: whether it has outlived the abort that was noted.
 */
void strobe_crash_note_place(uint64_t sp);
/* Once, in the process that the agent was loaded into. */
void strobe_crash_prepare(void);
/* From now on a thread may have the signals blocked. */
void strobe_faults_may_be_blocked(void);

/* From the agent. Once sigaction is observed: `sigaction` is the C library's, past the observer. `may_be_blocked`: a
   thread of the program has the signals blocked, or not everything is observed. */
void strobe_native_catch_faults(void* sigaction, int may_be_blocked);
/* From now on breakpoint instructions of probes lead to their trampolines, whatever the program blocks from here on;
   threads that have SIGTRAP blocked already still do. 0 where that cannot be. */
int strobe_native_catch_traps(void);
/* Functions of the C library are about to be traced, which blocks all signals past any observer where it makes threads
   and processes. */
void strobe_native_traces_library(void);
/* The program's handlers are its own again. */
void strobe_native_leave_faults(void);

#endif
