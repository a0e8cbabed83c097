/*
 * What is known at the moment of a signal that the program may end by, for the host: which thread, where, and which
 * traced calls it was in. Only a note in the segment's header: neither what the program does with the signal, nor how
 * it ends, is changed by it.
 *
 * A fault is seen by the handler in faults.c; SIGABRT by the function that raises it (observed.c). Not seen: faults
 * for which the kernel finds no stack, or while the signal is blocked; programs that set handlers by system calls of
 * their own; and children, which have this memory, too, but not this session's end.
 */
#include "faults.h"

#define STROBE_CRASH_SENT_BY_THREAD (-6) /* SI_TKILL: what raise and abort use */

#define STROBE_CRASH_ASSERT_BYTES 4096u
#define STROBE_RED_ZONE_BYTES 128u /* below the stack pointer: a function that calls none keeps variables there */
#define STROBE_CRASH_HANDLER_BYTES 65536u /* of a handler's frames, on a stack whose bounds are not known */
#define STROBE_CRASH_WAITS 1000u          /* for another thread's note: 0.1 s at most */
#define STROBE_CRASH_WAIT_US 100
#define STROBE_CRASH_PAUSES 2000000u /* the same where no system call may be made */
/* strobe_crash.access of SIGABRT: who has asked for it, and what that one is about to call */
#define STROBE_CRASH_CALLS_ABORT 16u
#define STROBE_CRASH_CALLS_RAISE 32u

static uint64_t strobe_crash_raised_at; /* slot of the first raise within the abort that was noted; 0: none yet */
static uint32_t strobe_crash_pid;       /* of the process that the agent was loaded into */

void strobe_crash_prepare(void) { strobe_crash_pid = strobe_recorder.pid; }

/* Whether the signal ends the session's own process. */
static int strobe_crash_is_own(const struct strobe_recorder* recorder) {
    if (!recorder->control->alive || !recorder->control->is_own || recorder->pid != strobe_crash_pid) return 0;
    return !recorder->may_call_kernel ||
           (uint32_t)strobe_syscall(STROBE_SYS_GETPID, 0, 0, 0, 0, 0, 0) == strobe_crash_pid;
}

/* Whether a frame was left by an exception or longjmp: its slot lies below the stack pointer, or has something else
   than its stub, if not that of a call which jumped there (`above`). On another stack that cannot be told. */
static int strobe_crash_is_left(const struct strobe_thread_state* state, uint64_t sp, uint32_t depth, uint64_t above) {
    uint64_t slot = state->frames[depth].slot;
    if (sp < state->stack_low || sp >= state->stack_high) return 0;
    return slot < sp || (slot != above && *(const volatile uint64_t*)slot != STROBE_STUB_OF(state, depth));
}

/* Calls that the thread is in, the innermost first. */
static void strobe_crash_calls(const struct strobe_thread_state* state, struct strobe_crash* crash) {
    uint32_t depth = state->frames == NULL ? 0 : state->depth;
    uint64_t above = 0;
    for (; depth > 0; depth--) {
        const struct strobe_frame* frame = &state->frames[depth - 1];
        struct strobe_crash_call* call = &crash->calls[crash->call_count];
        if (strobe_crash_is_left(state, crash->sp, depth - 1, above)) continue;
        above = frame->slot;
        if (frame->slot == crash->sp) crash->caller = frame->return_address; /* a stub lies there */
        crash->depth++;
        if (crash->call_count == STROBE_CRASH_CALLS) continue;
        call->enter_ticks = frame->enter_ticks;
        call->function = frame->function;
        call->flags = (frame->flags & STROBE_FRAME_SKIP) != 0;
        crash->call_count++;
    }
}

static int strobe_crash_load(uint64_t context, uint32_t word, uint64_t* value) {
    return strobe_read_number(&strobe_recorder, NULL, 0, context + 8 * word, 8, value);
}

/* Whether `sp` lies further down than the frame at `context`, on the stack that this was made on. */
static int strobe_crash_is_above(uint64_t context, uint64_t sp, const struct strobe_thread_state* state) {
    uint64_t start, bytes;
    if (sp >= context || !strobe_crash_load(context, STROBE_CONTEXT_STACK, &start) ||
        !strobe_crash_load(context, STROBE_CONTEXT_STACK + 2, &bytes))
        return 0;
    if (context - start < bytes) return sp >= start;
    if (state != NULL && STROBE_ON_OWN_STACK(state, context)) return STROBE_ON_OWN_STACK(state, sp);
    return context - sp < STROBE_CRASH_HANDLER_BYTES;
}

