/*
 * Functions of the C library, and of the C++ one, whose calls the recorder must know of, whatever is traced: those that
 * set handlers and block signals (native/faults.c), that begin to filter system calls, limit memory, make a task,
 * leave calls without their return, or are given where a call comes from. Each begins with a
 * jump to a trampoline as traced functions do, which leads to strobe_native_observe (x86_64/observe.c) instead of
 * strobe_native_enter. Nothing is recorded; the function goes on with the registers that are left here.
 *
 * A program that makes these system calls itself, not through the C library, is not seen. That it has set a handler of
 * faults is noticed later on.
 */
#include "faults.h"

#define STROBE_UNBLOCK 1
#define STROBE_CONTEXT_MASK_OFFSET 296
#define STROBE_PR_SET_NAME 15
#define STROBE_SYS_SETRLIMIT 160
#define STROBE_SYS_PRLIMIT64 302
#define STROBE_RLIMIT_DATA 2
#define STROBE_RLIMIT_AS 9
#define STROBE_RLIM_INFINITY (~0ull)
#define STROBE_SYS_CLONE 56
#define STROBE_SYS_CLONE3 435
#define STROBE_CLONE_VM 0x100u
#define STROBE_CLONE_VFORK 0x4000u /* the maker waits until the child is another program, or gone */
#define STROBE_CLONE_SETTLS 0x80000u
#define STROBE_JUMP_STACK 6u  /* word of a jmp_buf */
#define STROBE_JUMP_GUARD 48u /* from the thread pointer: what such words are made unreadable with */
#define STROBE_JUMP_TURN 17u
#define STROBE_DEPARTURE_TURN_US 5000
#define STROBE_DEPARTURE_TURNS 6000u
#define STROBE_DEPARTURE_PAUSES (1u << 16)
#define STROBE_GONE_TURNS 400u /* after the agent's last act other threads of its end */

enum strobe_register { STROBE_RDI, STROBE_RSI, STROBE_RDX, STROBE_RCX, STROBE_R8, STROBE_R9 };
enum { STROBE_RETURN_ADDRESS = 10 }; /* as x86_64/registers.h has it on the stack */

/* The program has set a handler by a system call of its own, and would get our faults: memory is read by the kernel. */
STROBE_COLD void strobe_handlers_check(void) {
    static const int64_t signals[2] = {STROBE_SIGSEGV, STROBE_SIGBUS};
    uint64_t action[4];
    int index;
    if (strobe_recorder.fault_catching == STROBE_FAULTS_END_THE_PROGRAM || !strobe_recorder.may_call_kernel) return;
    for (index = 0; index < 2; index++) {
        action[0] = (uint64_t)strobe_fault_entry;
        strobe_syscall(STROBE_SYS_RT_SIGACTION, signals[index], 0, (int64_t)action, 8, 0, 0);
        if (action[0] == (uint64_t)strobe_fault_entry || strobe_is_vfork_child()) continue;
        strobe_recorder.fault_catching = STROBE_FAULTS_END_THE_PROGRAM;
    }
}

static void strobe_observe_name(uint64_t address) {
    const struct strobe_thread_state* state =
        strobe_recorder.control->alive ? strobe_thread_known(&strobe_recorder) : NULL;
    uint64_t name[2] = {0, 0};
    uint64_t* place;
    uint32_t length;
    int ended;
    if (state == NULL || state->thread_index >= STROBE_THREAD_INDEX_SHARED) return;
    length = strobe_read_text(&strobe_recorder, state, address, (uint8_t*)name, 15, 1, &ended);
    if (length < 8) name[1] = 0;
    name[length / 8] &= (1ull << length % 8 * 8) - 1; /* what was read beyond its end */
    place = (uint64_t*)strobe_recorder.threads[state->thread_index].name;
    place[0] = name[0];
    place[1] = name[1];
}

static void strobe_observe_prctl_or_name(uint32_t option, uint64_t argument, uint64_t other) {
    strobe_observe_prctl(option, argument, other);
    if (option == STROBE_PR_SET_NAME && !strobe_recorder.may_call_kernel) strobe_observe_name(argument);
}

