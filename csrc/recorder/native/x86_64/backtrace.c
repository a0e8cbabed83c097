/*
 * Return addresses of the frames above, by tables that the host has compiled of each module's .eh_frame (csrc/unwind).
 * No system call where the thread is on its own stack, no lock; each read of the program's memory is one that may fail.
 *
 * What stands on a stack because of us is undone: the return stubs of traced functions (stubs.c), and trampolines of
 * probed instructions, which signals may interrupt.
 */
#include "../../../unwind/lookup.h"
#include "../../recorder.h"

/* struct ucontext, to which rsp points where a handler has returned to: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx,
   rsp, rip */
#define STROBE_UCONTEXT_REGISTERS 40u
#define STROBE_UCONTEXT_RIP (STROBE_UCONTEXT_REGISTERS + 16 * 8)
#define STROBE_CALL_OF_STUB STROBE_STUB_CALL_BYTES
/* mov $15, %rax; syscall: rt_sigreturn, where nothing is known of that code */
#define STROBE_SIGRETURN_FIRST 0x050f0000000fc0c7ull
#define STROBE_SIGRETURN_BEFORE 0x48u

struct strobe_walk {
    const struct strobe_recorder* recorder;
    const struct strobe_thread_state* state;
    struct strobe_unwind_directory* directory;
    uint64_t low;   /* from here on lies what the thread has in use of its own stack: that can be read */
    uint64_t bytes; /* 0: it is on another one */
    int may_touch;  /* what lies elsewhere; below 0: nobody has asked yet, as that may be a system call */
    int is_exact;   /* `pc` is that of an instruction, not behind a call */
    uint32_t known;
    uint64_t pc;
    uint64_t registers[16]; /* by DWARF's numbers, those in `known` */
};

#define STROBE_KNOWN_STACK ((1u << STROBE_UNWIND_RBP) | (1u << STROBE_UNWIND_RSP))

static STROBE_COLD int strobe_walk_load_elsewhere(struct strobe_walk* walk, uint64_t address, uint64_t* value) {
    if (address >= 1ull << 47 || address < STROBE_PAGE_BYTES) return 0;
    if (walk->may_touch < 0) walk->may_touch = strobe_may_touch_here(walk->recorder, walk->state);
    if (walk->may_touch) return strobe_try_load64(address, value);
    return strobe_read_number(walk->recorder, walk->state, 0, address, 8, value);
}

static inline int strobe_walk_load(struct strobe_walk* walk, uint64_t address, uint64_t* value) {
    if (STROBE_UNLIKELY(address - walk->low >= walk->bytes)) return strobe_walk_load_elsewhere(walk, address, value);
    *value = *(const volatile uint64_t*)address;
    return 1;
}

