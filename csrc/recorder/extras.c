/*
 * What is recorded of a call beyond its own arguments and result: watches, structures that arguments lead to, values
 * of scripts. Each is a block that says itself what it is (STROBE_EXTRA_* of the ABI), so that what is asked for may
 * change at any time: a function's set of them is changed by one store.
 */
#include "recorder.h"

#define STROBE_EXTRA_STEPS 4096u   /* of a recipe: a call waits for them */
#define STROBE_ASKED_STEPS 100000u /* of one that was asked for: a watch, a condition */
#define STROBE_LEAST_WORDS 2u      /* of a block; each leaves as many for those that follow */

struct strobe_own_memory {
    const struct strobe_recorder* recorder;
    const struct strobe_thread_state* state;
    const struct strobe_passed* passed; /* what a recipe may read of the call, which is always there; NULL: nothing */
    int may_touch;
};

/* Whether these bytes are words of the call, as the recorder keeps them. */
static int strobe_is_kept(const struct strobe_own_memory* memory, uint64_t address, uint32_t size) {
    uint64_t words = (uint64_t)memory->passed, pieces = (uint64_t)memory->state->machine.pieces;
    if (memory->passed == NULL) return 0;
    return (address >= words && address + size <= words + sizeof memory->passed->words) ||
           (address >= pieces && address + size <= pieces + sizeof memory->state->machine.pieces);
}

static uint32_t strobe_read_own(void* context, uint64_t address, void* to, uint32_t size) {
    const struct strobe_own_memory* memory = (const struct strobe_own_memory*)context;
    if (address + size < address) return 0;
    if (strobe_is_kept(memory, address, size)) {
        strobe_copy((uint8_t*)to, (const uint8_t*)address, size);
        return size;
    }
    return strobe_read_bytes(memory->recorder, memory->state, memory->may_touch, address, (uint8_t*)to, size);
}

static uint64_t strobe_extra_header(const struct strobe_capture* capture, uint32_t kind, uint32_t status,
                                    uint32_t words) {
    return words | (uint64_t)kind << STROBE_EXTRA_KIND_SHIFT | (uint64_t)status << STROBE_EXTRA_STATUS_SHIFT |
           (uint64_t)capture->other << STROBE_EXTRA_ID_SHIFT | (uint64_t)capture->second << STROBE_EXTRA_ROLE_SHIFT;
}

static uint32_t strobe_capture_watch(const struct strobe_own_memory* memory, const struct strobe_capture* capture,
                                     uint64_t* out) {
    const struct strobe_watch* watch = &memory->recorder->watches[capture->offset];
    uint64_t address = watch->address + (watch->is_thread_local ? strobe_thread_pointer() : 0);
    uint32_t status = STROBE_RECIPE_OK;
    uint32_t index;
    for (index = 0; index < watch->dereferences && status == STROBE_RECIPE_OK; index++) {
        uint64_t pointer;
        if (!strobe_read_number(memory->recorder, memory->state, memory->may_touch, address, 8, &pointer))
            status = STROBE_RECIPE_UNREADABLE;
        else if (pointer == 0)
            status = STROBE_RECIPE_NULL;
        else
            address = pointer + (uint64_t)watch->offsets[index];
    }
    if (status == STROBE_RECIPE_OK &&
        !strobe_read_number(memory->recorder, memory->state, memory->may_touch, address, watch->width, &out[1]))
        status = STROBE_RECIPE_UNREADABLE;
    if (status != STROBE_RECIPE_OK) out[1] = address;
    out[0] = strobe_extra_header(capture, STROBE_EXTRA_WATCH, status, 2);
    return 2;
}

static uint32_t strobe_item_words(const struct strobe_recipe_item* item) {
    return item->status == STROBE_RECIPE_OK ? 1 : 2; /* what can be read lies below 2 to the power of 47 */
}