/* A task with the memory and the control block of this thread, which runs at the same time. */
static void strobe_observe_clone(uint64_t flags) {
    if ((flags & (STROBE_CLONE_VM | STROBE_CLONE_VFORK | STROBE_CLONE_SETTLS)) == STROBE_CLONE_VM)
        strobe_thread_shares_block(&strobe_recorder);
}

static void strobe_observe_clone3(uint64_t arguments) {
    uint64_t flags;
    if (arguments != 0 && strobe_try_load64(arguments, &flags)) strobe_observe_clone(flags);
}

/* What the recorder has reserved counts as the program's. */
static void strobe_observe_limit(uint64_t resource, uint64_t limit) {
    uint64_t most = STROBE_RLIM_INFINITY;
    if ((resource != STROBE_RLIMIT_DATA && resource != STROBE_RLIMIT_AS) || limit == 0) return;
    if (strobe_recorder.control->alive && strobe_try_load64(limit, &most) && most != STROBE_RLIM_INFINITY)
        strobe_note_moment(&strobe_recorder.header->limited_ticks);
}

static void strobe_observe_limit_of(uint64_t pid, uint64_t resource, uint64_t limit) {
    if (pid == 0 || pid == strobe_recorder.pid) strobe_observe_limit(resource, limit);
}

/* The host has the agent leave, and clears lone_waits when its threads have ended; where it was killed the agent leaves
   by itself. What is recorded goes on being recorded: this library stays. */
void strobe_await_departure(struct strobe_recorder* recorder) {
    volatile struct strobe_control* control = recorder->control;
    uint32_t turns, gone = 0, pauses;
    for (turns = 0; turns < STROBE_DEPARTURE_TURNS && control->lone_waits; turns++) {
        if (control->lone_call == 0) control->lone_call = STROBE_LONE_FILTER; /* or for another call it was cleared */
        if (strobe_calls_begin(recorder)) {
            strobe_sleep_us(STROBE_DEPARTURE_TURN_US);
            if (!control->has_agent &&
                strobe_syscall(STROBE_SYS_TGKILL, recorder->pid, recorder->agent_tid, 0, 0, 0, 0) == -STROBE_ESRCH)
                gone++;
            strobe_calls_end(recorder);
            if (gone == STROBE_GONE_TURNS) control->lone_waits = 0;
        } else { /* this thread is filtered already */
            for (pauses = 0; pauses < STROBE_DEPARTURE_PAUSES; pauses++) __builtin_ia32_pause();
        }
    }
}

/* syscall(number, ...) has a system call's arguments one register further. */
static void strobe_observe_syscall(uint64_t* registers) {
    switch (registers[STROBE_RDI]) {
        case STROBE_SYS_SECCOMP:
            strobe_observe_seccomp((uint32_t)registers[STROBE_RSI], (uint32_t)registers[STROBE_RDX],
                                   registers[STROBE_RCX]);
            break;
        case STROBE_SYS_USERFAULTFD:
            strobe_observe_userfaultfd();
            break;
        case STROBE_SYS_PRCTL:
            strobe_observe_prctl_or_name((uint32_t)registers[STROBE_RSI], registers[STROBE_RDX], registers[STROBE_RCX]);
            break;
        case STROBE_SYS_SETRLIMIT:
            strobe_observe_limit((uint32_t)registers[STROBE_RSI], registers[STROBE_RDX]);
            break;
        case STROBE_SYS_PRLIMIT64:
            strobe_observe_limit_of((uint32_t)registers[STROBE_RSI], (uint32_t)registers[STROBE_RDX],
                                    registers[STROBE_RCX]);
            break;
        case STROBE_SYS_MLOCKALL:
            strobe_observe_mlockall(&strobe_recorder, &registers[STROBE_RSI]);
            break;
        case STROBE_SYS_CLONE:
            strobe_observe_clone(registers[STROBE_RSI]);
            break;
        case STROBE_SYS_CLONE3:
            strobe_observe_clone3(registers[STROBE_RSI]);
            break;
        case STROBE_SYS_RT_SIGPROCMASK:
            if (registers[STROBE_RSI] != STROBE_UNBLOCK) strobe_observe_mask(&registers[STROBE_RDX]);
            break;
        case STROBE_SYS_RT_SIGACTION:
            strobe_observe_kernel_action(registers[STROBE_RSI], &registers[STROBE_RDX]);
            break;
    }
}

