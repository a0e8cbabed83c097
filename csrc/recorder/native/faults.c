/*
 * The signals that the recorder raises itself. Faults of the recorder's own loads (native/x86_64/checked.h) are caught
 * by a handler of SIGSEGV and SIGBUS. The program must not notice: what it sets and asks of these signals is kept here,
 * and its own handler gets every fault that is not ours, in the very frame that the kernel has made.
 *
 * At the end of a session the recorder is off first, and nobody inside of it; then nothing is observed any more; then
 * the program's handlers are given back. Any other order would leave loads whose fault is not caught.
 *
 * The kernel always has our handler, with the flags and the mask that the program has asked for. sigaction, through
 * which a program sets handlers, is observed (native/observed.c). A program that ignores the signal has it ignored by
 * the kernel, as programs that it executes inherit that; memory is then read by the kernel. Should a thread be within
 * a load at that moment, and not come out of it, the kernel keeps our handler, which then ignores the signal.
 *
 * SIGFPE and SIGILL the recorder does not raise: it only sees whether the program ends by one, and where (crash.c).
 *
 * SIGTRAP is raised by the breakpoint instructions of probes (strobe_trap in csrc/abi), once there are any: the thread
 * goes on in the instruction's trampoline. There nothing can be read instead, so SIGTRAP is left out of all that the
 * program blocks from then on, be it a handler's mask; also of what it is told of a handler's mask afterwards.
 *
 * The kernel ends a process at once that faults while the signal is blocked. As long as nobody blocks it, all faults of
 * ours are caught; once a thread or a handler might have it blocked, the thread's mask is asked for before each read.
 */
#include "faults.h"

#define STROBE_SIG_DFL 0ull
#define STROBE_SIG_IGN 1ull
#define STROBE_SA_SIGINFO 4
#define STROBE_SA_ONSTACK 0x08000000
#define STROBE_SA_RESETHAND ((int)0x80000000)
#define STROBE_SA_NODEFER 0x40000000
#define STROBE_SA_RESTART 0x10000000
#define STROBE_SA_RESTORER 0x04000000 /* the C library adds it, and says so when it is asked */
#define STROBE_SA_KNOWN 0xdc000007    /* what the kernel keeps of the flags */
#define STROBE_SI_KERNEL 0x80
#define STROBE_BREAKPOINT 0xcc
#define STROBE_NEVER_BLOCKED (STROBE_SIGNAL_BIT(9) | STROBE_SIGNAL_BIT(19)) /* SIGKILL, SIGSTOP */
#define STROBE_LAST_SIGNAL 64
#define STROBE_HANDED_OVER 64u /* actions that the C library may be reading at the same time */
#define STROBE_DRAIN_NS 1000000000ull
#define STROBE_SETTLE_US 10000 /* a thread that was inside of sigaction has left it by then */
#define STROBE_EXCHANGES 8
#define STROBE_HANDED_MASKS 64u
#define STROBE_MASK_WORDS 16u /* of sigset_t */

struct strobe_faults {
    strobe_sigaction_function* sigaction; /* the C library's, not observed */
    struct strobe_action actions[5];      /* the program's: of SIGSEGV, SIGBUS, SIGTRAP, SIGFPE, SIGILL */
    struct strobe_action handed_over[STROBE_HANDED_OVER];
    uint64_t handed_masks[STROBE_HANDED_MASKS][STROBE_MASK_WORDS];
    uint32_t next_handed_mask;
    uint32_t catches_traps;
    uint64_t restorer; /* the C library's, of every handler */
    uint32_t next_handed_over;
    uint32_t installed;
    uint32_t may_be_blocked; /* by a thread or a handler of the program; never again 0 in a session */
    uint32_t may_be_blocked_in_contexts;
    uint32_t was_ignored;
};

static struct strobe_faults strobe_faults;

extern const int32_t strobe_fixups_start[] __asm__("__start_strobe_fixups") __attribute__((visibility("hidden")));
extern const int32_t strobe_fixups_end[] __asm__("__stop_strobe_fixups") __attribute__((visibility("hidden")));