/* How many of the items fit into so many words, with their bytes. */
static uint32_t strobe_items_that_fit(const struct strobe_recipe_output* output, uint32_t room) {
    uint32_t bytes = 0, words = 0;
    uint32_t index;
    for (index = 0; index < output->item_count; index++) {
        words += strobe_item_words(&output->items[index]);
        bytes += output->items[index].size;
        if (words + (bytes + 7) / 8 > room) return index;
    }
    return index;
}

static uint32_t strobe_pack_items(const struct strobe_recipe_output* output, uint32_t count, uint64_t* out) {
    uint32_t bytes = 0, words = 0;
    uint32_t index;
    uint8_t* to;
    for (index = 0; index < count; index++) {
        const struct strobe_recipe_item* item = &output->items[index];
        uint64_t first = item->size | (uint64_t)item->status << STROBE_ITEM_STATUS_SHIFT;
        if (strobe_item_words(item) == 1) {
            out[words++] = first | item->address << STROBE_ITEM_ADDRESS_SHIFT;
        } else {
            out[words++] = first | (uint64_t)item->step << STROBE_ITEM_STEP_SHIFT;
            out[words++] = item->address;
        }
    }
    to = (uint8_t*)(out + words);
    for (index = 0; index < count; index++) {
        const struct strobe_recipe_item* item = &output->items[index];
        strobe_copy(to + bytes, output->bytes + item->offset, item->size);
        bytes += item->size;
    }
    for (index = bytes; index % 8 != 0; index++) to[index] = 0;
    return words + (bytes + 7) / 8;
}

static uint32_t strobe_capture_recipe(struct strobe_thread_state* state, struct strobe_own_memory* memory,
                                      const struct strobe_capture* capture, uint64_t start,
                                      const struct strobe_moment* moment, uint32_t room, uint64_t* out) {
    const struct strobe_recorder* recorder = memory->recorder;
    const struct strobe_stored_recipe* recipe = &recorder->recipes[capture->offset];
    struct strobe_recipe_output output;
    uint32_t status, count, words;
    output.bytes = state->scratch;
    output.capacity = recipe->bytes;
    output.used = 0;
    output.items = state->scratch_items;
    output.item_capacity = recipe->items;
    output.item_count = 0;
    output.most_steps = capture->second >= STROBE_ROLE_BEFORE && capture->second <= STROBE_ROLE_WATCH
                            ? STROBE_ASKED_STEPS
                            : STROBE_EXTRA_STEPS;
    status = strobe_recipe_run_on(&state->machine, recorder->recipe_steps + recipe->first_step, recipe->step_count,
                                  start, moment, strobe_read_own, memory, &output);
    count = strobe_items_that_fit(&output, room - 2);
    words = 2 + strobe_pack_items(&output, count, out + 2);
    out[0] = strobe_extra_header(capture, STROBE_EXTRA_RECIPE, status, words);
    out[1] = count;
    return words;
}

#ifdef STROBE_CATCHES_FAULTS
static uint32_t strobe_capture_stack(const struct strobe_own_memory* memory, const struct strobe_capture* capture,
                                     int at_exit, const uint64_t* registers, const uint64_t* slot, uint32_t room,
                                     uint64_t* out) {
    uint32_t from = capture->source & STROBE_NEEDS_CONTEXT ? STROBE_STACK_AT_SITE
                    : at_exit                              ? STROBE_STACK_AT_RETURN
                                                           : STROBE_STACK_AT_ENTRY;
    uint32_t most = capture->offset < room ? capture->offset : room - 1;
    uint32_t status = STROBE_STACK_UNKNOWN;
    uint32_t count = strobe_backtrace(memory->recorder, memory->state, from, registers, slot, most, out + 1, &status);
    out[0] = strobe_extra_header(capture, STROBE_EXTRA_STACK, status, 1 + count);
    return 1 + count;
}
#endif

#define STROBE_SCRIPT_STACK_BYTES (64u << 10) /* that must be left for a script to run there */

