/*
 * Code of the agent that runs in threads of the program: scripts, and reports of libraries that come and go. It
 * takes some 20 KB of stack, which the program has not counted with, and has cancellation points where the program has
 * none. So it runs on a stack of its own, and cancellation is off meanwhile.
 */
#include "recorder.h"

#define STROBE_PROT_NONE 0
#define STROBE_PROT_READ_WRITE 3
#define STROBE_MAP_PRIVATE_ANONYMOUS 0x22
#define STROBE_MAP_NORESERVE 0x4000
#define STROBE_CANCEL_DISABLE 1
#define STROBE_RT_CONSISTENT 0u
#define STROBE_SS_ONSTACK 1
#define STROBE_SS_DISABLE 2
#define STROBE_OWN_STACK_BYTES (512u << 10)
#define STROBE_OWN_STACK_MAPPED (STROBE_OWN_STACK_BYTES + 2 * STROBE_PAGE_BYTES)

/* Where a stack begins; 0 where there is none to be had. A page on each side is not to be touched: the mapping is the
   stack's alone, which the host looks through for saved contexts. */
static uint64_t strobe_own_stack_map(void) {
    int64_t start = strobe_syscall(STROBE_SYS_MMAP, 0, STROBE_OWN_STACK_MAPPED, STROBE_PROT_NONE,
                                   STROBE_MAP_PRIVATE_ANONYMOUS | STROBE_MAP_NORESERVE, -1, 0);
    if (start < 0 && start > -4096) return 0;
    if (strobe_syscall(STROBE_SYS_MPROTECT, start + STROBE_PAGE_BYTES, STROBE_OWN_STACK_BYTES, STROBE_PROT_READ_WRITE,
                       0, 0, 0) != 0) {
        strobe_syscall(STROBE_SYS_MUNMAP, start, STROBE_OWN_STACK_MAPPED, 0, 0, 0, 0);
        return 0;
    }
    return (uint64_t)start + STROBE_PAGE_BYTES + STROBE_OWN_STACK_BYTES - STROBE_STACK_NOTE_BYTES;
}

static void strobe_own_stack_unmap(uint64_t stack) {
    uint64_t end = stack + STROBE_STACK_NOTE_BYTES + STROBE_PAGE_BYTES;
    strobe_syscall(STROBE_SYS_MUNMAP, (int64_t)(end - STROBE_OWN_STACK_MAPPED), STROBE_OWN_STACK_MAPPED, 0, 0, 0, 0);
}

/* One is kept for the next call: to map one and to touch its pages takes longer than a script. In a child that was
   forked while it was taken it stays so. */
static uint64_t strobe_own_stack_take(struct strobe_recorder* recorder) {
    uint64_t stack;
    if (!STROBE_SWITCHES_STACKS || (!recorder->may_call_kernel && recorder->kept_stack == 0)) return 0;
    if (!strobe_compare_exchange32(&recorder->kept_stack_taken, 0, 1))
        return recorder->may_call_kernel ? strobe_own_stack_map() : 0;
    if (recorder->kept_stack == 0 && recorder->may_call_kernel) recorder->kept_stack = strobe_own_stack_map();
    stack = recorder->kept_stack;
    if (stack == 0) recorder->kept_stack_taken = 0;
    return stack;
}

static void strobe_own_stack_give(struct strobe_recorder* recorder, uint64_t stack) {
    if (stack != recorder->kept_stack) {
        strobe_own_stack_unmap(stack);
        return;
    }
    STROBE_COMPILER_BARRIER();
    *(volatile uint32_t*)&recorder->kept_stack_taken = 0;
}

void strobe_own_stack_prepare(struct strobe_recorder* recorder) {
    uint64_t stack = strobe_own_stack_take(recorder);
    if (stack != 0) strobe_own_stack_give(recorder, stack);
}

void strobe_own_stack_release(struct strobe_recorder* recorder) {
    if (recorder->kept_stack == 0 || !strobe_compare_exchange32(&recorder->kept_stack_taken, 0, 1)) return;
    strobe_own_stack_unmap(recorder->kept_stack);
    recorder->kept_stack = 0;
}

/* The thread may have been asked to end before, or be while it is there: it would leave the agent's locks taken, and
   the dynamic linker's. */
void strobe_call_uncancelled(const struct strobe_recorder* recorder, void (*function)(void*), void* argument) {
    int before = 0;
    if (recorder->set_cancel_state != NULL) recorder->set_cancel_state(STROBE_CANCEL_DISABLE, &before);
    function(argument);
    if (recorder->set_cancel_state != NULL) recorder->set_cancel_state(before, NULL);
}

struct strobe_alternate_stack { /* stack_t */
    uint64_t address;
    int32_t flags;
    int32_t reserved;
    uint64_t size;
};

struct strobe_stack_call {
    void (*function)(void*);
    void* argument;
    struct strobe_alternate_stack alternate;
    uint64_t mask;
};

