/* What the agent calls, in both forms of the recorder. */
#include "../unwind/table.h"
#include "recorder.h"

#define STROBE_CACHE_LINE 64u
#define STROBE_CALLERS_WAIT_NS 100000000u
#define STROBE_JUMP_TO_ITSELF 0xfeebu /* x86-64 */
#define STROBE_MEMBARRIER_SYNC_CORE 32
#define STROBE_MEMBARRIER_REGISTER_SYNC_CORE 64

void strobe_on_thread_end(void* state) { strobe_thread_end(&strobe_recorder, (struct strobe_thread_state*)state); }

STROBE_STATIC_ASSERT(sizeof(struct strobe_recorder) <= 4096, "the agent maps one page for it");

static int strobe_agent_is_alive(const struct strobe_recorder* recorder) {
    return recorder->control->alive && recorder->agent_tid != 0 &&
           strobe_syscall(STROBE_SYS_TGKILL, recorder->pid, recorder->agent_tid, 0, 0, 0, 0) == 0;
}

/* Ends what an agent has left that is not there any more. Gives where the segment is to be mapped; NULL: anywhere, all
   bits set: another session is recording. */
void* strobe_agent_begin(uint64_t segment_bytes) {
    struct strobe_recorder* recorder = &strobe_recorder;
    if (recorder->control != NULL && strobe_agent_is_alive(recorder)) return (void*)~0ull;
    recorder->agent_tid = (uint32_t)strobe_syscall(STROBE_SYS_GETTID, 0, 0, 0, 0, 0, 0);
    if (recorder->control == NULL) return NULL;
    /* or what a child has of its parent's session that was not recorded itself */
    if (recorder->control->alive || !recorder->control->is_own) strobe_recorder_end(recorder);
    return segment_bytes <= recorder->segment_bytes ? recorder->header : NULL;
}

int64_t strobe_agent_init(uint8_t* segment, uint64_t segment_bytes, void* get_specific, void* set_specific,
                          uint64_t main_stack_address, uint64_t loader_low, uint64_t loader_high) {
    if ((uint8_t*)strobe_recorder.header != segment || strobe_recorder.segment_bytes < segment_bytes)
        strobe_recorder.segment_bytes = segment_bytes;
    strobe_recorder.get_specific = (void* (*)(uint32_t))get_specific;
    strobe_recorder.set_specific = (int (*)(uint32_t, const void*))set_specific;
    strobe_recorder.main_stack_address = main_stack_address;
    strobe_recorder.loader_code[0] = loader_low;
    strobe_recorder.loader_code[1] = loader_high;
    strobe_agent_find(&strobe_recorder, (uint64_t)__builtin_return_address(0));
    return strobe_recorder_init(&strobe_recorder, segment);
}

void strobe_agent_set_thread_key(uint32_t key) {
    strobe_recorder.thread_key = key;
    strobe_recorder.has_key = 1;
    strobe_thread_slot_find(&strobe_recorder);
}

/* Of an earlier session: the key stays, as threads have values of it. */
int strobe_agent_has_thread_key(void) { return (int)strobe_recorder.has_key; }

/* Whether the unwinder with this __register_frame has yet to be given the table, which it must get once. */
int strobe_agent_add_unwinder(uint64_t address) {
    struct strobe_recorder* recorder = &strobe_recorder;
    uint32_t index;
    for (index = 0; index < recorder->unwinder_count; index++)
        if (recorder->unwinders[index] == address) return 0;
    if (recorder->unwinder_count < STROBE_UNWINDERS) recorder->unwinders[recorder->unwinder_count++] = address;
    return 1;
}

/* The probe for _exit: the kernel reports a program's exit status only to its parent. The offsets are
   those of strobe_agent_probe_offsets. */
void* strobe_agent_exit_probe(uint32_t cpu_offset, uint32_t rdi_offset) {
    return strobe_exit_probe_write(&strobe_recorder, cpu_offset, rdi_offset);
}

uint32_t strobe_agent_exit_routine(uint8_t* memory) { return strobe_exit_routine_write(&strobe_recorder, memory); }