/* Whether it is at the very place of the last fault that a handler of the program's got. */
static int strobe_crash_is_at_handled(const struct strobe_crash* crash) {
    const struct strobe_crash* handled = &strobe_recorder.header->crashes[STROBE_CRASH_HANDLED];
    return crash->sp == handled->sp && crash->pc == handled->pc;
}

/* The context of the last fault that a handler of the program's got, where that handler still runs in this thread: the
   frame lies above `sp` and is as it was. Or where it has returned, and the thread stands at the fault again. A handler
   that was left by a jump, or has mended the fault, has nothing to do with what comes later. */
static uint64_t strobe_crash_frame(const struct strobe_crash* crash, const struct strobe_thread_state* state) {
    const struct strobe_crash* handled = &strobe_recorder.header->crashes[STROBE_CRASH_HANDLED];
    uint64_t pc, sp;
    if (handled->state != STROBE_CRASH_WHOLE || handled->thread_pointer != strobe_thread_pointer()) return 0;
    if (strobe_crash_is_at_handled(crash)) return handled->frame;
    if (!strobe_crash_is_above(handled->frame, crash->sp, state)) return 0;
    if (!strobe_crash_load(handled->frame, STROBE_REGISTER_RIP, &pc) || pc != handled->pc) return 0;
    if (!strobe_crash_load(handled->frame, STROBE_REGISTER_RSP, &sp) || sp != handled->sp) return 0;
    return handled->frame;
}

static struct strobe_crash_stack* strobe_crash_stack_of(const struct strobe_crash* crash) {
    struct strobe_header* header = strobe_recorder.header;
    uint64_t place = (uint64_t)(crash - header->crashes) * STROBE_CRASH_STACK_BYTES;
    return (struct strobe_crash_stack*)((uint8_t*)header + header->crash_stack_offset + place);
}

/* Where a context has the registers that DWARF numbers so. */
static const uint8_t strobe_crash_registers[16] = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7};

static void strobe_crash_note_context(struct strobe_crash_stack* stack, const uint64_t* context) {
    uint32_t number;
    for (number = 0; number < 16; number++)
        stack->registers[number] = context[STROBE_CONTEXT_REGISTERS + strobe_crash_registers[number]];
    stack->pc = context[STROBE_REGISTER_RIP];
    stack->known = 0xffff;
}

/* Of the fault whose handler has led to this: what is below is the handler's. */
static void strobe_crash_note_frame(struct strobe_crash_stack* stack, uint64_t frame) {
    uint64_t context[STROBE_REGISTER_RIP + 1];
    if (strobe_read_bytes(&strobe_recorder, NULL, 0, frame, (uint8_t*)context, sizeof context) == sizeof context)
        strobe_crash_note_context(stack, context);
}

/* What an observed function keeps for its caller lies below its arguments (x86_64/observe.c). */
static void strobe_crash_note_kept(struct strobe_crash_stack* stack, const uint64_t* registers, const uint64_t* slot) {
    stack->registers[3] = registers[-1];
    stack->registers[6] = registers[-2];
    stack->registers[12] = registers[-3];
    stack->registers[13] = registers[-4];
    stack->registers[14] = registers[-5];
    stack->registers[15] = registers[-6];
    stack->registers[7] = (uint64_t)(slot + 1);
    stack->known = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12;
}

/* How many bytes there are from `start` on, up to `most`. */
static uint32_t strobe_crash_copy(const struct strobe_thread_state* state, uint64_t start, uint8_t* into,
                                  uint32_t most) {
    uint32_t done = 0;
    while (done < most) {
        uint32_t wanted = STROBE_PAGE_BYTES - (uint32_t)((start + done) % STROBE_PAGE_BYTES);
        uint32_t piece;
        if (wanted > most - done) wanted = most - done;
        piece = strobe_read_bytes(&strobe_recorder, state, 0, start + done, into + done, wanted);
        done += piece;
        if (piece < wanted) break;
    }
    return done;
}

