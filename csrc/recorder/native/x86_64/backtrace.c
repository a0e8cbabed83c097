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
static int strobe_walk_out_of_place(struct strobe_walk* walk) {
    const struct strobe_recorder* recorder = walk->recorder;
    uint64_t index;
    for (index = 0; index < recorder->place_count; index++) {
        const struct strobe_places* places = &recorder->places[index];
        uint64_t offset = (walk->pc - places->start - STROBE_TRAMPOLINES_HEADER) % STROBE_TRAMPOLINE_BYTES;
        uint32_t number;
        if (walk->pc < places->start + STROBE_TRAMPOLINES_HEADER || walk->pc >= places->end) continue;
        if (offset > STROBE_PLACE_INSTRUCTION) return 0; /* it has run, in part or whole: no rule is for that */
        number = *(const uint32_t*)(walk->pc - offset);
        if (number >= STROBE_FUNCTION_CAPACITY || recorder->probes[number].address == 0) return 0;
        /* between the call and the instruction rsp is 128 further down, or the call is still to come */
        if (offset > 4 && offset < STROBE_PLACE_INSTRUCTION) walk->registers[STROBE_UNWIND_RSP] += STROBE_PLACE_STACK;
        walk->pc = recorder->probes[number].address;
        walk->is_exact = 1;
        return 1;
    }
    return 0;
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
    if (STROBE_UNLIKELY(rule == NULL) && walk->is_exact && strobe_walk_out_of_place(walk))
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
static void strobe_walk_from_place(struct strobe_walk* walk, const uint64_t* registers) {
    uint32_t number = *(const uint32_t*)(registers[STROBE_CONTEXT_PC] - STROBE_PLACE_CALL - 6);
    uint32_t index;
    for (index = 0; index < 16; index++) walk->registers[index] = registers[index];
    walk->known = 0xffff;
    walk->pc = walk->recorder->probes[number].address;
    walk->is_exact = 1;
}

/* As many frames as rules of the usual kind lead through; gives how many there are then. What is not usual is left to
   strobe_walk_step. */
static inline uint32_t strobe_walk_quickly(struct strobe_walk* walk, uint32_t count, uint32_t most, uint64_t* out) {
    const struct strobe_unwind_directory* directory = walk->directory;
    uint64_t stubs = (uint64_t)walk->recorder->stubs;
    uint64_t pc = walk->pc, rsp = walk->registers[STROBE_UNWIND_RSP], rbp = walk->registers[STROBE_UNWIND_RBP];
    if (walk->is_exact || (walk->known & STROBE_KNOWN_STACK) != STROBE_KNOWN_STACK) return count;
    while (count < most) {
        uint64_t rule = strobe_unwind_known(directory, pc - 1);
        uint64_t cfa = (rule & STROBE_UNWIND_FROM_RBP ? rbp : rsp) +
                       8 * (rule >> STROBE_UNWIND_CFA_SHIFT & STROBE_UNWIND_CFA_MASK);
        uint64_t saved = rule & STROBE_UNWIND_RBP_MASK, above, callers = rbp;
        if (!(rule & STROBE_UNWIND_PLAIN) || cfa <= rsp || cfa >= 1ull << 47) break;
        if (pc - directory->own_start < directory->own_end - directory->own_start) break;
        if (!strobe_walk_load(walk, cfa - 8, &above) ||
            (saved != 0 && !strobe_walk_load(walk, cfa - 8 * saved, &callers)))
            break;
        if (above - stubs < (uint64_t)STROBE_THREAD_STATES * STROBE_FRAMES * STROBE_STUB_BYTES)
            above = strobe_walk_behind_stub(walk->recorder, above, cfa - 8);
        out[count++] = pc;
        pc = above;
        rsp = cfa;
        rbp = callers;
    }
    walk->pc = pc;
    walk->registers[STROBE_UNWIND_RSP] = rsp;
    walk->registers[STROBE_UNWIND_RBP] = rbp;
    walk->known = STROBE_KNOWN_STACK;
    return count;
}

uint32_t strobe_backtrace(const struct strobe_recorder* recorder, const struct strobe_thread_state* state, int is_place,
                          const uint64_t* registers, const uint64_t* slot, uint32_t most, uint64_t* out,
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
    if (is_place) {
        strobe_walk_from_place(&walk, registers);
        *status = strobe_walk_step(&walk, &unused);
        if (*status != STROBE_STACK_LIMITED) return 0;
    } else {
        walk.registers[STROBE_UNWIND_RBP] = registers[-2]; /* enter.c */
        walk.registers[STROBE_UNWIND_RSP] = (uint64_t)(slot + 1);
        walk.known = STROBE_KNOWN_STACK;
        walk.pc = strobe_walk_behind_stub(recorder, *slot, (uint64_t)slot);
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
