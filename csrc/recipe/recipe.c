#include "recipe.h"

#include "machine.h"

static void recipe_fail(struct recipe_run* run, uint32_t status, uint64_t address) {
    run->location.status = status;
    run->location.value = address;
    run->location.step = run->at;
}

static uint64_t recipe_number_of(const uint8_t* bytes, uint32_t width) {
    uint64_t number = 0;
    while (width-- > 0) number = number << 8 | bytes[width];
    return number;
}

struct recipe_word strobe_recipe_number_at(struct recipe_run* run, uint64_t address, uint32_t width) {
    uint8_t bytes[8];
    struct recipe_word number;
    number.status = STROBE_RECIPE_OK;
    number.step = run->at;
    number.value = address;
    if (run->read(run->context, address, bytes, width) == width)
        number.value = recipe_number_of(bytes, width);
    else
        number.status = STROBE_RECIPE_UNREADABLE;
    return number;
}

int strobe_recipe_step_budget_exhausted(struct recipe_run* run) { return ++run->executed >= run->most_steps; }

/* The word at an address; where it cannot be read the location fails with it. */
static int recipe_word_at(struct recipe_run* run, uint64_t address, uint64_t* word) {
    struct recipe_word found = strobe_recipe_number_at(run, address, 8);
    *word = found.value;
    if (found.status != STROBE_RECIPE_OK) run->location = found;
    return found.status == STROBE_RECIPE_OK;
}

static void recipe_dereference(struct recipe_run* run, int64_t offset) {
    uint64_t word, from = run->location.value + (uint64_t)offset;
    if (run->location.status != STROBE_RECIPE_OK || !recipe_word_at(run, from, &word)) return;
    if (word == 0)
        recipe_fail(run, STROBE_RECIPE_NULL, from);
    else
        run->location.value = word;
}

static void recipe_to_virtual_base(struct recipe_run* run, int64_t vtable_offset) {
    uint64_t vtable, offset;
    if (run->location.status != STROBE_RECIPE_OK || !recipe_word_at(run, run->location.value, &vtable)) return;
    if (recipe_word_at(run, vtable + (uint64_t)vtable_offset, &offset)) run->location.value += offset;
}

struct strobe_recipe_item* strobe_recipe_add_item(struct recipe_run* run, struct recipe_word of) {
    struct strobe_recipe_output* output = run->output;
    struct strobe_recipe_item* item;
    if (output->item_count >= output->item_capacity) return 0;
    item = &output->items[output->item_count++];
    item->offset = output->used;
    item->size = 0;
    item->status = of.status;
    item->address = of.value;
    item->step = of.status == STROBE_RECIPE_OK ? run->at : of.step;
    return item;
}

static uint32_t recipe_room(const struct recipe_run* run) { return run->output->capacity - run->output->used; }

uint32_t strobe_recipe_note(struct recipe_run* run, struct recipe_word of) {
    struct strobe_recipe_item* item = strobe_recipe_add_item(run, of);
    uint8_t* to = run->output->bytes + run->output->used;
    uint32_t at;
    if (!item) return STROBE_RECIPE_FULL;
    if (item->status != STROBE_RECIPE_OK) return STROBE_RECIPE_OK;
    if (recipe_room(run) < 8) {
        item->status = STROBE_RECIPE_FULL;
        return STROBE_RECIPE_OK;
    }
    for (at = 0; at < 8; at++) to[at] = (uint8_t)(of.value >> (8 * at));
    item->address = 0;
    item->size = 8;
    run->output->used += 8;
    return STROBE_RECIPE_OK;
}