/* The thread was on its alternate stack: from here on the kernel takes that for free, and would begin the next handler
   upon the frames that are there. It cannot be put out of use before, and all signals are blocked until it is. */
static void strobe_call_without_alternate(void* argument) {
    struct strobe_stack_call* call = (struct strobe_stack_call*)argument;
    struct strobe_alternate_stack none;
    none.address = none.size = 0;
    none.flags = STROBE_SS_DISABLE;
    none.reserved = 0;
    strobe_syscall(STROBE_SYS_SIGALTSTACK, (int64_t)&none, 0, 0, 0, 0, 0);
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_SETMASK, (int64_t)&call->mask, 0, 8, 0, 0);
    call->function(call->argument);
}

static void strobe_call_from_alternate(struct strobe_stack_call* call, uint64_t stack) {
    uint64_t all = ~0ull;
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_SETMASK, (int64_t)&all, (int64_t)&call->mask, 8, 0, 0);
    strobe_call_on(stack, strobe_call_without_alternate, call);
    call->alternate.flags &= ~STROBE_SS_ONSTACK;
    strobe_syscall(STROBE_SYS_SIGALTSTACK, (int64_t)&call->alternate, 0, 0, 0, 0, 0); /* the thread is on it again */
}

int strobe_call_on_own_stack(struct strobe_recorder* recorder, void (*function)(void*), void* argument) {
    uint64_t stack = strobe_own_stack_take(recorder);
    uint64_t* note = (uint64_t*)stack;
    struct strobe_stack_call call;
    if (stack == 0) return 0;
    note[0] = STROBE_STACK_NOTE;
    note[1] = (uint64_t)&note;
    call.alternate.flags = 0;
    if (recorder->may_call_kernel) strobe_syscall(STROBE_SYS_SIGALTSTACK, 0, (int64_t)&call.alternate, 0, 0, 0, 0);
    if (call.alternate.flags & STROBE_SS_ONSTACK) {
        call.function = function;
        call.argument = argument;
        strobe_call_from_alternate(&call, stack);
    } else {
        strobe_call_on(stack, function, argument);
    }
    strobe_own_stack_give(recorder, stack);
    return 1;
}

struct strobe_agent_call {
    const struct strobe_recorder* recorder;
    void (*function)(void*);
};

/* Frida reports libraries of the program's own namespace alone. */
static void strobe_call_hook(void* argument) {
    const struct strobe_agent_call* call = (const struct strobe_agent_call*)argument;
    void (*changed)(void) = *(void (*const volatile*)(void))&call->recorder->libraries_changed;
    strobe_vectors_reset(); /* who has come here keeps them */
    call->function(NULL);
    if (changed != NULL && *(const volatile uint32_t*)call->recorder->library_state == STROBE_RT_CONSISTENT) changed();
}

static void strobe_call_agent(void* argument) {
    const struct strobe_agent_call* call = (const struct strobe_agent_call*)argument;
    strobe_call_uncancelled(call->recorder, strobe_call_hook, argument);
}

/* For machine code in front of Frida's hook on the function that the dynamic linker calls when libraries come and go;
   `hook` changes no register. Signals are blocked. Meanwhile control->loading_thread is this thread; before, it may
   have been as well, as the agent loads libraries of its own there. The agent asks what time it is: where the thread
   has given up the time stamp counter, it has it back meanwhile. */
void strobe_tell_agent(struct strobe_recorder* recorder, void (*hook)(void*)) {
    uint64_t before = recorder->control->loading_thread;
    struct strobe_agent_call call;
    int is_clockless;
    if (recorder->may_call_kernel && strobe_main_thread_has_ended()) {
        strobe_fetch_add32(&recorder->header->unreported_libraries, 1);
        return;
    }
    is_clockless = !strobe_may_read_clock(recorder);
    if (is_clockless && !recorder->may_call_kernel) {
        strobe_fetch_add32(&recorder->header->unreported_libraries, 1);
        return;
    }
    if (is_clockless) strobe_syscall(STROBE_SYS_PRCTL, STROBE_PR_SET_TSC, STROBE_TSC_READABLE, 0, 0, 0, 0);
    call.recorder = recorder;
    call.function = hook;
    recorder->control->loading_thread = strobe_thread_pointer();
    STROBE_COMPILER_BARRIER();
    if (!strobe_call_on_own_stack(recorder, strobe_call_agent, &call)) strobe_call_agent(&call);
    STROBE_COMPILER_BARRIER();
    /* never another thread, which may have left by a jump out of a handler */
    recorder->control->loading_thread = before == strobe_thread_pointer() ? before : 0;
    if (is_clockless) strobe_syscall(STROBE_SYS_PRCTL, STROBE_PR_SET_TSC, STROBE_TSC_FAULTS, 0, 0, 0, 0);
}