struct strobe_script_call {
    const struct strobe_recorder* recorder;
    strobe_script_function* script;
    uint64_t number;
    const uint64_t* registers;
    const uint64_t* slot;
    void* out;
    uint64_t bytes;
};

static void strobe_call_script_of(void* argument) {
    struct strobe_script_call* call = (struct strobe_script_call*)argument;
    call->bytes = strobe_call_script(call->script, call->number, call->registers, call->slot, call->out);
}

static void strobe_run_script(void* argument) {
    const struct strobe_script_call* call = (const struct strobe_script_call*)argument;
    strobe_call_uncancelled(call->recorder, strobe_call_script_of, argument);
}

/* Not of a coroutine, nor an alternate stack: there it is not known how much is left. */
static int strobe_has_room_for_script(const struct strobe_recorder* recorder, const struct strobe_thread_state* state,
                                      const uint64_t* slot) {
    uint64_t here = (uint64_t)&slot;
    return !STROBE_SWITCHES_STACKS ||
           (STROBE_ON_OWN_STACK(state, slot) && STROBE_ON_OWN_STACK(state, here) &&
            here - state->stack_low >= STROBE_SCRIPT_STACK_BYTES && !strobe_stack_is_alternate(recorder));
}

/* A handler that came now and jumped away would leave the engine's lock held for ever. 0 where there is no stack, or
   scripts have ended. Who ends them clears the pointer and then looks for threads that run one: so it is read once this
   thread has said that it does. */
static int strobe_call_undisturbed(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                   struct strobe_script_call* call) {
    uint64_t all = ~(uint64_t)0, before = 0;
    int is_done = 1;
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_SETMASK, (int64_t)&all, (int64_t)&before, 8, 0, 0);
    state->runs_script = 1;                     /* a handler could jump away with it before */
    strobe_fetch_add32(&state->runs_script, 0); /* a full barrier */
    STROBE_COMPILER_BARRIER();
    call->script = *(strobe_script_function* volatile*)&recorder->script;
    if (call->script == NULL)
        is_done = 0;
    else if (strobe_has_room_for_script(recorder, state, call->slot))
        strobe_run_script(call);
    else
        is_done = strobe_call_on_own_stack(recorder, strobe_run_script, call);
    STROBE_COMPILER_BARRIER();
    state->runs_script = 0;
    strobe_syscall(STROBE_SYS_RT_SIGPROCMASK, STROBE_SIG_SETMASK, (int64_t)&before, 0, 8, 0, 0);
    return is_done;
}

/* Scripts are not run where one may be under way in this thread, or the agent's own: in signal handlers. */
static STROBE_COLD uint32_t strobe_capture_script(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                                                  const struct strobe_capture* capture, uint32_t at_exit,
                                                  const uint64_t* registers, const uint64_t* slot, uint32_t room,
                                                  uint64_t* out) {
    uint64_t bytes = 0;
    uint32_t status = STROBE_RECIPE_UNREADABLE;
    uint32_t words;
    if (recorder->script != NULL && strobe_thread_current(recorder) == state &&
        recorder->control->loading_thread != strobe_thread_pointer() && strobe_calls_begin(recorder)) {
        struct strobe_script_call call;
        call.recorder = recorder;
        call.number = capture->offset | (at_exit ? STROBE_SCRIPT_AT_EXIT : 0);
        call.registers = registers;
        call.slot = slot;
        call.out = state->scratch;
        call.bytes = 0;
        if (strobe_call_undisturbed(recorder, state, &call)) {
            bytes = call.bytes;
            status = bytes & STROBE_SCRIPT_FAILED ? STROBE_RECIPE_MALFORMED : STROBE_RECIPE_OK;
            bytes &= STROBE_SCRIPT_FAILED - 1;
            if (bytes > STROBE_SCRIPT_BYTES) bytes = STROBE_SCRIPT_BYTES;
        }
        strobe_calls_end(recorder);
    }
    words = 2 + (uint32_t)(bytes + 7) / 8;
    if (words > room) {
        status = STROBE_RECIPE_FULL;
        bytes = 0;
        words = 2;
    }
    strobe_copy((uint8_t*)(out + 2), state->scratch, 8 * (words - 2));
    out[0] = strobe_extra_header(capture, STROBE_EXTRA_SCRIPT, status, words);
    out[1] = bytes;
    return words;
}