/* What stood at `slot` before a return stub did. */
static uint64_t strobe_walk_behind_stub(const struct strobe_recorder* recorder, uint64_t address, uint64_t slot) {
    uint64_t offset = address - (uint64_t)recorder->stubs;
    uint64_t index = offset / STROBE_STUB_BYTES;
    const struct strobe_left_return* left;
    struct strobe_thread_state* owner;
    if (offset >= (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES * STROBE_STUB_BYTES) return address;
    if (recorder->frames[index].slot == slot) return recorder->frames[index].return_address;
    owner = &recorder->states[index / STROBE_FRAMES];
    left = &owner->left_returns[((slot >> 3) ^ (address / STROBE_STUB_BYTES)) % STROBE_LEFT_RETURNS];
    if (left->stub == address && left->slot == slot) return left->return_address;
    return recorder->frames[index].return_address;
}

/* The context of what a signal has interrupted. */
static uint32_t strobe_walk_signal(struct strobe_walk* walk) {
    static const uint8_t numbers[16] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
    uint64_t context = walk->registers[STROBE_UNWIND_RSP];
    uint32_t index;
    for (index = 0; index < 16; index++)
        if (!strobe_walk_load(walk, context + STROBE_UCONTEXT_REGISTERS + 8 * index, &walk->registers[numbers[index]]))
            return STROBE_STACK_UNREADABLE;
    if (!strobe_walk_load(walk, context + STROBE_UCONTEXT_RIP, &walk->pc)) return STROBE_STACK_UNREADABLE;
    walk->known = 0xffff;
    walk->is_exact = 1;
    return STROBE_STACK_LIMITED;
}

/* No module has the instruction: it may be one of ours, which stands for one of the program's. */
static int strobe_walk_out_of_trampoline(struct strobe_walk* walk) {
    return strobe_leave_trampoline(walk->recorder, &walk->pc, &walk->registers[STROBE_UNWIND_RSP]) != 0;
}

static int strobe_walk_is_sigreturn(struct strobe_walk* walk) {
    uint64_t code;
    if (!strobe_walk_load(walk, walk->pc, &code)) return 0;
    return (uint8_t)code == STROBE_SIGRETURN_BEFORE && strobe_walk_load(walk, walk->pc + 1, &code) &&
           code == STROBE_SIGRETURN_FIRST;
}

/* The recorder's own code, with the return path that is written at run time. */
static inline int strobe_walk_is_own(const struct strobe_walk* walk) {
    const struct strobe_recorder* recorder = walk->recorder;
    uint64_t path = (uint64_t)recorder->stubs + (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES * STROBE_STUB_BYTES;
    return walk->pc - walk->directory->own_start < walk->directory->own_end - walk->directory->own_start ||
           walk->pc - path < recorder->return_path_bytes;
}

/* A handler has interrupted the recorder, which had been called from the program: the state that was at work then is
   the one before `walk->state`, and knows where on the stack that was. rbp is the program's in the frames of our own
   assembly. */
static int strobe_walk_out_of_recorder(struct strobe_walk* walk) {
    const struct strobe_recorder* recorder = walk->recorder;
    const struct strobe_thread_state* state = strobe_thread_known(recorder);
    uint64_t slot;
    uint32_t level;
    for (level = 0; state != NULL && state->nested != walk->state && level < STROBE_NESTED_STATES; level++)
        state = state->nested;
    if (state == NULL || state->nested != walk->state || state->busy_slot == state->idle) return 0;
    slot = state->busy_slot;
    if (slot <= walk->registers[STROBE_UNWIND_RSP] || !strobe_walk_load(walk, slot, &walk->pc)) return 0;
    if (state->depth < STROBE_FRAMES && state->frames[state->depth].slot == slot &&
        walk->pc >> 32 == 0xffffffff) /* it was returning: strobe_is_returning */
        walk->pc = state->frames[state->depth].return_address;
    walk->pc = strobe_walk_behind_stub(recorder, walk->pc, slot);
    walk->registers[STROBE_UNWIND_RSP] = slot + 8;
    walk->is_exact = 0;
    return 1;
}

/* Where there is no rule: STROBE_STACK_LIMITED where the walk goes on all the same. */
static STROBE_COLD uint32_t strobe_walk_without_rule(struct strobe_walk* walk, uint64_t* out) {
    if (!walk->is_exact && strobe_walk_is_sigreturn(walk)) {
        *out |= STROBE_STACK_SIGNAL;
        return strobe_walk_signal(walk);
    }
    if (strobe_walk_is_own(walk) && strobe_walk_out_of_recorder(walk)) return STROBE_STACK_LIMITED;
    return STROBE_STACK_UNKNOWN;
}

/* By `rule`, to the caller. `STROBE_STACK_LIMITED`: there is one. */
static inline uint32_t strobe_walk_up(struct strobe_walk* walk, const struct strobe_unwind_rule* rule, uint64_t* out) {
    uint64_t* registers = walk->registers;
    uint64_t cfa, rbp = registers[STROBE_UNWIND_RBP], saved;
    if (rule->cfa_kind == STROBE_UNWIND_PLT) {
        cfa = registers[STROBE_UNWIND_RSP] + 8 + ((walk->pc & 15) >= rule->plt_limit ? 8 : 0);
    } else {
        if (rule->cfa_register >= 16 || !(walk->known >> rule->cfa_register & 1))
            return strobe_walk_without_rule(walk, out);
        cfa = registers[rule->cfa_register] + (uint64_t)(int64_t)rule->cfa_offset;
        if (STROBE_UNLIKELY(rule->cfa_kind == STROBE_UNWIND_DEREF) && !strobe_walk_load(walk, cfa, &cfa))
            return STROBE_STACK_UNREADABLE;
    }
    if (cfa <= registers[STROBE_UNWIND_RSP]) return STROBE_STACK_UNREADABLE; /* stacks grow down */
    if (!strobe_walk_load(walk, cfa - 8, &walk->pc)) return STROBE_STACK_UNREADABLE;
    walk->known = STROBE_KNOWN_STACK;
    if (rule->rbp_kind != STROBE_UNWIND_SAME) {
        saved = rule->rbp_kind == STROBE_UNWIND_AT_CFA ? cfa : rbp;
        if (rule->rbp_kind == STROBE_UNWIND_LOST ||
            !strobe_walk_load(walk, saved + (uint64_t)(int64_t)rule->rbp_offset, &registers[STROBE_UNWIND_RBP]))
            walk->known &= ~(1u << STROBE_UNWIND_RBP);
    }
    registers[STROBE_UNWIND_RSP] = cfa;
    walk->pc = strobe_walk_behind_stub(walk->recorder, walk->pc, cfa - 8);
    walk->is_exact = 0;
    return STROBE_STACK_LIMITED;
}

/* From the frame that `walk` is at; `out`: what it was reached by, to be marked where that is a signal's. */
static inline uint32_t strobe_walk_step(struct strobe_walk* walk, uint64_t* out) {
    const struct strobe_unwind_rule* rule = strobe_unwind_find(walk->directory, walk->pc - !walk->is_exact);
    if (STROBE_UNLIKELY(rule == NULL) && walk->is_exact && strobe_walk_out_of_trampoline(walk))
        rule = strobe_unwind_find(walk->directory, walk->pc);
    if (STROBE_UNLIKELY(rule == NULL || rule->cfa_kind == STROBE_UNWIND_UNKNOWN))
        return strobe_walk_without_rule(walk, out);
    if (rule->cfa_kind == STROBE_UNWIND_OUTERMOST) return STROBE_STACK_WHOLE;
    if (STROBE_UNLIKELY(rule->cfa_kind == STROBE_UNWIND_SIGNAL)) {
        *out |= STROBE_STACK_SIGNAL;
        return strobe_walk_signal(walk);
    }
    return strobe_walk_up(walk, rule, out);
}

/* The instruction that is probed: its first probe's number lies in the trampoline that was called from. */
static void strobe_walk_from_site(struct strobe_walk* walk, const uint64_t* registers) {
    uint32_t number = *(const uint32_t*)(registers[STROBE_CONTEXT_PC] - STROBE_SITE_CALL - 6);
    uint32_t index;
    for (index = 0; index < 16; index++) walk->registers[index] = registers[index];
    walk->known = 0xffff;
    walk->pc = walk->recorder->probes[number].address;
    walk->is_exact = 1;
}

static inline uint64_t strobe_step_slot(uint64_t pc, uint64_t rsp) {
    return (pc ^ pc >> 8 ^ rsp >> 3) % STROBE_STEP_SLOTS;
}

static inline int strobe_step_is_of(const struct strobe_step* step, uint64_t pc, uint64_t rsp, uint64_t rbp) {
    return step->pc == pc && step->rsp == rsp && step->rbp == rbp;
}

/* NULL where the frame does not lie in what the thread has in use of its own stack: from there on, up the stack, steps
   are read without asking. */
static inline struct strobe_steps* strobe_steps_of(const struct strobe_walk* walk, uint64_t rsp) {
    struct strobe_steps* steps = (struct strobe_steps*)&walk->state->steps; /* of the thread that is here */
    uint32_t index;
    if (rsp - walk->low >= walk->bytes) return NULL;
    if (STROBE_UNLIKELY(steps->generation != walk->directory->generation)) {
        for (index = 0; index < STROBE_STEPS; index++) steps->steps[index].rsp = 0;
        STROBE_COMPILER_BARRIER();
        steps->generation = walk->directory->generation;
    }
    return steps;
}

/* Whether what was read to find the frame's caller is still there. All of it lies between the frame and the end of the
   thread's own stack. */
static inline int strobe_step_still_holds(const struct strobe_walk* walk, const struct strobe_step* step) {
    uint64_t place = step->callers_rsp - 8;
    return place - walk->low < walk->bytes && *(const volatile uint64_t*)place == step->above &&
           (step->rbp_address == 0 || *(const volatile uint64_t*)step->rbp_address == step->callers_rbp);
}

/* Puts down how the caller was found. A handler that comes meanwhile, and may jump away, has steps of its own. */
static inline struct strobe_step* strobe_step_put(struct strobe_steps* steps, struct strobe_step* step,
                                                  const struct strobe_step* found) {
    if (step == NULL) step = &steps->steps[steps->used++ % STROBE_STEPS];
    step->rsp = 0;
    STROBE_COMPILER_BARRIER();
    step->pc = found->pc;
    step->rbp = found->rbp;
    step->above = found->above;
    step->callers_rsp = found->callers_rsp;
    step->callers_rbp = found->callers_rbp;
    step->rbp_address = found->rbp_address;
    STROBE_COMPILER_BARRIER();
    step->rsp = found->rsp;
    steps->slots[strobe_step_slot(found->pc, found->rsp)] = (uint8_t)(step - steps->steps);
    return step;
}

/* From the frame that `found` has: the rest of it, by the rule of its instruction. 0 where that is not of the usual
   kind. */
static inline int strobe_step_find(struct strobe_walk* walk, struct strobe_step* found) {
    const struct strobe_unwind_directory* directory = walk->directory;
    uint64_t rule = strobe_unwind_known(directory, found->pc - 1);
    uint64_t cfa = (rule & STROBE_UNWIND_FROM_RBP ? found->rbp : found->rsp) +
                   8 * (rule >> STROBE_UNWIND_CFA_SHIFT & STROBE_UNWIND_CFA_MASK);
    uint64_t saved = rule & STROBE_UNWIND_RBP_MASK;
    if (!(rule & STROBE_UNWIND_PLAIN) || cfa <= found->rsp || cfa >= 1ull << 47) return 0;
    if (found->pc - directory->own_start < directory->own_end - directory->own_start) return 0;
    found->callers_rsp = cfa;
    found->callers_rbp = found->rbp;
    found->rbp_address = saved == 0 ? 0 : cfa - 8 * saved;
    return strobe_walk_load(walk, cfa - 8, &found->above) &&
           (saved == 0 || strobe_walk_load(walk, found->rbp_address, &found->callers_rbp));
}

/* As many frames, from that of `step` on, as still stand on the stack and lead from one to the next by what is there
   alone. Gives the last of these steps; NULL where there is none. */
static inline struct strobe_step* strobe_steps_follow(const struct strobe_walk* walk, struct strobe_steps* steps,
                                                      struct strobe_step* step, uint32_t* count, uint32_t most,
                                                      uint64_t* out) {
    struct strobe_step* last = NULL;
    uint32_t done = *count;
    while (strobe_step_still_holds(walk, step)) {
        const uint64_t above = step->above, rsp = step->callers_rsp, rbp = step->callers_rbp;
        out[done++] = step->pc;
        last = step;
        step = &steps->steps[step->next % STROBE_STEPS];
        if (done == most || !strobe_step_is_of(step, above, rsp, rbp)) break;
    }
    *count = done;
    return last;
}

/* From the frame that `at` has, by its rule. 0 where that is not of the usual kind. Puts down what can be used again:
   gives it in `step`, else NULL there. */
static STROBE_APART int strobe_walk_by_rule(struct strobe_walk* walk, struct strobe_steps* steps,
                                            struct strobe_step* at, struct strobe_step** step) {
    if (!strobe_step_find(walk, at)) return 0;
    if (steps != NULL && at->callers_rsp - 8 - walk->low < walk->bytes &&
        (at->rbp_address == 0 || at->rbp_address - at->rsp < at->callers_rsp - at->rsp))
        *step = strobe_step_put(steps, *step, at);
    else
        *step = NULL;
    return 1;
}

/* As many frames as rules of the usual kind lead through; gives how many there are then. What is not usual is left to
   strobe_walk_step. */
static inline uint32_t strobe_walk_quickly(struct strobe_walk* walk, uint32_t count, uint32_t most, uint64_t* out) {
    const uint64_t stubs = (uint64_t)walk->recorder->stubs;
    struct strobe_step at, *step, *last = NULL;
    struct strobe_steps* steps;
    if (walk->is_exact || (walk->known & STROBE_KNOWN_STACK) != STROBE_KNOWN_STACK) return count;
    at.pc = walk->pc;
    at.rsp = walk->registers[STROBE_UNWIND_RSP];
    at.rbp = walk->registers[STROBE_UNWIND_RBP];
    steps = strobe_steps_of(walk, at.rsp);
    while (count < most) {
        struct strobe_step* followed = NULL;
        const struct strobe_step* found = &at;
        step = NULL;
        if (steps != NULL) {
            step = &steps->steps[steps->slots[strobe_step_slot(at.pc, at.rsp)] % STROBE_STEPS];
            if (!strobe_step_is_of(step, at.pc, at.rsp, at.rbp)) step = NULL;
            if (step != NULL && last != NULL) last->next = (uint64_t)(step - steps->steps);
            if (step != NULL) followed = strobe_steps_follow(walk, steps, step, &count, most, out);
        }
        if (followed != NULL) {
            found = last = followed;
        } else {
            if (!strobe_walk_by_rule(walk, steps, &at, &step)) break;
            if (step != NULL && last != NULL) last->next = (uint64_t)(step - steps->steps);
            last = step;
            out[count++] = at.pc;
        }
        at.pc = found->above;
        at.rsp = found->callers_rsp;
        at.rbp = found->callers_rbp;
        if (at.pc - stubs < (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES * STROBE_STUB_BYTES)
            at.pc = strobe_walk_behind_stub(walk->recorder, at.pc, at.rsp - 8);
    }
    walk->pc = at.pc;
    walk->registers[STROBE_UNWIND_RSP] = at.rsp;
    walk->registers[STROBE_UNWIND_RBP] = at.rbp;
    walk->known = STROBE_KNOWN_STACK;
    return count;
}

uint32_t strobe_backtrace(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                          uint32_t from, const uint64_t* registers, const uint64_t* slot, uint32_t most, uint64_t* out,
                          uint32_t* status) {
    uint32_t count = 0;
    uint64_t unused = 0;
    struct strobe_walk walk;
    walk.recorder = recorder;
    walk.state = state;
    walk.directory = *(struct strobe_unwind_directory* const volatile*)&recorder->unwinding;
    *status = STROBE_STACK_UNKNOWN;
    if (walk.directory == NULL || most == 0) return 0;
    walk.may_touch = -1;
    walk.low = (uint64_t)&walk;
    walk.bytes = STROBE_ON_OWN_STACK(state, walk.low) ? state->stack_high - walk.low - 7 : 0;
    if (from == STROBE_STACK_AT_SITE) {
        strobe_walk_from_site(&walk, registers);
        *status = strobe_walk_step(&walk, &unused);
        if (*status != STROBE_STACK_LIMITED) return 0;
    } else {
        int is_return = from == STROBE_STACK_AT_RETURN; /* the call's frame is the one above the innermost then */
        walk.registers[STROBE_UNWIND_RBP] = is_return ? slot[-STROBE_RETURNED_RBP] : registers[-2]; /* enter.c */
        walk.registers[STROBE_UNWIND_RSP] = (uint64_t)(slot + 1);
        walk.known = STROBE_KNOWN_STACK;
        walk.pc = is_return ? state->frames[state->depth].return_address
                            : strobe_walk_behind_stub(recorder, *slot, (uint64_t)slot);
        walk.is_exact = 0;
    }
    while (walk.pc != 0) {
        int is_own;
        count = strobe_walk_quickly(&walk, count, most, out);
        *status = STROBE_STACK_LIMITED;
        if (count == most) return count;
        if (walk.pc == 0) break;
        is_own = strobe_walk_is_own(&walk);
        out[count] = walk.pc | (walk.is_exact ? STROBE_STACK_INTERRUPTED : 0);
        *status = strobe_walk_step(&walk, &out[count]);
        if (STROBE_UNLIKELY(is_own) && *status == STROBE_STACK_LIMITED) continue;
        if (*status != STROBE_STACK_LIMITED || ++count == most)
            return *status == STROBE_STACK_LIMITED ? count : count + 1;
    }
    *status = STROBE_STACK_WHOLE;
    return count;
}