static void strobe_observe_sigmask(uint64_t* registers) {
    if (registers[STROBE_RDI] != STROBE_UNBLOCK) strobe_observe_mask(&registers[STROBE_RSI]);
}
static void strobe_observe_setcontext(uint64_t* registers) {
    strobe_observe_context(registers[STROBE_RDI] + STROBE_CONTEXT_MASK_OFFSET);
}
static void strobe_observe_swapcontext(uint64_t* registers) {
    strobe_observe_context(registers[STROBE_RSI] + STROBE_CONTEXT_MASK_OFFSET);
}
static void strobe_observe_sigsuspend(uint64_t* registers) { strobe_observe_mask(&registers[STROBE_RDI]); }
static void strobe_observe_attribute(uint64_t* registers) { strobe_observe_mask(&registers[STROBE_RSI]); }
static void strobe_observe_ppoll(uint64_t* registers) { strobe_observe_mask(&registers[STROBE_RCX]); }
static void strobe_observe_pselect(uint64_t* registers) { strobe_observe_mask(&registers[STROBE_R9]); }
static void strobe_observe_epoll_pwait(uint64_t* registers) { strobe_observe_mask(&registers[STROBE_R8]); }
static void strobe_observe_notification(uint64_t* registers) { strobe_observe_event(&registers[STROBE_RSI]); }
static void strobe_observe_prctl_call(uint64_t* registers) {
    strobe_observe_prctl_or_name((uint32_t)registers[STROBE_RDI], registers[STROBE_RSI], registers[STROBE_RDX]);
}
static void strobe_observe_clone_call(uint64_t* registers) { strobe_observe_clone(registers[STROBE_RDX]); }
static void strobe_observe_setrlimit(uint64_t* registers) {
    strobe_observe_limit((uint32_t)registers[STROBE_RDI], registers[STROBE_RSI]);
}
static void strobe_observe_prlimit(uint64_t* registers) {
    strobe_observe_limit_of((uint32_t)registers[STROBE_RDI], (uint32_t)registers[STROBE_RSI], registers[STROBE_RDX]);
}
static void strobe_observe_mlockall_call(uint64_t* registers) {
    strobe_observe_mlockall(&strobe_recorder, &registers[STROBE_RDI]);
}
static void strobe_observe_syscall_call(uint64_t* registers) { strobe_observe_syscall(registers); }

static void strobe_observe_caller(uint64_t* registers) {
    strobe_caller_restore(&strobe_recorder, (uint64_t)(registers + STROBE_RETURN_ADDRESS));
}

static void strobe_observe_address(uint64_t* registers) {
    registers[STROBE_RDI] = strobe_call_site(&strobe_recorder, registers[STROBE_RDI]);
}

static void strobe_observe_call_site(uint64_t* registers) {
    registers[STROBE_RSI] = strobe_call_site(&strobe_recorder, registers[STROBE_RSI]);
}

/* SIGABRT itself is left alone: abort sets its action, and raises it, past any observer. */
static void strobe_observe_abort(uint64_t* registers) {
    strobe_crash_note_abort(registers, registers + STROBE_RETURN_ADDRESS, STROBE_CRASH_BY_ABORT);
    strobe_core_prepare_abort();
}
static void strobe_observe_assertion(uint64_t* registers) {
    strobe_crash_note_abort(registers, registers + STROBE_RETURN_ADDRESS, STROBE_CRASH_BY_ASSERTION);
    strobe_core_prepare_abort();
}
static void strobe_observe_raise(uint64_t* registers) {
    if ((uint32_t)registers[STROBE_RDI] != STROBE_SIGABRT) return;
    strobe_crash_note_abort(registers, registers + STROBE_RETURN_ADDRESS, STROBE_CRASH_BY_RAISE);
    strobe_core_prepare_abort();
}
/* The thread goes on at `sp`, and has left what lies below: the next call of a traced function may be too far down to
   show that. */