/* At the entry. More words of the stack than `needs` says may lie beyond its end. */
static void strobe_passed_at_entry(struct strobe_passed* passed, uint32_t needs, const uint64_t* registers,
                                   const uint64_t* slot) {
    uint32_t on_stack = needs & STROBE_NEEDS_STACK;
    uint64_t vector[2];
    uint32_t index;
    if (on_stack > STROBE_PASSED_ON_STACK) on_stack = STROBE_PASSED_ON_STACK;
    for (index = 0; index < STROBE_REGISTERS; index++) passed->words[index] = registers[index];
    for (index = 0; index < on_stack; index++) passed->words[STROBE_PASSED_STACK + index] = slot[1 + index];
    passed->known = ((1ull << STROBE_REGISTERS) - 1) | (((1ull << on_stack) - 1) << STROBE_PASSED_STACK);
    if (!(needs & STROBE_NEEDS_VECTORS)) return;
    for (index = 0; index < STROBE_PASSED_STACK - STROBE_PASSED_XMM0; index++) {
        strobe_vector(index, vector);
        passed->words[STROBE_PASSED_XMM0 + index] = vector[0];
    }
    passed->known |= ((1ull << STROBE_PASSED_STACK) - 1) & ~((1ull << STROBE_PASSED_XMM0) - 1);
}

void strobe_keep_passed(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t needs,
                        uint64_t ticks, const uint64_t* registers, const uint64_t* slot) {
    struct strobe_kept* kept = STROBE_KEPT_OF(recorder, state);
    if (!(needs & STROBE_NEEDS_PASSED)) return;
    strobe_passed_at_entry(&kept->passed, needs, registers, slot);
    kept->enter_ticks = ticks;
}

/* At the return, `is_whole`: of a call whose entry was seen. */
static void strobe_passed_at_return(struct strobe_passed* passed, uint32_t needs, const uint64_t* registers,
                                    int is_whole) {
    uint64_t vector[2];
    uint32_t index;
    if (!is_whole) passed->known = 0;
    passed->words[STROBE_PASSED_RAX] = registers[STROBE_SOURCE_RAX];
    passed->words[STROBE_PASSED_RAX + 1] = registers[STROBE_SOURCE_RDX];
    passed->known |= 3ull << STROBE_PASSED_RAX;
    if (!(needs & STROBE_NEEDS_VECTORS)) return;
    for (index = 0; index < STROBE_PASSED_RESULTS; index++) {
        strobe_vector(index, vector);
        passed->words[STROBE_PASSED_RETURN + index] = vector[0];
    }
    passed->known |= 3ull << STROBE_PASSED_RETURN;
}

/* At a probed instruction: the registers, by their DWARF numbers. */
static void strobe_passed_at_site(struct strobe_passed* passed, uint32_t needs, const uint64_t* registers) {
    uint64_t vector[2];
    uint32_t index;
    for (index = 0; index < STROBE_CONTEXT_PC; index++) passed->words[index] = registers[index];
    passed->known = (1ull << STROBE_CONTEXT_PC) - 1;
    if (!(needs & STROBE_NEEDS_VECTORS)) return;
    for (index = 0; index < STROBE_VECTORS; index++) {
        strobe_vector(index, vector);
        passed->words[STROBE_CONTEXT_XMM0 + index] = vector[0];
    }
    passed->known |= ((1ull << STROBE_VECTORS) - 1) << STROBE_CONTEXT_XMM0;
}