static struct strobe_action* strobe_action_of(uint64_t signal) {
    static const uint8_t places[] = {
        [STROBE_SIGSEGV] = 0, [STROBE_SIGBUS] = 1, [STROBE_SIGTRAP] = 2, [STROBE_SIGFPE] = 3, [STROBE_SIGILL] = 4};
    return &strobe_faults.actions[places[signal]];
}

/* What a load of ours may raise. */
static int strobe_is_load_fault(uint64_t signal) { return signal == STROBE_SIGSEGV || signal == STROBE_SIGBUS; }

/* Whether our handler stands for the program's. */
static int strobe_is_ours(uint64_t signal) {
    return strobe_is_load_fault(signal) || signal == STROBE_SIGFPE || signal == STROBE_SIGILL ||
           (signal == STROBE_SIGTRAP && strobe_faults.catches_traps);
}

/* What may be blocked of these signals. */
static uint64_t strobe_without_trap(uint64_t mask) {
    return strobe_faults.catches_traps ? mask & ~STROBE_SIGNAL_BIT(STROBE_SIGTRAP) : mask;
}

static int strobe_is_handler(uint64_t handler) { return handler != STROBE_SIG_DFL && handler != STROBE_SIG_IGN; }

static int strobe_blocks_faults(uint64_t mask) { return (mask & STROBE_FAULT_SIGNALS) != 0; }

void strobe_faults_may_be_blocked(void) {
    strobe_faults.may_be_blocked = 1;
    strobe_compare_exchange32(&strobe_recorder.fault_catching, STROBE_FAULTS_CAUGHT, STROBE_FAULTS_MASKED_AT_TIMES);
}

/* Handlers wait from now on while a record reads memory: what one blocks is known before the next read. */
static void strobe_begin_holding(void) {
    strobe_faults_may_be_blocked();
    strobe_compare_exchange32(&strobe_recorder.fault_catching, STROBE_FAULTS_MASKED_AT_TIMES,
                              STROBE_FAULTS_MASKED_IN_CONTEXTS);
}

static void strobe_begin_catching(void) {
    strobe_compare_exchange32(&strobe_recorder.fault_catching, STROBE_FAULTS_END_THE_PROGRAM, STROBE_FAULTS_CAUGHT);
    if (strobe_faults.may_be_blocked) strobe_faults_may_be_blocked();
    if (strobe_faults.may_be_blocked_in_contexts) strobe_begin_holding();
    if (strobe_faults.was_ignored) strobe_recorder.fault_catching = STROBE_FAULTS_END_THE_PROGRAM;
}

/* Waits until no thread is within a load of ours that it was in. 0 where one may still be: one that does not get on, or
   this one, in whose recording a handler came. */
static int strobe_loads_have_ended(void) {
    const struct strobe_recorder* recorder = &strobe_recorder;
    const struct strobe_thread_state* own;
    if (!recorder->control->is_own) return 1; /* other threads stayed in the parent */
    own = recorder->control->alive ? strobe_thread_known(recorder) : NULL;
    if (!recorder->may_call_kernel || (own != NULL && own->busy_slot != own->idle)) return 0;
    return strobe_threads_have_got_on(recorder, STROBE_DRAIN_NS);
}

/* From now on memory is read by the kernel. */
static int strobe_end_catching(void) {
    strobe_faults.was_ignored = 1;
    strobe_recorder.fault_catching = STROBE_FAULTS_END_THE_PROGRAM;
    return strobe_loads_have_ended();
}

/* A handler that is given its context may block signals there, for what it has interrupted: nobody sees that. */
static void strobe_faults_may_be_blocked_in_contexts(void) {
    int was_catching = strobe_recorder.fault_catching != STROBE_FAULTS_END_THE_PROGRAM;
    if (strobe_faults.may_be_blocked_in_contexts) return;
    strobe_faults.may_be_blocked_in_contexts = 1;
    strobe_begin_holding();
    if (was_catching) strobe_loads_have_ended();
}