uint32_t strobe_agent_lone_routine(uint8_t* memory, uint32_t call, const uint8_t* displaced) {
    return strobe_lone_routine_write(&strobe_recorder, memory, call, displaced);
}

/* Those with a place in `inside` whose stack still says so: arch/x86_64/guards.c. */
static uint32_t strobe_threads_inside(const struct strobe_recorder* recorder) {
    uint32_t index, count = 0;
    for (index = 0; recorder->inside != NULL && index < STROBE_INSIDE_BYTES / 8; index++) {
        uint64_t word = 0, from[2], to[2];
        int64_t result;
        from[0] = ((const volatile uint64_t*)recorder->inside)[index];
        if (from[0] == 0) continue;
        to[0] = (uint64_t)&word;
        from[1] = to[1] = sizeof word;
        /* a thread that was ended there has taken its stack along */
        result = strobe_syscall(STROBE_SYS_PROCESS_VM_READV, recorder->pid, (int64_t)to, 1, (int64_t)from, 1, 0);
        if (result != -STROBE_EFAULT && (result != sizeof word || word == (uint64_t)&recorder->inside[index])) count++;
    }
    return count;
}

static uint32_t strobe_scripts_running(const struct strobe_recorder* recorder) {
    uint32_t index, count = 0;
    for (index = 0; index < recorder->states_used; index++) {
        const volatile struct strobe_thread_state* state = &recorder->states[index];
        if (state->claimed && state->runs_script) count++;
    }
    return count;
}

/* From now on no thread of the program enters code that goes with the agent. Gives how many are still there. */
uint32_t strobe_agent_let_leave(void) {
    struct strobe_recorder* recorder = &strobe_recorder;
#ifndef STROBE_STAYS_LOADED
    recorder->control->exit_handler = 0;
#endif
    recorder->control->has_agent = 0;
    /* locked: who has not seen that yet is seen here */
    return strobe_fetch_add32(&recorder->control->agent_calls, 0) + strobe_threads_inside(recorder) +
           strobe_scripts_running(recorder);
}

uint32_t strobe_agent_guard(uint8_t* memory, uint64_t leads_to) {
    return strobe_guard_write(&strobe_recorder, memory, leads_to);
}

/* `set_cancel_state`: pthread_setcancelstate, or NULL. */
uint32_t strobe_agent_loader_guard(uint8_t* memory, uint64_t leads_to, void* set_cancel_state) {
    strobe_recorder.set_cancel_state = (int (*)(int, int*))set_cancel_state;
    return strobe_loader_guard_write(&strobe_recorder, memory, leads_to);
}

void* strobe_agent_unwind_table(void) { return strobe_recorder.unwind_table; }

int strobe_agent_catches_returns(void) { return (int)strobe_recorder.catch_returns; }

/* Where the host finds whether it is on, and which segment it writes to. */
void* strobe_agent_recorder(void) { return &strobe_recorder; }

/* A library came, and the host will not learn of it. */
void strobe_agent_note_unreported(void) { strobe_fetch_add32(&strobe_recorder.header->unreported_libraries, 1); }

/* Ticks since the session began. */
uint64_t strobe_agent_ticks(void) { return strobe_ticks(&strobe_recorder); }

void strobe_agent_end(void) { strobe_recorder_end(&strobe_recorder); }

/* The agent permits others for its host, by the same function of the C library as the program: it puts back what that
   has permitted. */
uint64_t strobe_agent_tracer(void) { return strobe_recorder.tracer; }
void strobe_agent_set_tracer(uint64_t tracer) { strobe_recorder.tracer = tracer; }

/* Scripts run in the agent, which goes; all else is recorded as before. Returns when no thread runs one any more, in
   the time that strobe_recorder_end would wait. */
void strobe_agent_end_scripts(void) {
    int attempts = STROBE_END_ATTEMPTS;
    *(strobe_script_function* volatile*)&strobe_recorder.script = NULL;
    strobe_fetch_add32(&strobe_recorder.control->agent_calls, 0); /* a full barrier: strobe_call_undisturbed */
    STROBE_COMPILER_BARRIER();
    while (attempts-- > 0 && strobe_scripts_running(&strobe_recorder) != 0) strobe_sleep_us(1000);
}