/* Of the call that begins or returns; NULL where nothing of the set needs it. */
static struct strobe_kept* strobe_kept_of(const struct strobe_recorder* recorder,
                                          const struct strobe_thread_state* state, const struct strobe_extras* extras,
                                          int at_exit, const uint64_t* registers, const uint64_t* slot) {
    struct strobe_kept* kept;
    if (!(extras->needs & STROBE_NEEDS_PASSED)) return NULL;
    kept = STROBE_KEPT_OF(recorder, state);
    if (extras->needs & STROBE_NEEDS_CONTEXT)
        strobe_passed_at_site(&kept->passed, extras->needs, registers);
    else if (at_exit)
        strobe_passed_at_return(&kept->passed, extras->needs, registers,
                                kept->enter_ticks == state->frames[state->depth].enter_ticks);
    else
        strobe_passed_at_entry(&kept->passed, extras->needs, registers, slot);
    return kept;
}

static uint32_t strobe_gather_own(void* context, uint64_t address, uint32_t stride, uint32_t width, uint32_t count,
                                  uint64_t* into) {
    (void)context;
    return strobe_load_numbers(address, stride, width, count, into);
}

static uint32_t strobe_fetch_own(void* context, uint64_t* addresses, uint64_t offset, uint32_t width, uint32_t first,
                                 uint32_t count, uint64_t left_out) {
    (void)context;
    return strobe_load_each(addresses, offset, width, first, count, left_out);
}

/* Where the call returns to. One that was jumped to returns to where the one that jumped would have. */
static uint64_t strobe_caller_of(const struct strobe_thread_state* state, int at_exit, const uint64_t* slot) {
    const struct strobe_frame* top = &state->frames[state->depth];
    if (at_exit) return top->return_address;
    return state->depth > 0 && top[-1].slot == (uint64_t)slot ? top[-1].return_address : *slot;
}

/* Where the function that a probed instruction is of returns to. 0 where it cannot be unwound. */
static int strobe_caller_at_site(const struct strobe_own_memory* memory, const uint64_t* registers, uint64_t* facts) {
#ifdef STROBE_CATCHES_FAULTS
    uint32_t status;
    return strobe_backtrace(memory->recorder, memory->state, STROBE_STACK_AT_SITE, registers, NULL, 1,
                            &facts[STROBE_FACT_CALLER], &status) == 1;
#else
    (void)memory, (void)registers, (void)facts;
    return 0;
#endif
}

/* What a recipe of the call may be about. `facts` has room for STROBE_FACTS. */
static void strobe_moment_of(const struct strobe_recorder* recorder, struct strobe_thread_state* state,
                             const struct strobe_extras* extras, int at_exit, const struct strobe_own_memory* memory,
                             const uint64_t* registers, const uint64_t* slot, uint64_t* facts,
                             struct strobe_moment* moment) {
    facts[STROBE_FACT_THREAD] = state->tid;
    facts[STROBE_FACT_DEPTH] = state->depth;
    facts[STROBE_FACT_THREAD_POINTER] = strobe_thread_pointer();
    facts[STROBE_FACT_HIT] = state->hit;
    facts[STROBE_FACT_TIME] = state->last_ticks;
    facts[STROBE_FACT_NS_PER_TICK] = recorder->ns_per_tick;
    facts[STROBE_FACT_THREAD_NAME] = (uint64_t)recorder->threads[state->thread_index % STROBE_THREAD_CAPACITY].name;
    moment->passed = memory->passed;
    moment->gather = memory->may_touch ? strobe_gather_own : NULL;
    moment->fetch = memory->may_touch ? strobe_fetch_own : NULL;
    moment->facts = facts;
    facts[STROBE_FACT_PID] = recorder->pid;
    moment->fact_count = STROBE_FACTS;
    if (!(extras->needs & STROBE_NEEDS_CONTEXT))
        facts[STROBE_FACT_CALLER] = strobe_caller_of(state, at_exit, slot);
    else if (!(extras->needs & STROBE_NEEDS_CALLER) || !strobe_caller_at_site(memory, registers, facts))
        moment->fact_count = STROBE_FACT_CALLER;
    moment->before = NULL;
    moment->before_words = 0;
    if (at_exit && (extras->needs & STROBE_NEEDS_ENTRY))
        moment->before = strobe_entry_blocks(state, &moment->before_words);
}