/* `number` times `size` bytes at the location + offset. */
static uint32_t recipe_read(struct recipe_run* run, struct recipe_word number, uint64_t size, int64_t offset) {
    struct recipe_word from = run->location;
    struct strobe_recipe_item* item;
    uint64_t wanted = number.value * size;
    if (from.status == STROBE_RECIPE_OK) from.value += (uint64_t)offset;
    item = strobe_recipe_add_item(run, number.status == STROBE_RECIPE_OK ? from : number);
    if (!item) return STROBE_RECIPE_FULL;
    if (item->status != STROBE_RECIPE_OK) return STROBE_RECIPE_OK;
    if (wanted > recipe_room(run))
        item->status = STROBE_RECIPE_FULL;
    else if (wanted &&
             run->read(run->context, item->address, run->output->bytes + run->output->used, (uint32_t)wanted) != wanted)
        item->status = STROBE_RECIPE_UNREADABLE;
    if (item->status != STROBE_RECIPE_OK) return STROBE_RECIPE_OK;
    item->size = (uint32_t)wanted;
    run->output->used += (uint32_t)wanted;
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_read_one(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word one;
    one.status = STROBE_RECIPE_OK;
    one.value = 1;
    one.step = run->at;
    return recipe_read(run, one, step->count, step->operand);
}

/* As many as the top number says; with a width only those that there is room for, which is then CUT. */
static uint32_t recipe_read_many(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word number;
    uint64_t size = (uint64_t)step->operand;
    uint32_t at = run->output->item_count, status;
    int is_cut;
    if (!run->number_count || size > 0xffffffffu) return STROBE_RECIPE_MALFORMED;
    number = run->numbers[run->number_count - 1];
    if (number.status == STROBE_RECIPE_OK && number.value > step->count) number.value = step->count;
    is_cut = step->width && number.status == STROBE_RECIPE_OK && size && recipe_room(run) >= size &&
             number.value * size > recipe_room(run);
    if (is_cut) number.value = recipe_room(run) / size;
    status = recipe_read(run, number, size, 0);
    if (is_cut && status == STROBE_RECIPE_OK && run->output->items[at].status == STROBE_RECIPE_OK)
        run->output->items[at].status = STROBE_RECIPE_CUT;
    return status;
}

/* Of the bytes that could be read: those before the first zero. */
static uint32_t recipe_text_length(const uint8_t* bytes, uint32_t got, uint32_t width) {
    uint32_t length = 0;
    while (length + width <= got && recipe_number_of(bytes + length, width)) length += width;
    return length;
}

static uint32_t recipe_read_text(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct strobe_recipe_item* item;
    uint32_t wanted, got, width = step->width;
    uint8_t* bytes = run->output->bytes + run->output->used;
    if (width != 1 && width != 2 && width != 4) return STROBE_RECIPE_MALFORMED;
    item = strobe_recipe_add_item(run, run->location);
    if (!item) return STROBE_RECIPE_FULL;
    if (item->status != STROBE_RECIPE_OK) return STROBE_RECIPE_OK;
    wanted = recipe_room(run) / width < step->count ? recipe_room(run) / width * width : step->count * width;
    if (!wanted && step->count) item->status = STROBE_RECIPE_FULL;
    if (!wanted) return STROBE_RECIPE_OK;
    got = run->read(run->context, item->address, bytes, wanted);
    if (got < width) {
        item->status = STROBE_RECIPE_UNREADABLE;
        return STROBE_RECIPE_OK;
    }
    item->size = recipe_text_length(bytes, got, width);
    if (item->size + width > got) item->status = STROBE_RECIPE_CUT;
    run->output->used += item->size;
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_keep(struct recipe_run* run) {
    if (run->kept_count == STROBE_RECIPE_MAX_NESTING) return STROBE_RECIPE_MALFORMED;
    run->kept[run->kept_count++] = run->location;
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_take_back(struct recipe_run* run) {
    if (run->kept_count == 0) return STROBE_RECIPE_MALFORMED;
    if (run->loop_count && run->loops[run->loop_count - 1].kept == run->kept_count)
        return STROBE_RECIPE_MALFORMED; /* of before the loop */
    run->location = run->kept[--run->kept_count];
    return STROBE_RECIPE_OK;
}

/* The words lie where they are kept if they follow one another there. */
static uint32_t recipe_to_passed(struct recipe_run* run, const struct strobe_recipe_step* step) {
    const struct strobe_passed* passed = run->moment ? run->moment->passed : 0;
    uint64_t numbers = (uint64_t)step->operand;
    uint32_t first = (uint32_t)(numbers & 0xff);
    uint32_t index;
    int is_apart = 0;
    if (!step->count || step->count > STROBE_RECIPE_MAX_PIECES) return STROBE_RECIPE_MALFORMED;
    run->location.status = STROBE_RECIPE_OK;
    for (index = 0; index < step->count; index++) {
        uint32_t number = (uint32_t)(numbers >> 8 * index & 0xff);
        if (number >= STROBE_PASSED_WORDS) return STROBE_RECIPE_MALFORMED;
        if (passed == 0 || !(passed->known >> number & 1)) {
            recipe_fail(run, STROBE_RECIPE_BROKEN, 0);
            return STROBE_RECIPE_OK;
        }
        run->pieces[index] = passed->words[number];
        if (number != first + index) is_apart = 1;
    }
    run->location.value = (uint64_t)(is_apart ? run->pieces : passed->words + first);
    return STROBE_RECIPE_OK;
}

uint32_t strobe_recipe_execute(struct recipe_run* run, const struct strobe_recipe_step* step) {
    switch (step->op) {
        case STROBE_RECIPE_BASE:
            run->location.value = (uint64_t)step->operand;
            run->location.status = STROBE_RECIPE_OK;
            return STROBE_RECIPE_OK;
        case STROBE_RECIPE_PASSED:
            return recipe_to_passed(run, step);
        case STROBE_RECIPE_ADD:
            if (run->location.status == STROBE_RECIPE_OK) run->location.value += (uint64_t)step->operand;
            return STROBE_RECIPE_OK;
        case STROBE_RECIPE_DEREF:
            recipe_dereference(run, step->operand);
            return STROBE_RECIPE_OK;
        case STROBE_RECIPE_VIRTUAL_BASE:
            recipe_to_virtual_base(run, step->operand);
            return STROBE_RECIPE_OK;
        case STROBE_RECIPE_SAVE:
            return recipe_keep(run);
        case STROBE_RECIPE_RESTORE:
            return recipe_take_back(run);
        case STROBE_RECIPE_READ:
            return recipe_read_one(run, step);
        case STROBE_RECIPE_READ_MANY:
            return recipe_read_many(run, step);
        case STROBE_RECIPE_TEXT:
            return recipe_read_text(run, step);
        default:
            return step->op >= STROBE_RECIPE_REPEAT ? strobe_recipe_turn(run, step) : strobe_recipe_count(run, step);
    }
}

static uint32_t recipe_execute_all(struct recipe_run* run) {
    for (; run->at < run->count; run->executed++, run->at++) {
        const struct strobe_recipe_step* step = &run->steps[run->at];
        uint32_t status;
        if (run->executed >= run->most_steps) return STROBE_RECIPE_ENDLESS;
        if (step->op == STROBE_RECIPE_END)
            return run->loop_count || run->kept_count || run->number_count ? STROBE_RECIPE_MALFORMED : STROBE_RECIPE_OK;
        status = strobe_recipe_execute(run, step);
        if (status != STROBE_RECIPE_OK) return status;
    }
    return STROBE_RECIPE_MALFORMED; /* without END */
}

uint32_t strobe_recipe_run_on(struct recipe_run* run, const struct strobe_recipe_step* steps, uint32_t step_count,
                              uint64_t start, const struct strobe_moment* moment, strobe_recipe_reader read,
                              void* context, struct strobe_recipe_output* output) {
    uint32_t status;
    run->moment = moment;
    run->steps = steps;
    run->count = step_count;
    run->at = 0;
    run->executed = 0;
    run->most_steps = output->most_steps ? output->most_steps : STROBE_RECIPE_MAX_STEPS;
    run->read = read;
    run->context = context;
    run->output = output;
    run->location.value = start;
    run->location.status = STROBE_RECIPE_OK;
    run->location.step = 0;
    run->kept_count = 0;
    run->number_count = 0;
    run->loop_count = 0;
    run->pending_count = 0;
    run->set_variables = 0;
    status = recipe_execute_all(run);
    strobe_recipe_abandon(run);
    return status;
}