/* The stack from the red zone below its pointer on, as far as it goes. Where a return stub lies, what it stands for. */
static void strobe_crash_save_stack(const struct strobe_crash* crash, const struct strobe_thread_state* state,
                                    struct strobe_crash_stack* stack) {
    uint8_t* into = (uint8_t*)(stack + 1);
    uint32_t most = STROBE_CRASH_STACK_BYTES - sizeof *stack;
    uint64_t start, depth;
    if (crash->frame != 0 && !strobe_crash_is_at_handled(crash)) strobe_crash_note_frame(stack, crash->frame);
    start = (stack->registers[7] & ~7ull) - STROBE_RED_ZONE_BYTES;
    stack->bytes = strobe_crash_copy(state, start, into, most) & ~7u;
    if (stack->bytes <= STROBE_RED_ZONE_BYTES) { /* the end of the stack lies there */
        start += STROBE_RED_ZONE_BYTES;
        stack->bytes = strobe_crash_copy(state, start, into, most) & ~7u;
    }
    if (stack->bytes == 0) { /* or further up: a frame for which there was no room */
        start = (start + STROBE_PAGE_BYTES) & ~(uint64_t)(STROBE_PAGE_BYTES - 1);
        stack->bytes = strobe_crash_copy(state, start, into, most) & ~7u;
    }
    stack->start = start;
    for (depth = state == NULL || state->frames == NULL ? 0 : state->depth; depth > 0; depth--) {
        const struct strobe_frame* frame = &state->frames[depth - 1];
        uint64_t* slot = (uint64_t*)(into + (frame->slot - start));
        if (frame->slot < start || frame->slot - start >= stack->bytes || frame->slot % 8 != 0) continue;
        if (*slot == STROBE_STUB_OF(state, depth - 1)) *slot = frame->return_address;
    }
}

/* Another thread makes the same note, or has made it and is about to end the program: a note of this thread's would be
   cut off by that, or cut that off. Waits until it is otherwise, or for 0.1 s. */
static void strobe_crash_await(const struct strobe_crash* crash, uint32_t known) {
    const volatile uint32_t* state = &crash->state;
    const volatile uint64_t* access = &crash->access;
    uint32_t turn, most = strobe_recorder.may_call_kernel ? STROBE_CRASH_WAITS : STROBE_CRASH_PAUSES;
    if (crash->thread_pointer == strobe_thread_pointer()) return;
    for (turn = 0; turn < most && *state == known; turn++) {
        if (known == STROBE_CRASH_WHOLE && *access & STROBE_CRASH_OUTLIVED) return;
        if (strobe_recorder.may_call_kernel)
            strobe_sleep_us(STROBE_CRASH_WAIT_US);
        else
            __builtin_ia32_pause();
    }
}

/* NULL where it is not to be made: of two threads at the same moment one is noted. */
static struct strobe_crash* strobe_crash_begin(uint32_t place) {
    struct strobe_crash* crash = &strobe_recorder.header->crashes[place];
    uint32_t known = crash->state;
    if (place == STROBE_CRASH_ENDED && known == STROBE_CRASH_WHOLE) return NULL; /* by that one the program ends */
    if (place == STROBE_CRASH_ABORTED && known == STROBE_CRASH_WHOLE) strobe_crash_await(crash, known);
    if (known == STROBE_CRASH_IN_THE_MAKING ||
        !strobe_compare_exchange32(&crash->state, known, STROBE_CRASH_IN_THE_MAKING)) {
        if (place != STROBE_CRASH_HANDLED) strobe_crash_await(crash, STROBE_CRASH_IN_THE_MAKING);
        return NULL;
    }
    crash->thread_pointer = strobe_thread_pointer();
    return crash;
}

static void strobe_crash_write(struct strobe_crash* crash, uint64_t signal) {
    const struct strobe_recorder* recorder = &strobe_recorder;
    const struct strobe_thread_state* state = strobe_thread_known(recorder);
    crash->ticks = strobe_ticks_anyhow(recorder);
    crash->pid = recorder->pid;
    crash->signal = (uint32_t)signal;
    crash->thread_pointer = strobe_thread_pointer();
    crash->call_count = crash->depth = crash->lane = 0;
    if (recorder->may_call_kernel)
        crash->tid = (uint32_t)strobe_syscall(STROBE_SYS_GETTID, 0, 0, 0, 0, 0, 0);
    else
        crash->tid = state == NULL ? 0 : state->tid;
    if (crash != &recorder->header->crashes[STROBE_CRASH_HANDLED]) {
        crash->frame = strobe_crash_frame(crash, state);
        strobe_crash_save_stack(crash, state, strobe_crash_stack_of(crash));
    }
    if (state == NULL) return;
    crash->lane = state->lane;
    strobe_crash_calls(state, crash);
}

void strobe_crash_note_fault(uint64_t signal, const int32_t* information, const uint64_t* context, int is_handled) {
    struct strobe_crash* crash;
    if (!strobe_crash_is_own(&strobe_recorder)) return;
    crash = strobe_crash_begin(is_handled ? STROBE_CRASH_HANDLED : STROBE_CRASH_ENDED);
    if (crash == NULL) return;
    crash->code = information[2];
    crash->address = *(const uint64_t*)(information + 4);
    crash->sp = context[STROBE_REGISTER_RSP];
    crash->pc = context[STROBE_REGISTER_RIP];
    strobe_leave_trampoline(&strobe_recorder, &crash->pc, &crash->sp);
    crash->access = context[STROBE_REGISTER_ERR];
    strobe_crash_note_context(strobe_crash_stack_of(crash), context);
    strobe_crash_stack_of(crash)->pc = crash->pc; /* of the program, as is the stack pointer */
    strobe_crash_stack_of(crash)->registers[7] = crash->sp;
    crash->frame = (uint64_t)context; /* of one without handler: strobe_crash_write */
    /* read by the kernel: a fault here would be one within the handler */
    strobe_read_number(&strobe_recorder, NULL, 0, crash->sp, 8, &crash->caller);
    strobe_crash_write(crash, signal);
    STROBE_COMPILER_BARRIER();
    crash->state = STROBE_CRASH_WHOLE;
}