/* The list of jumps that stand in the program's code, or are going to (agent/code_changes.ts), and how many there are.
   It is kept here, because who takes them back may be another agent: the one that is attached to a forked child, or
   comes after one that could not. Gives how many have room. */
uint32_t strobe_agent_jumps(struct strobe_jump** jumps, uint64_t** count) {
    *jumps = strobe_recorder.jumps;
    *count = &strobe_recorder.jump_count;
    return STROBE_JUMPS;
}

/* Where threads go on that run into the breakpoint instruction at `address`, before it is written. 0: no room. */
int strobe_agent_set_trap(uint64_t address, uint64_t leads_to) {
    uint32_t index = strobe_trap_index(address);
    uint32_t looked;
    for (looked = 0; looked < STROBE_TRAPS / 2; looked++) {
        volatile struct strobe_trap* trap = &strobe_recorder.traps[(index + looked) % STROBE_TRAPS];
        if (trap->address != 0 && trap->address != address) continue;
        trap->leads_to = leads_to;
        STROBE_COMPILER_BARRIER();
        trap->address = address;
        return 1;
    }
    return 0;
}

/* What was written by strobe_agent_write_sites, or _trampolines (`is_of_functions`), is about to be used. Beyond
   STROBE_SITE_RANGES a fault is seen there. */
void strobe_agent_add_site_range(uint64_t start, uint64_t bytes, int is_of_functions) {
    struct strobe_recorder* recorder = &strobe_recorder;
    uint64_t index = 0;
    while (index < recorder->site_range_count && recorder->site_ranges[index].end != 0) index++;
    if (index >= STROBE_SITE_RANGES) return;
    recorder->site_ranges[index].start = start;
    recorder->site_ranges[index].is_of_functions = (uint64_t)is_of_functions;
    STROBE_COMPILER_BARRIER();
    recorder->site_ranges[index].end = start + bytes;
    STROBE_COMPILER_BARRIER();
    if (index == recorder->site_range_count) recorder->site_range_count = index + 1;
}

/* A library was unloaded, or trampolines of its code are about to be: what lies there afterwards is somebody else's. */
void strobe_agent_forget_code(uint64_t start, uint64_t bytes) {
    struct strobe_recorder* recorder = &strobe_recorder;
    uint64_t index;
    if (recorder->site_range_count == 0) return;
    for (index = 0; index < STROBE_TRAPS; index++) {
        volatile struct strobe_trap* trap = &recorder->traps[index];
        if (trap->address - start < bytes || trap->leads_to - start < bytes) trap->leads_to = 0;
    }
    for (index = 0; index < recorder->site_range_count; index++)
        if (recorder->site_ranges[index].start - start < bytes) recorder->site_ranges[index].end = 0;
}

/* The instruction whose first probe is `first`, and so far the only one: numbers of a library that has gone are used
   again. */
void strobe_agent_set_site(uint32_t first, uint64_t address) {
    strobe_recorder.probes[first].next = 0;
    strobe_recorder.probes[first].address = address;
}

/* One more probe of the instruction whose first one is `first`; it has none behind it yet. */
void strobe_agent_add_probe(uint32_t first, uint32_t function) {
    volatile struct strobe_probe* probes = strobe_recorder.probes;
    while (first != function && probes[first].next != 0) first = probes[first].next;
    if (first == function) return;
    probes[function].next = 0;
    STROBE_COMPILER_BARRIER();
    probes[first].next = function;
}

/* One that records no more; the first one stays, as trampolines have its number. Who stands at it goes on behind it. */
void strobe_agent_remove_probe(uint32_t first, uint32_t function) {
    volatile struct strobe_probe* probes = strobe_recorder.probes;
    if (first == function) return;
    while (probes[first].next != 0 && probes[first].next != function) first = probes[first].next;
    if (probes[first].next == function) probes[first].next = probes[function].next;
}

/* A limit that begins to count, of a probe whose first site is `first`. Before it is recorded anywhere. */
void strobe_agent_begin_limit(uint32_t first, uint32_t after, uint32_t most, uint32_t rate, uint32_t flags) {
    struct strobe_limit* limit = &strobe_recorder.limits[first];
    limit->held = limit->hits = limit->recorded = limit->second = 0;
    limit->rate = rate;
    limit->flags = flags;
    limit->after = after;
    limit->most = most;
}