int strobe_condition_holds(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                           const struct strobe_extras* extras, int at_exit, const uint64_t* registers,
                           const uint64_t* slot) {
    const struct strobe_stored_recipe* recipe = &recorder->recipes[extras->condition];
    struct strobe_kept* kept;
    struct strobe_own_memory memory;
    struct strobe_recipe_output output;
    struct strobe_moment moment;
    uint64_t facts[STROBE_FACTS];
    uint64_t number = 0;
    int may_touch = -1;
    if (!at_exit && extras->quick.is_there) {
        int quick;
        if (!extras->quick.in_register) may_touch = strobe_may_touch_here(recorder, state);
        quick = strobe_quick_holds(recorder, state, may_touch, &extras->quick, registers);
        if (quick >= 0) return quick;
    }
    kept = strobe_kept_of(recorder, state, extras, at_exit, registers, slot);
    memory.recorder = recorder;
    memory.state = state;
    memory.passed = kept != NULL ? &kept->passed : NULL;
    memory.may_touch = may_touch >= 0 ? may_touch : strobe_may_touch_here(recorder, state);
    output.bytes = (uint8_t*)&number;
    output.capacity = sizeof number;
    output.used = 0;
    output.items = state->scratch_items;
    output.item_capacity = 1;
    output.item_count = 0;
    output.most_steps = STROBE_ASKED_STEPS;
    strobe_moment_of(recorder, state, extras, at_exit, &memory, registers, slot, facts, &moment);
    if (strobe_recipe_run_on(&state->machine, recorder->recipe_steps + recipe->first_step, recipe->step_count, 0,
                             &moment, strobe_read_own, &memory, &output) != STROBE_RECIPE_OK ||
        output.item_count != 1 || state->scratch_items[0].status != STROBE_RECIPE_OK)
        return -1;
    return number != 0;
}

/* At the entry: the block is kept until the return. Where there is no room it is not, and the return says so. */
static void strobe_keep_recipe(struct strobe_thread_state* state, struct strobe_own_memory* memory,
                               const struct strobe_capture* capture, const struct strobe_moment* moment) {
    uint32_t room;
    uint64_t* out = strobe_entry_room(state, &room);
    if (room < STROBE_LEAST_WORDS) return;
    strobe_entry_add_block(state, strobe_capture_recipe(state, memory, capture, 0, moment, room, out));
}

/* At the return: the block of this id, as it was kept; one without items where it was not, or finds no room. */
static uint32_t strobe_copy_kept(const struct strobe_capture* capture, const struct strobe_moment* moment,
                                 uint32_t room, uint64_t* out) {
    const uint64_t* from = moment->before;
    uint32_t status = STROBE_RECIPE_BROKEN, left = moment->before_words, index;
    while (left != 0) {
        uint32_t words = (uint32_t)(*from & STROBE_EXTRA_WORDS);
        if (words == 0 || words > left) break;
        if ((*from >> STROBE_EXTRA_ID_SHIFT & 0xffff) == capture->other) {
            for (index = 0; index < words && words <= room; index++) out[index] = from[index];
            if (words <= room) return words;
            status = STROBE_RECIPE_FULL;
            break;
        }
        from += words;
        left -= words;
    }
    out[0] = strobe_extra_header(capture, STROBE_EXTRA_RECIPE, status, 2);
    out[1] = 0;
    return 2;
}