/* The load at rip goes on where its fixup says. */
static int strobe_fix(uint64_t* context) {
    const int32_t* fixup;
    for (fixup = strobe_fixups_start; fixup < strobe_fixups_end; fixup += 2) {
        if ((uint64_t)fixup + (uint64_t)(int64_t)fixup[0] != context[STROBE_REGISTER_RIP]) continue;
        context[STROBE_REGISTER_RIP] = (uint64_t)(fixup + 1) + (uint64_t)(int64_t)fixup[1];
        context[STROBE_REGISTER_RCX] = 1;
        return 1;
    }
    return 0;
}

/* A breakpoint instruction of a probe: the thread goes on in its trampoline. It may have been taken out meanwhile. */
static int strobe_leave_trap(int32_t* information, uint64_t* context) {
    uint64_t leads_to;
    if (information[2] != STROBE_SI_KERNEL) return 0;
    leads_to = strobe_trap_find(&strobe_recorder, context[STROBE_REGISTER_RIP] - 1);
    if (leads_to == 0) return 0;
    context[STROBE_REGISTER_RIP] = leads_to;
    STROBE_COMPILER_BARRIER();
    information[0] = 0; /* so that it is not taken for the signal of a later frame (patch/target/signal_frames.cpp) */
    return 1;
}

/* By a process, not by a fault: si_code. */
static int strobe_was_sent(const int32_t* information) { return information[2] <= 0; }

/* A fault that says where it was happens again when its instruction is run again; a trap (int $4) does not. */
static int strobe_happens_again(const int32_t* information) {
    return !strobe_was_sent(information) && information[2] != STROBE_SI_KERNEL;
}

/* The program has no handler, or ignores the signal, which the kernel does not do with a fault: it is to end by this
   signal, as it would have without us. A fault happens again as soon as the handler has returned, and the kernel ends a
   process that faults with the signal blocked, without a system call of ours. A signal that was sent, or is no fault,
   does not come again by itself; nor does one of an instruction that the context does not lead to any more
   (`is_moved`). It is sent as it was, so that a core dump says who sent it, or what was accessed. */
static void strobe_end_by(uint64_t signal, const int32_t* information, uint64_t* context, int is_moved) {
    uint64_t action[4] = {STROBE_SIG_DFL, 0, 0, 0};
    int64_t pid, tid;
    if ((strobe_happens_again(information) && !is_moved) || !strobe_recorder.may_call_kernel) {
        context[STROBE_CONTEXT_MASK] |= STROBE_SIGNAL_BIT(signal);
        return;
    }
    strobe_syscall(STROBE_SYS_RT_SIGACTION, (int64_t)signal, (int64_t)action, 0, 8, 0, 0);
    /* asked for, not what is known: in a child of vfork that would be the parent's */
    pid = strobe_syscall(STROBE_SYS_GETPID, 0, 0, 0, 0, 0, 0);
    tid = strobe_syscall(STROBE_SYS_GETTID, 0, 0, 0, 0, 0, 0);
    if (strobe_syscall(STROBE_SYS_RT_TGSIGQUEUEINFO, pid, tid, (int64_t)signal, (int64_t)information, 0, 0) != 0)
        strobe_syscall(STROBE_SYS_TGKILL, pid, tid, (int64_t)signal, 0, 0, 0);
}

/* What the kernel is to have where the program wants `wanted`. */
static void strobe_action_for_kernel(uint64_t signal, const struct strobe_action* wanted,
                                     struct strobe_action* action) {
    *action = *wanted;
    action->mask[0] = strobe_without_trap(wanted->mask[0]);
    if (signal == STROBE_SIGTRAP)
        action->flags |= STROBE_SA_NODEFER; /* a handler may come to a breakpoint instruction, too */
    else if (wanted->handler == STROBE_SIG_IGN && (!strobe_is_load_fault(signal) || strobe_end_catching()))
        return;
    if (!strobe_is_handler(wanted->handler) && signal == STROBE_SIGTRAP) {
        /* on the stack of the code that is there: a scheduler may keep contexts of handlers on the other one */
        action->flags = STROBE_SA_RESTART | STROBE_SA_NODEFER;
        action->mask[0] = 0;
    } else if (!strobe_is_handler(wanted->handler)) {
        action->flags = STROBE_SA_ONSTACK | STROBE_SA_RESTART;
        action->mask[0] = ~(uint64_t)0; /* a handler that came in between would find the signal blocked */
    }
    action->handler = (uint64_t)strobe_fault_entry;
    action->flags = (action->flags | STROBE_SA_SIGINFO) & ~STROBE_SA_RESETHAND;
}