void strobe_crash_note_abort(const uint64_t* registers, const uint64_t* slot, uint64_t by) {
    uint64_t expected = by == STROBE_CRASH_BY_ABORT   ? STROBE_CRASH_CALLS_ABORT
                        : by == STROBE_CRASH_BY_RAISE ? STROBE_CRASH_CALLS_RAISE
                                                      : 0;
    struct strobe_crash* crash = &strobe_recorder.header->crashes[STROBE_CRASH_ABORTED];
    uint64_t thread = strobe_thread_pointer();
    /* assert calls abort, and that raise, from a frame or two further down, which is no news; but the program may have
       outlived it, and call one of them later on */
    if (crash->state == STROBE_CRASH_WHOLE && crash->thread_pointer == thread &&
        !(crash->access & STROBE_CRASH_OUTLIVED) && crash->sp - (uint64_t)slot < STROBE_CRASH_ASSERT_BYTES) {
        /* abort raises it once more where a handler of the program's has returned */
        if (by == STROBE_CRASH_BY_RAISE && strobe_crash_raised_at == (uint64_t)slot) return;
        if (crash->access & expected) {
            if (by == STROBE_CRASH_BY_RAISE) strobe_crash_raised_at = (uint64_t)slot;
            crash->access &= ~expected;
            return;
        }
    }
    if (!strobe_crash_is_own(&strobe_recorder)) return;
    crash = strobe_crash_begin(STROBE_CRASH_ABORTED);
    if (crash == NULL) return;
    strobe_crash_raised_at = 0;
    crash->code = STROBE_CRASH_SENT_BY_THREAD;
    crash->address = 0;
    crash->access = by;
    if (by == STROBE_CRASH_BY_ASSERTION) crash->access |= STROBE_CRASH_CALLS_ABORT | STROBE_CRASH_CALLS_RAISE;
    if (by == STROBE_CRASH_BY_ABORT) crash->access |= STROBE_CRASH_CALLS_RAISE;
    crash->sp = (uint64_t)slot;
    crash->caller = *slot;
    crash->pc = 0;
    strobe_crash_note_kept(strobe_crash_stack_of(crash), registers, slot);
    strobe_crash_write(crash, STROBE_SIGABRT);
    crash->pc = crash->caller; /* the program's, where one of our stubs lies in the slot */
    if (crash->frame == 0) strobe_crash_stack_of(crash)->pc = crash->pc;
    STROBE_COMPILER_BARRIER();
    crash->state = STROBE_CRASH_WHOLE;
}

/* Whether they are places of one stack; where its bounds are not known, near one another. */
static int strobe_crash_same_stack(uint64_t one, uint64_t other) {
    const struct strobe_thread_state* state = strobe_thread_known(&strobe_recorder);
    if (state == NULL || (!STROBE_ON_OWN_STACK(state, one) && !STROBE_ON_OWN_STACK(state, other)))
        return one - other < STROBE_CRASH_HANDLER_BYTES || other - one < STROBE_CRASH_HANDLER_BYTES;
    return STROBE_ON_OWN_STACK(state, one) && STROBE_ON_OWN_STACK(state, other);
}

void strobe_crash_note_place(uint64_t sp) {
    struct strobe_crash* crash = &strobe_recorder.header->crashes[STROBE_CRASH_ABORTED];
    if (crash->state != STROBE_CRASH_WHOLE || crash->thread_pointer != strobe_thread_pointer() || sp < crash->sp ||
        crash->access & STROBE_CRASH_OUTLIVED || !strobe_crash_same_stack(sp, crash->sp) ||
        !strobe_crash_is_own(&strobe_recorder))
        return;
    if (!strobe_compare_exchange32(&crash->state, STROBE_CRASH_WHOLE, STROBE_CRASH_IN_THE_MAKING)) return;
    if (crash->thread_pointer == strobe_thread_pointer()) crash->access |= STROBE_CRASH_OUTLIVED;
    STROBE_COMPILER_BARRIER();
    crash->state = STROBE_CRASH_WHOLE;
}