/* Of a site of a probe: the limit that counts for it, 0 for none. Before it is recorded there. */
void strobe_agent_limit_probe(uint32_t function, uint32_t first) { strobe_recorder.probes[function].limit = first; }

/* Captures from the one at `first` on, which no plan and no set names yet. */
void strobe_agent_set_captures(uint32_t first, uint32_t count, const struct strobe_capture* captures) {
    uint32_t index;
    if (first > STROBE_CAPTURE_CAPACITY || count > STROBE_CAPTURE_CAPACITY - first) return;
    for (index = 0; index < count; index++) strobe_recorder.captures[first + index] = captures[index];
}

/* The first number that this session gives to a function; after the last one comes 1 again. */
uint32_t strobe_agent_first_function(void) { return strobe_recorder.first_function + 1; }

static void strobe_note_given(struct strobe_recorder* recorder, uint32_t function) {
    uint32_t ahead =
        (function + STROBE_FUNCTION_CAPACITY - 2 - recorder->first_function) % (STROBE_FUNCTION_CAPACITY - 1);
    if (ahead >= recorder->functions_given) recorder->functions_given = ahead + 1;
}

/* Of functions that are hooked, and of probes, before either has probes behind it. Their captures are there. */
void strobe_agent_set_plans(uint32_t count, const uint32_t* functions, const struct strobe_function_plan* plans) {
    struct strobe_recorder* recorder = &strobe_recorder;
    uint32_t index;
    for (index = 0; index < count; index++) {
        const struct strobe_function_plan* wanted = &plans[index];
        if (functions[index] >= STROBE_FUNCTION_CAPACITY || functions[index] == 0) continue;
        strobe_note_given(recorder, functions[index]);
        recorder->probes[functions[index]].next = 0;
        recorder->plans[functions[index]].captures = wanted->captures;
        recorder->plans[functions[index]].enter_count = wanted->enter_count;
        recorder->plans[functions[index]].exit_count = wanted->exit_count;
        recorder->plans[functions[index]].most_words = wanted->most_words;
        recorder->plans[functions[index]].flags = wanted->flags;
    }
}

/* Changes what the functions' plans say for now; what was found out about their code stays. */
void strobe_agent_set_flags(uint32_t count, const uint32_t* functions, const uint8_t* flags) {
    uint32_t index;
    for (index = 0; index < count; index++) {
        struct strobe_function_plan* plan = &strobe_recorder.plans[functions[index]];
        if (functions[index] < STROBE_FUNCTION_CAPACITY)
            plan->flags = flags[index] | (plan->flags & STROBE_PLAN_LOOPS_TO_ENTRY);
    }
}

void strobe_agent_add_flags(uint32_t count, const uint32_t* functions, uint8_t flags) {
    uint32_t index;
    for (index = 0; index < count; index++)
        if (functions[index] < STROBE_FUNCTION_CAPACITY) strobe_recorder.plans[functions[index]].flags |= flags;
}

/* The watch at `index`; no function's set has named it yet. */
void strobe_agent_set_watch(uint32_t index, const struct strobe_watch* watch) {
    uint64_t bytes = sizeof(struct strobe_watch);
    struct strobe_watch* own = &strobe_recorder.watches[index];
    if (index >= STROBE_EXTRAS) return;
    strobe_copy((uint8_t*)own, (const uint8_t*)watch, (uint32_t)bytes);
}

/* Where the watch at `index`, a recipe or not, begins from now on, whatever calls may be reading it. */
void strobe_agent_move_watch(uint32_t is_recipe, uint32_t index, uint64_t address) {
    struct strobe_recorder* recorder = &strobe_recorder;
    if (index >= STROBE_EXTRAS) return;
    if (!is_recipe)
        *(volatile uint64_t*)&recorder->watches[index].address = address;
    else if (recorder->recipes[index].step_count != 0)
        *(volatile int64_t*)&recorder->recipe_steps[recorder->recipes[index].first_step].operand = (int64_t)address;
}