void strobe_keep_entry(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                       const struct strobe_extras* extras, const uint64_t* registers, const uint64_t* slot) {
    const struct strobe_capture* captures = &recorder->captures[extras->captures];
    struct strobe_kept* kept = strobe_kept_of(recorder, state, extras, 0, registers, slot);
    struct strobe_own_memory memory;
    struct strobe_moment moment;
    uint64_t facts[STROBE_FACTS];
    uint32_t index;
    memory.recorder = recorder;
    memory.state = state;
    memory.passed = kept != NULL ? &kept->passed : NULL;
    memory.may_touch = strobe_may_touch_here(recorder, state);
    strobe_moment_of(recorder, state, extras, 0, &memory, registers, slot, facts, &moment);
    for (index = 0; index < extras->enter_count; index++)
        if (captures[index].kind == STROBE_CAPTURE_RECIPE && captures[index].second == STROBE_ROLE_BEFORE)
            strobe_keep_recipe(state, &memory, &captures[index], &moment);
}

/* Of calls that a condition chooses none is. */
static int strobe_is_later_call(const struct strobe_extras* extras, const struct strobe_totals* totals, int at_exit) {
    return totals != NULL && totals->calls > STROBE_FIRST_CALLS && extras->condition == 0 &&
           totals->extra_words[at_exit] > STROBE_FIRST_CALLS * STROBE_SHALLOW_WORDS;
}

uint32_t strobe_capture_extras(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                               const struct strobe_extras* extras, struct strobe_totals* totals, int at_exit,
                               const uint64_t* registers, const uint64_t* slot, uint64_t* out) {
    uint32_t left_out = strobe_is_later_call(extras, totals, at_exit) ? STROBE_CALLS_FIRST : STROBE_CALLS_LATER;
    const struct strobe_capture* captures = &recorder->captures[extras->captures + (at_exit ? extras->enter_count : 0)];
    uint32_t count = at_exit ? extras->exit_count : extras->enter_count;
    uint32_t stacks = count > 0 && captures[0].kind == STROBE_CAPTURE_STACK; /* which ask for themselves */
    struct strobe_kept* kept = strobe_kept_of(recorder, state, extras, at_exit, registers, slot);
    struct strobe_own_memory memory;
    struct strobe_moment moment;
    uint64_t facts[STROBE_FACTS];
    uint32_t words = 0;
    uint32_t index;
    memory.recorder = recorder;
    memory.state = state;
    memory.passed = kept != NULL ? &kept->passed : NULL;
    memory.may_touch = count > stacks && strobe_may_touch_here(recorder, state);
    strobe_moment_of(recorder, state, extras, at_exit, &memory, registers, slot, facts, &moment);
    for (index = 0; index < count; index++) {
        const struct strobe_capture* capture = &captures[index];
        uint32_t room = extras->most_words - words - STROBE_LEAST_WORDS * (count - index - 1);
        if (capture->second == STROBE_ROLE_BEFORE && capture->kind == STROBE_CAPTURE_RECIPE) {
            continue;
        } else if (capture->kind == STROBE_CAPTURE_RECIPE && capture->text_words == left_out) {
            continue;
        } else if (capture->kind == STROBE_CAPTURE_BEFORE) {
            words += strobe_copy_kept(capture, &moment, room, out + words);
#ifdef STROBE_CATCHES_FAULTS
        } else if (capture->kind == STROBE_CAPTURE_STACK) {
            words += strobe_capture_stack(&memory, capture, at_exit, registers, slot, room, out + words);
#endif
        } else if (capture->kind == STROBE_CAPTURE_WATCH) {
            words += strobe_capture_watch(&memory, capture, out + words);
        } else if (capture->kind == STROBE_CAPTURE_RECIPE) {
            uint64_t start = capture->second == STROBE_ROLE_WATCH ? 0 : strobe_source(capture->source, registers, slot);
            words += strobe_capture_recipe(state, &memory, capture, start, &moment, room, out + words);
        } else {
            words +=
                strobe_capture_script(recorder, state, capture, (uint32_t)at_exit, registers, slot, room, out + words);
        }
    }
    if (totals != NULL && totals->calls <= STROBE_FIRST_CALLS) totals->extra_words[at_exit] += words;
    return words;
}