static void strobe_note_mask_of(const struct strobe_action* action) {
    if (!strobe_is_handler(action->handler)) return;
    if (strobe_blocks_faults(action->mask[0])) strobe_faults_may_be_blocked();
    if (action->flags & STROBE_SA_SIGINFO) strobe_faults_may_be_blocked_in_contexts();
}

/* The same of a handler of the faults themselves, which has its signal blocked while it runs. */
static void strobe_note_fault_handler(uint64_t signal, const struct strobe_action* action) {
    strobe_note_mask_of(action);
    if (strobe_is_load_fault(signal) && strobe_is_handler(action->handler) && !(action->flags & STROBE_SA_NODEFER))
        strobe_faults_may_be_blocked();
}

/* A child of vfork has the parent's memory and handlers of its own. */
static int strobe_is_vfork_child(void) {
    int is_child;
    if (!strobe_recorder.control->is_own || !strobe_calls_begin(&strobe_recorder)) return 0;
    is_child = (uint32_t)strobe_syscall(STROBE_SYS_GETPID, 0, 0, 0, 0, 0, 0) != strobe_recorder.pid;
    strobe_calls_end(&strobe_recorder);
    return is_child;
}

/* Memory that the C library would read or write itself: where it cannot, the library is left to fault. */
static int strobe_load_action(uint64_t from, struct strobe_action* action) {
    return strobe_load_bytes(from, (uint8_t*)action, sizeof *action) == sizeof *action;
}

static int strobe_store_action(uint64_t to, const struct strobe_action* action) {
    const uint8_t* bytes = (const uint8_t*)action;
    uint64_t index;
    for (index = 0; index < sizeof *action; index++)
        if (!strobe_try_store8(to + index, bytes[index])) return 0;
    return 1;
}

static struct strobe_action* strobe_hand_over(void) {
    return &strobe_faults.handed_over[strobe_fetch_add32(&strobe_faults.next_handed_over, 1) % STROBE_HANDED_OVER];
}

/* sigaction(signal, new, old): rdi, rsi, rdx. What the C library is given in their place keeps our handler in the
   kernel, and the program sees what it has set. */
static void strobe_observe_fault_action(uint64_t* registers) {
    struct strobe_action* action = strobe_action_of(registers[0]);
    struct strobe_action before = *action, wanted;
    struct strobe_action* handed_over;
    uint64_t signal = registers[0];
    if (registers[1] != 0 && !strobe_load_action(registers[1], &wanted)) return;
    if (registers[2] != 0) {
        if (!strobe_store_action(registers[2], &before)) return;
        registers[2] = 0;
    }
    if (registers[1] == 0) return;
    if (strobe_is_vfork_child()) { /* what it sets is its own; but until its exec it runs the parent's code */
        if (signal == STROBE_SIGTRAP) registers[1] = 0;
        return;
    }
    *action = wanted;
    action->mask[0] &= ~STROBE_NEVER_BLOCKED;
    action->flags = (int32_t)((uint32_t)wanted.flags & STROBE_SA_KNOWN) | STROBE_SA_RESTORER;
    action->restorer = strobe_faults.restorer;
    strobe_note_fault_handler(signal, &wanted);
    handed_over = strobe_hand_over();
    strobe_action_for_kernel(signal, &wanted, handed_over);
    registers[1] = (uint64_t)handed_over;
}

/* Of another signal. */
static void strobe_observe_other_action(uint64_t* registers) {
    struct strobe_action wanted;
    struct strobe_action* handed_over;
    if (registers[1] == 0 || !strobe_load_action(registers[1], &wanted)) return;
    strobe_note_mask_of(&wanted);
    if (!strobe_is_handler(wanted.handler) || strobe_without_trap(wanted.mask[0]) == wanted.mask[0]) return;
    wanted.mask[0] = strobe_without_trap(wanted.mask[0]);
    handed_over = strobe_hand_over();
    *handed_over = wanted;
    registers[1] = (uint64_t)handed_over;
}