/* The recipe at `index`. 0 where there is no room for its steps. */
int strobe_agent_set_recipe(uint32_t index, uint32_t bytes, uint32_t items, uint32_t step_count,
                            const struct strobe_recipe_step* steps) {
    struct strobe_recorder* recorder = &strobe_recorder;
    struct strobe_stored_recipe* recipe = &recorder->recipes[index];
    uint32_t step;
    if (index >= STROBE_EXTRAS || bytes > STROBE_SCRATCH_BYTES || items > STROBE_SCRATCH_ITEMS ||
        step_count > STROBE_RECIPE_STEPS - recorder->recipe_steps_used)
        return 0;
    for (step = 0; step < step_count; step++) recorder->recipe_steps[recorder->recipe_steps_used + step] = steps[step];
    recipe->first_step = recorder->recipe_steps_used;
    recipe->step_count = step_count;
    recipe->bytes = bytes;
    recipe->items = items;
    recorder->recipe_steps_used += step_count;
    return 1;
}

/* A new set, whose captures are there, from the one at `first` on; its number, 0 where there is no room for it.
   `condition`: a recipe, 0 for none, with STROBE_CONDITION_AT_RETURN where it is decided then; `condition_needs`: what
   it needs, STROBE_NEEDS_*. */
uint32_t strobe_agent_add_extras(uint32_t enter_count, uint32_t exit_count, uint32_t most_words, uint32_t condition,
                                 uint32_t condition_needs, uint32_t first) {
    struct strobe_recorder* recorder = &strobe_recorder;
    uint32_t wanted = enter_count + exit_count;
    const struct strobe_capture* captures = &recorder->captures[first];
    struct strobe_extras* extras = &recorder->extras[recorder->extras_used + 1];
    uint32_t index;
    if (recorder->extras_used + 1 >= STROBE_EXTRAS || first > STROBE_CAPTURE_CAPACITY ||
        wanted > STROBE_CAPTURE_CAPACITY - first)
        return 0;
    extras->needs = (uint8_t)condition_needs;
    extras->condition = (uint16_t)condition;
    extras->at_return = (condition & STROBE_CONDITION_AT_RETURN) != 0;
    if (extras->at_return) extras->needs |= STROBE_NEEDS_ENTRY;
    strobe_quick_find(recorder, extras);
    extras->is_plain = condition == 0 || extras->quick.is_there;
    for (index = 0; index < wanted; index++) {
        if (captures[index].kind != STROBE_CAPTURE_WATCH && captures[index].kind != STROBE_CAPTURE_STACK)
            extras->is_plain = 0;
        if (captures[index].kind != STROBE_CAPTURE_RECIPE) continue;
        if (captures[index].second == STROBE_ROLE_WATCH || captures[index].second == STROBE_ROLE_BEFORE)
            extras->needs = (uint8_t)strobe_joined_needs(extras->needs, captures[index].source);
        if (captures[index].second == STROBE_ROLE_BEFORE) extras->needs |= STROBE_NEEDS_ENTRY;
    }
    extras->captures = first;
    extras->most_words = (uint16_t)most_words;
    extras->enter_count = (uint8_t)enter_count;
    extras->exit_count = (uint8_t)exit_count;
    return ++recorder->extras_used;
}

/* Which set the functions' calls record from now on; their flags say whether they do. */
void strobe_agent_set_extras(uint32_t count, const uint32_t* functions, const uint16_t* extras) {
    uint32_t index;
    for (index = 0; index < count; index++)
        if (functions[index] < STROBE_FUNCTION_CAPACITY)
            ((volatile uint16_t*)strobe_recorder.extras_of)[functions[index]] = extras[index];
}

void strobe_agent_set_script(void* script, void* set_cancel_state) {
    strobe_recorder.set_cancel_state = (int (*)(int, int*))set_cancel_state; /* there may be no guard */
    STROBE_COMPILER_BARRIER();
    strobe_recorder.script = (strobe_script_function*)script;
}