static void strobe_go_on_at(uint64_t sp) {
    struct strobe_thread_state* state = strobe_recorder.control->alive ? strobe_thread_known(&strobe_recorder) : NULL;
    if (state == NULL || !STROBE_ON_OWN_STACK(state, sp) || !strobe_own_compare_exchange64(&state->busy_slot, 0, sp))
        return;
    strobe_frames_leave(state, sp);
    STROBE_COMPILER_BARRIER();
    state->busy_slot = state->idle;
}

/* glibc's jmp_buf. Of another C library it leads to no stack. */
static void strobe_observe_jump(uint64_t* registers) {
    uint64_t sp;
    if (!strobe_try_load64(registers[STROBE_RDI] + 8 * STROBE_JUMP_STACK, &sp)) return;
    sp = (sp >> STROBE_JUMP_TURN | sp << (64 - STROBE_JUMP_TURN)) ^ strobe_thread_word(STROBE_JUMP_GUARD);
    strobe_crash_note_place(sp);
    strobe_go_on_at(sp);
}

/* Called by the function that has caught an exception. */
static void strobe_observe_catch(uint64_t* registers) {
    strobe_go_on_at((uint64_t)(registers + STROBE_RETURN_ADDRESS) + 8);
}

struct strobe_observed {
    const char* name;
    void (*observe)(uint64_t* registers);
};

/* sigaction first: without it nothing is caught. Not every C library has all of the others. */
static const struct strobe_observed strobe_observed[] = {
    {"sigaction", strobe_observe_sigaction},
    {"pthread_sigmask", strobe_observe_sigmask}, /* sigprocmask and siglongjmp call it */
    {"setcontext", strobe_observe_setcontext},
    {"swapcontext", strobe_observe_swapcontext},
    {"sigsuspend", strobe_observe_sigsuspend},
    {"ppoll", strobe_observe_ppoll},
    {"pselect", strobe_observe_pselect},
    {"epoll_pwait", strobe_observe_epoll_pwait},
    {"epoll_pwait2", strobe_observe_epoll_pwait},
    {"pthread_attr_setsigmask_np", strobe_observe_attribute},
    {"timer_create", strobe_observe_notification},
    {"mq_notify", strobe_observe_notification},
    {"prctl", strobe_observe_prctl_call},
    {"syscall", strobe_observe_syscall_call},
    {"clone", strobe_observe_clone_call},
    {"setrlimit", strobe_observe_setrlimit},
    {"prlimit", strobe_observe_prlimit},
    {"mlockall", strobe_observe_mlockall_call},
    {"dlsym", strobe_observe_caller},
    {"dlvsym", strobe_observe_caller},
    {"dlopen", strobe_observe_caller},
    {"dlmopen", strobe_observe_caller},
    {"dladdr", strobe_observe_address},
    {"dladdr1", strobe_observe_address},
    {"__cyg_profile_func_enter", strobe_observe_call_site}, /* of the program: -finstrument-functions */
    {"__cyg_profile_func_exit", strobe_observe_call_site},
    {"abort", strobe_observe_abort},
    {"__assert_fail", strobe_observe_assertion}, /* calls abort */
    {"raise", strobe_observe_raise},             /* abort calls it, depending on the C library */
    {"longjmp", strobe_observe_jump},            /* which is siglongjmp, too */
    {"__longjmp_chk", strobe_observe_jump},
    {"__cxa_begin_catch", strobe_observe_catch}, /* of the C++ library */
};

#define STROBE_OBSERVED (sizeof strobe_observed / sizeof *strobe_observed)

/* Name of the function that has this number; NULL where there are no more. */
const char* strobe_native_observed_name(uint32_t number) {
    return number < STROBE_OBSERVED ? strobe_observed[number].name : NULL;
}

/* Called by strobe_native_observe; also where nothing is recorded, as our handler is there nevertheless: in a child
   that fork did not make, and once the recording has ended, until the jumps are taken out. */
void strobe_observe(uint32_t number, uint64_t* registers) {
    strobe_crash_note_place((uint64_t)(registers + STROBE_RETURN_ADDRESS));
    strobe_observed[number].observe(registers);
}