void strobe_observe_sigaction(uint64_t* registers) {
    uint32_t signal = (uint32_t)registers[0];
    if (!strobe_faults.installed) return;
    if (strobe_is_ours(signal)) {
        registers[0] = signal;
        strobe_observe_fault_action(registers);
    } else {
        strobe_observe_other_action(registers);
    }
}

/* rt_sigaction by the program itself: the kernel's struct, which has the handler, flags, the restorer and a mask. */
void strobe_observe_kernel_action(uint64_t signal, uint64_t* wanted) {
    struct strobe_action* action = strobe_action_of(STROBE_SIGTRAP);
    uint64_t handler, flags;
    if (*wanted == 0) return;
    if (strobe_is_vfork_child()) { /* as strobe_observe_fault_action */
        if (signal == STROBE_SIGTRAP && strobe_faults.catches_traps) *wanted = 0;
    } else if (signal != STROBE_SIGTRAP || !strobe_faults.catches_traps) {
        strobe_recorder.fault_catching = STROBE_FAULTS_END_THE_PROGRAM; /* our handler may be gone */
    } else if (strobe_try_load64(*wanted, &handler) && strobe_try_load64(*wanted + 8, &flags)) {
        if (handler != (uint64_t)strobe_fault_entry) { /* which the kernel has told it was there before */
            action->handler = handler;
            action->flags = (int32_t)flags;
        }
        *wanted = 0; /* ours stays, and calls it */
    }
}

#define STROBE_SIGEV_THREAD 2u
#define STROBE_SIGEVENT_WORDS 8u
#define STROBE_NOTIFICATIONS 256u /* a page of them */
#define STROBE_NOTIFICATION_PAGES 4096u
#define STROBE_HANDED_EVENTS 64u

struct strobe_notification {
    uint64_t function;
    uint64_t value;
};

static struct strobe_notification* volatile strobe_notifications[STROBE_NOTIFICATION_PAGES];
static uint32_t strobe_notifications_used;

/* In a thread of the C library's own, in which it has all signals blocked. */
static void strobe_notified(const struct strobe_notification* notification) {
    uint64_t trap = STROBE_SIGNAL_BIT(STROBE_SIGTRAP);
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_UNBLOCK, (int64_t)&trap, 0, 8, 0, 0);
    ((void (*)(uint64_t))notification->function)(notification->value);
}

/* NULL where no memory can be had. It stays, as nobody knows when the last callback has come. */
static struct strobe_notification* strobe_notification_page(uint32_t page) {
    static struct strobe_notification first[STROBE_NOTIFICATIONS]; /* also where no memory may be asked for */
    struct strobe_notification* made = first;
    if (page >= STROBE_NOTIFICATION_PAGES) return NULL;
    if (strobe_notifications[page] != NULL) return strobe_notifications[page];
    if (page > 0 && !strobe_recorder.may_call_kernel) return NULL;
    if (page > 0) made = (struct strobe_notification*)strobe_map(sizeof first);
    if (made == NULL) return NULL;
    if (!strobe_compare_exchange64((uint64_t*)&strobe_notifications[page], 0, (uint64_t)made) && page > 0)
        strobe_syscall(STROBE_SYS_MUNMAP, (int64_t)made, sizeof first, 0, 0, 0, 0);
    return strobe_notifications[page];
}

/* One that is the same among the newest, as who asks again each time (mq_notify) has it; else a new one. */
static struct strobe_notification* strobe_notification_for(uint64_t function, uint64_t value) {
    struct strobe_notification* made;
    uint32_t index, looked;
    for (looked = 0, index = strobe_notifications_used; index-- > 0 && looked < STROBE_NOTIFICATIONS; looked++) {
        struct strobe_notification* page = strobe_notifications[index / STROBE_NOTIFICATIONS];
        if (page == NULL) continue;
        page += index % STROBE_NOTIFICATIONS;
        if (page->function == function && page->value == value) return page;
    }
    index = strobe_fetch_add32(&strobe_notifications_used, 1);
    made = strobe_notification_page(index / STROBE_NOTIFICATIONS);
    if (made == NULL) return NULL;
    made += index % STROBE_NOTIFICATIONS;
    made->value = value;
    STROBE_COMPILER_BARRIER(); /* a thread that finds the function finds its value */
    made->function = function;
    return made;
}