/* `changed`: called, or NULL; `state`: see strobe_recorder.library_state, NULL where it stays. */
void strobe_agent_set_libraries_changed(void* changed, const uint8_t* state) {
    if (state != NULL) strobe_recorder.library_state = state;
    STROBE_COMPILER_BARRIER();
    strobe_recorder.libraries_changed = (void (*)(void))changed;
}

/* As strobe_recorder.callers; nobody writes there any more. Whether nobody reads those before any more. */
int strobe_agent_set_callers(const uint64_t* callers) {
    *(const uint64_t* volatile*)&strobe_recorder.callers = callers;
    return strobe_threads_have_got_on(&strobe_recorder, STROBE_CALLERS_WAIT_NS);
}

/* As the last, how frames are unwound from now on. */
int strobe_agent_set_unwinding(struct strobe_unwind_directory* directory) {
    if (directory != NULL) directory->generation = ++strobe_recorder.unwinding_generation;
    STROBE_COMPILER_BARRIER();
    *(struct strobe_unwind_directory* volatile*)&strobe_recorder.unwinding = directory;
    return strobe_threads_have_got_on(&strobe_recorder, STROBE_CALLERS_WAIT_NS);
}

#ifdef STROBE_CATCHES_FAULTS
#define STROBE_STORE(width, address, value) strobe_try_store##width(address, value)
#define STROBE_EXCHANGE(address, expected, desired) strobe_try_exchange32(address, expected, desired)
#else
#define STROBE_STORE(width, address, value) (*(volatile uint##width##_t*)(address) = (uint##width##_t)(value), 1)
#define STROBE_EXCHANGE(address, expected, desired) strobe_compare_exchange32((uint32_t*)(address), expected, desired)
#endif

static int strobe_store_word(uint64_t address, uint64_t value, uint32_t width) {
    if (width == 8) return STROBE_STORE(64, address, value);
    if (width == 4) return STROBE_STORE(32, address, value);
    if (width == 2) return STROBE_STORE(16, address, value);
    return STROBE_STORE(8, address, value);
}

/* The agent's threads block the signals of faults: one that is sent to the process is for the program's threads. But
   stores have their faults caught, so the signals are unblocked from the beginning of some stores to their end. 0, and
   nothing is, where such a signal waits for the program: it would come to this thread. */
int strobe_agent_begin_stores(void) {
#ifdef STROBE_CATCHES_FAULTS
    uint64_t faults = STROBE_FAULT_SIGNALS, pending = 0;
    strobe_syscall(STROBE_SYS_RT_SIGPENDING, (int64_t)&pending, 8, 0, 0, 0, 0);
    if (pending & faults) return 0;
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_UNBLOCK, (int64_t)&faults, 0, 8, 0, 0);
#endif
    return 1;
}

void strobe_agent_end_stores(void) {
#ifdef STROBE_CATCHES_FAULTS
    uint64_t faults = STROBE_FAULT_SIGNALS;
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_BLOCK, (int64_t)&faults, 0, 8, 0, 0);
#endif
}

/* Variables of the program, from its agent: `count` bytes in words of 8, 4, 2 and 1 bytes that are aligned, so that no
   thread sees a part of an aligned number. 0 where the memory cannot be written; the portable form must know that it
   can. */
int strobe_agent_store(uint64_t address, const uint8_t* bytes, uint32_t count) {
    while (count) {
        uint32_t width = 8, index;
        uint64_t word = 0;
        while (width > count || (address & (width - 1))) width /= 2;
        for (index = 0; index < width; index++) word |= (uint64_t)bytes[index] << 8 * index;
        if (!strobe_store_word(address, word, width)) return 0;
        address += width;
        bytes += width;
        count -= width;
    }
    return 1;
}

/* The bits of `mask` alone, in aligned words of 4 bytes: what threads write to the others meanwhile stays. */
int strobe_agent_store_bits(uint64_t address, const uint8_t* bytes, const uint8_t* mask, uint32_t count) {
    uint64_t at = address & ~3ull, end = address + count;
    for (; at < end; at += 4) {
        uint32_t changed = 0, value = 0, index;
        uint64_t present;
        int done = 0;
        for (index = 0; index < 4; index++) {
            uint64_t place = at + index;
            if (place < address || place >= end) continue;
            changed |= (uint32_t)mask[place - address] << 8 * index;
            value |= (uint32_t)bytes[place - address] << 8 * index;
        }
        while (changed && !done) {
#ifdef STROBE_CATCHES_FAULTS
            if (!strobe_try_load32(at, &present)) return 0;
#else
            present = *(volatile uint32_t*)at;
#endif
            done = STROBE_EXCHANGE(at, (uint32_t)present, ((uint32_t)present & ~changed) | (value & changed));
            if (done < 0) return 0;
        }
    }
    return 1;
}

