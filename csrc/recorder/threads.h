/* The threads that record: their states (threads.c), their stacks (stack.c), the recorder's own (own_stacks.c), and who
   calls there (callers.c). Included by recorder.h, which has the state itself. */
#ifndef STROBE_RECORDER_THREADS_H
#define STROBE_RECORDER_THREADS_H

/* own_stacks.c */
void strobe_call_uncancelled(const struct strobe_recorder* recorder, void (*function)(void*), void* argument);
/* With signals blocked, as a handler needs the program's own stack. 0, and nothing is called, where there is none. */
int strobe_call_on_own_stack(struct strobe_recorder* recorder, void (*function)(void*), void* argument);
/* Nobody will be there any more. */
void strobe_own_stack_release(struct strobe_recorder* recorder);
void strobe_tell_agent(struct strobe_recorder* recorder, void (*hook)(void*));

#define STROBE_RETIRED 3 /* busy_slot, and idle, of a state whose session has ended */

/* threads.c */
/* Finds thread_slot, once the key is known. */
void strobe_thread_slot_find(struct strobe_recorder* recorder);
/* Finds tid_offset. */
void strobe_tid_offset_find(struct strobe_recorder* recorder);
uint32_t strobe_own_tid(const struct strobe_recorder* recorder);
/* The state of this thread; NULL where it has none. For what happens outside traced calls. */
struct strobe_thread_state* strobe_thread_known(const struct strobe_recorder* recorder);
/* Prepares up to `count` states, so that a thread can begin with one of them without a system call. */
void strobe_states_prepare(struct strobe_recorder* recorder, uint32_t count);
/* Makes a state nobody's, for the next thread that begins one. */
void strobe_state_free(struct strobe_recorder* recorder, struct strobe_thread_state* state);
/* Signals of this thread that wait until something is done. */
struct strobe_held_signals {
    uint64_t before; /* the mask */
    int are_held;
    const struct strobe_recorder* recorder; /* that holds them */
};
void strobe_signals_hold(const struct strobe_recorder* recorder, struct strobe_held_signals* held);
void strobe_signals_release(struct strobe_held_signals* held);
/* The state of this thread where it can be used at once, else NULL. */
struct strobe_thread_state* strobe_thread_open(const struct strobe_recorder* recorder);
/* The state of this thread, begun where it has none; the caller releases what is held then. NULL where the call is not
   recorded, which is counted, and where it is the agent's. */
struct strobe_thread_state* strobe_thread_begin(struct strobe_recorder* recorder, struct strobe_held_signals* held);
struct strobe_thread_state* strobe_thread_current(struct strobe_recorder* recorder);
/* This thread is about to make a task that has its memory and its control block. */
void strobe_thread_shares_block(struct strobe_recorder* recorder);
/* The state that records while `state` is busy; NULL where there is none to be had. As strobe_thread_begin. */
struct strobe_thread_state* strobe_thread_nested(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                                 struct strobe_held_signals* held);
/* Whether this thread may read the clock: where it has given up the time stamp counter (PR_SET_TSC), that would end it.
   Yes where that cannot be found out: under a filter of system calls, with signals blocked. */
int strobe_may_read_clock(const struct strobe_recorder* recorder);
void strobe_thread_end(struct strobe_recorder* recorder, struct strobe_thread_state* state);
/* The session has ended: threads begin anew in the next one. 1 when one is still at work with its state. */
int strobe_states_retire(struct strobe_recorder* recorder);
/* Whether every other thread has left the record that it was in; waits for that as long. What a record looks up is then
   what was there before the call. */
int strobe_threads_have_got_on(const struct strobe_recorder* recorder, uint64_t limit_ns);
/* Its session has ended; what it has open may still return. */
#define STROBE_STATE_IS_RETIRED(state) ((state)->idle == STROBE_RETIRED)
void strobe_thread_read_name(struct strobe_recorder* recorder, struct strobe_thread_state* state);
/* native/observed.c: whether the kernel still has our handler of faults. At a thread's first event, then ever less
 * often. */
void strobe_handlers_check(void);

/* stack.c */
void strobe_stack_bounds(struct strobe_recorder* recorder, struct strobe_thread_state* state);
int strobe_stack_is_alternate(const struct strobe_recorder* recorder);
/* The same, and where the thread's alternate stack lies: no bytes where it has none, or the kernel may not be asked. */
int strobe_alternate_stack(const struct strobe_recorder* recorder, uint64_t* start, uint64_t* bytes);
/* Whether the process has lost what /proc shows of its main thread, which has ended: Frida cannot do without. */
int strobe_main_thread_has_ended(void);
/* While the kernel may be called. */
void strobe_own_stack_prepare(struct strobe_recorder* recorder);
/* On the agent's thread, once. */
void strobe_stack_offset_find(struct strobe_recorder* recorder);
void strobe_main_stack_find(struct strobe_recorder* recorder);

/* callers.c */
/* Finds routine_offset, agent_code and library_code, on a thread of the agent. `code`: any address in the agent's. */
void strobe_agent_find(struct strobe_recorder* recorder, uint64_t code);
/* Whether this thread is one that the agent has made. */
int strobe_thread_is_agents(const struct strobe_recorder* recorder);

/* Whether the agent calls the function whose return address lies at `slot`, in a thread of the program that tells it of
   a library. */
int strobe_call_is_agents(const struct strobe_recorder* recorder, const uint64_t* slot);

/* A function of the loader's begins, which asks whose code calls it, and takes the return address for that. A traced
   function that jumped there has a stub in its place (return dlsym(RTLD_NEXT, name)), and no library has that: it gets
   its own back, and its return is not caught. */
void strobe_caller_restore(const struct strobe_recorder* recorder, uint64_t slot);
/* Somebody is given `address`, where a call comes from (__builtin_return_address): what the program has there, also
   where it is a stub of ours by whose frame a traced call is open. */
uint64_t strobe_call_site(const struct strobe_recorder* recorder, uint64_t address);

#endif