void strobe_observe_event(uint64_t* place) {
    static uint64_t events[STROBE_HANDED_EVENTS][STROBE_SIGEVENT_WORDS];
    static uint32_t next;
    const struct strobe_notification* notification;
    uint64_t event[STROBE_SIGEVENT_WORDS];
    uint64_t* handed_over;
    uint32_t index;
    if (*place == 0 || !strobe_faults.catches_traps) return;
    if (strobe_load_bytes(*place, (uint8_t*)event, sizeof event) != sizeof event) return;
    if (event[1] >> 32 != STROBE_SIGEV_THREAD || event[2] == 0) return;
    notification = strobe_notification_for(event[2], event[0]);
    if (notification == NULL) return;
    event[0] = (uint64_t)notification;
    event[2] = (uint64_t)strobe_notified;
    handed_over = events[strobe_fetch_add32(&next, 1) % STROBE_HANDED_EVENTS];
    for (index = 0; index < STROBE_SIGEVENT_WORDS; index++) handed_over[index] = event[index];
    *place = (uint64_t)handed_over;
}

void strobe_observe_mask(uint64_t* place) {
    uint64_t mask;
    uint64_t* handed_over;
    if (*place == 0 || !strobe_faults.installed) return;
    if (!strobe_read_number(&strobe_recorder, NULL, strobe_may_touch(&strobe_recorder, NULL), *place, 8, &mask)) {
        strobe_faults_may_be_blocked();
        return;
    }
    if (strobe_blocks_faults(mask)) strobe_faults_may_be_blocked();
    if (strobe_without_trap(mask) == mask) return;
    handed_over =
        strobe_faults.handed_masks[strobe_fetch_add32(&strobe_faults.next_handed_mask, 1) % STROBE_HANDED_MASKS];
    handed_over[0] = strobe_without_trap(mask);
    *place = (uint64_t)handed_over;
}

void strobe_observe_context(uint64_t address) {
    uint64_t place = address, mask;
    strobe_observe_mask(&place);
    if (place != address && strobe_try_load64(address, &mask)) strobe_try_store64(address, strobe_without_trap(mask));
}

/* Handlers that are there already may block the signals, too. */
static void strobe_note_all_handlers(void) {
    int signal;
    for (signal = 1; signal <= STROBE_LAST_SIGNAL; signal++) {
        struct strobe_action action;
        if (!strobe_is_ours((uint64_t)signal) && strobe_faults.sigaction(signal, NULL, &action) == 0)
            strobe_note_mask_of(&action);
    }
}

/* What the kernel has that is not ours is the program's. */
static void strobe_note_action_of(int signal) {
    struct strobe_action found;
    if (strobe_faults.sigaction(signal, NULL, &found) != 0 || found.handler == (uint64_t)strobe_fault_entry) return;
    *strobe_action_of((uint64_t)signal) = found;
}

static void strobe_install(int signal) {
    struct strobe_action* own = strobe_action_of((uint64_t)signal);
    struct strobe_action found, action;
    if (strobe_faults.sigaction(signal, NULL, &found) != 0) return;
    if (found.handler == (uint64_t)strobe_fault_entry) {
        strobe_faults.restorer = found.restorer;
        strobe_note_fault_handler((uint64_t)signal, own);
        return;
    }
    *own = found;
    strobe_action_for_kernel((uint64_t)signal, own, &action);
    strobe_faults.sigaction(signal, &action, NULL);
    if (strobe_faults.sigaction(signal, NULL, &found) == 0) strobe_faults.restorer = found.restorer;
    strobe_note_fault_handler((uint64_t)signal, own);
}