/* Whether the kernel has other threads fetch code anew when it is asked. Once for a process, and slow. */
static int strobe_may_refetch(void) {
    return strobe_syscall(STROBE_SYS_MEMBARRIER, STROBE_MEMBARRIER_REGISTER_SYNC_CORE, 0, 0, 0, 0, 0) == 0;
}

/* Where the kernel cannot be asked (before 4.16), a thread that runs has taken an interrupt by then. */
static void strobe_refetch_in_other_threads(int is_asked) {
    if (!is_asked || strobe_syscall(STROBE_SYS_MEMBARRIER, STROBE_MEMBARRIER_SYNC_CORE, 0, 0, 0, 0, 0) != 0)
        strobe_sleep_us(10000);
}

static void strobe_replace_in_steps(uint8_t* address, const uint8_t* bytes, uint32_t count, int is_asked) {
    uint32_t index;
    *(volatile uint16_t*)address = STROBE_JUMP_TO_ITSELF;
    strobe_refetch_in_other_threads(is_asked);
    for (index = 2; index < count; index++) ((volatile uint8_t*)address)[index] = bytes[index];
    strobe_refetch_in_other_threads(is_asked);
    *(volatile uint16_t*)address = (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* A child that is forked meanwhile has the code as it is, and finishes it (native/fork.c). In the portable form nobody
   does: so the steps follow each other as quickly as the kernel allows. */
static void strobe_replace_across_lines(uint8_t* address, const uint8_t* bytes, uint32_t count) {
    struct strobe_recorder* recorder = &strobe_recorder;
    int may_ask = strobe_calls_begin(recorder);
    int is_asked = may_ask && strobe_may_refetch();
    uint32_t index;
    for (index = 0; index < count; index++) recorder->replacement[index] = bytes[index];
    recorder->replacement_bytes = count;
    STROBE_COMPILER_BARRIER();
    *(uint8_t* volatile*)&recorder->replaced_code = address;
    strobe_replace_in_steps(address, bytes, count, is_asked);
    STROBE_COMPILER_BARRIER();
    *(uint8_t* volatile*)&recorder->replaced_code = NULL;
    if (may_ask) strobe_calls_end(recorder);
}

/* Replaces a jump at `address` by the `count` bytes, up to 8, that stood there, or these by a jump, while threads run
   there. Eight bytes at once where they do not cross a cache line, so that no CPU fetches half of a jump. Else in
   steps, each of which is one whole instruction: two bytes of a jump to itself, in which threads wait that come by;
   what lies behind it, once no CPU is in the old jump any more; the first two bytes. The page must be writable. 0 where
   the line ends behind the first byte: no such steps are there, and nothing is written. One jump for another is one
   step there, too. */
int strobe_agent_replace_code(uint8_t* address, const uint8_t* bytes, uint32_t count) {
    uint64_t in_line = (uint64_t)address & (STROBE_CACHE_LINE - 1);
    uint32_t index;
    uint64_t word;
    if (count == 1) { /* of a breakpoint instruction */
        *(volatile uint8_t*)address = bytes[0];
        return 1;
    }
    if (in_line == STROBE_CACHE_LINE - 1) {
        if (address[0] != bytes[0]) return 0;
        address++; /* what differs lies in one line */
        bytes++;
        count--;
        in_line = 0;
    }
    if (in_line <= STROBE_CACHE_LINE - 8) {
        word = *(uint64_t*)address;
        for (index = 0; index < count; index++) ((uint8_t*)&word)[index] = bytes[index];
        *(volatile uint64_t*)address = word;
        return 1;
    }
    strobe_replace_across_lines(address, bytes, count);
    return 1;
}