/* Handlers that are there already and block SIGTRAP while they run. */
static void strobe_unblock_traps(void) {
    int signal;
    for (signal = 1; signal <= STROBE_LAST_SIGNAL; signal++) {
        struct strobe_action action;
        if (strobe_faults.sigaction(signal, NULL, &action) != 0 || !strobe_is_handler(action.handler)) continue;
        if (signal == STROBE_SIGTRAP || strobe_without_trap(action.mask[0]) == action.mask[0]) continue;
        action.mask[0] = strobe_without_trap(action.mask[0]);
        strobe_faults.sigaction(signal, &action, NULL);
    }
}

static void strobe_each_fault(void (*step)(int signal)) {
    step(STROBE_SIGSEGV);
    step(STROBE_SIGBUS);
    step(STROBE_SIGFPE);
    step(STROBE_SIGILL);
}

int strobe_native_catch_traps(void) {
    if (!strobe_faults.installed) return 0;
    if (strobe_faults.catches_traps) return 1;
    strobe_note_action_of(STROBE_SIGTRAP);
    strobe_faults.catches_traps = 1;
    strobe_install(STROBE_SIGTRAP);
    strobe_unblock_traps();
    strobe_sleep_us(STROBE_SETTLE_US);
    strobe_install(STROBE_SIGTRAP);
    strobe_unblock_traps();
    return 1;
}

void strobe_native_traces_library(void) { strobe_faults_may_be_blocked(); }

void strobe_native_catch_faults(void* sigaction, int may_be_blocked) {
    strobe_faults.sigaction = (strobe_sigaction_function*)sigaction;
    strobe_faults.may_be_blocked = may_be_blocked != 0;
    strobe_faults.may_be_blocked_in_contexts = 0;
    strobe_faults.was_ignored = strobe_faults.catches_traps = 0;
    strobe_crash_prepare();
    strobe_each_fault(strobe_note_action_of);
    strobe_faults.installed = 1;
    strobe_note_all_handlers();
    strobe_each_fault(strobe_install);
    strobe_sleep_us(STROBE_SETTLE_US);
    strobe_each_fault(strobe_install); /* over what a thread has set that was past the observer already */
    strobe_begin_catching();
}

/* Once nothing is observed any more the program may set another handler, at any moment: what is found in the kernel
   that is neither ours nor what was just given back is that, and comes back. */
static void strobe_uninstall(int signal) {
    uint64_t expected = (uint64_t)strobe_fault_entry;
    struct strobe_action given, found;
    int attempt;
    if (strobe_faults.sigaction(signal, NULL, &found) != 0 || found.handler != expected) return;
    given = *strobe_action_of((uint64_t)signal);
    for (attempt = 0; attempt < STROBE_EXCHANGES; attempt++) {
        if (strobe_faults.sigaction(signal, &given, &found) != 0 || found.handler == expected) return;
        expected = given.handler;
        given = found;
    }
}

/* Whether a breakpoint instruction stands that could not be taken out. */
static int strobe_has_traps(void) {
    uint32_t index;
    for (index = 0; index < STROBE_TRAPS; index++) {
        uint64_t address = strobe_recorder.traps[index].address;
        uint8_t code = 0;
        if (strobe_recorder.traps[index].leads_to == 0) continue;
        if (address != 0 && strobe_load_bytes(address, &code, 1) == 1 && code == STROBE_BREAKPOINT) return 1;
    }
    return 0;
}

/* The recorder is off, and nothing is observed any more. */
void strobe_native_leave_faults(void) {
    int has_traps;
    if (!strobe_faults.installed || strobe_recorder.control->alive) return;
    has_traps = strobe_faults.catches_traps && strobe_has_traps();
    strobe_recorder.fault_catching = STROBE_FAULTS_END_THE_PROGRAM;
    strobe_each_fault(strobe_uninstall);
    if (!has_traps) strobe_uninstall(STROBE_SIGTRAP);
    strobe_sleep_us(STROBE_SETTLE_US);
    strobe_each_fault(strobe_uninstall); /* again, as a thread was past the observer */
    if (!has_traps) strobe_uninstall(STROBE_SIGTRAP);
    strobe_faults.installed = strobe_faults.catches_traps = 0;
}
