#include "recipe/recipe.h"

typedef struct strobe_recipe_step Step;
typedef struct strobe_recipe_item Item;

typedef struct {
    uint64_t address;
    uint32_t status; /* OK, NULL or UNREADABLE */
    uint32_t step;   /* that made it bad */
} Place;

typedef struct {
    Place before; /* the first turn; it ends there, too */
    Place start;  /* of the turn that is under way */
    uint32_t first, left;
    uint32_t kept; /* places that were kept when it began */
    int64_t stride;
} Loop;

typedef struct {
    const Step* steps;
    uint32_t count, at;
    strobe_recipe_reader read;
    void* context;
    struct strobe_recipe_output* output;
    Place place;
    uint64_t loaded;
    Place kept[STROBE_RECIPE_MAX_NESTING];
    uint32_t kept_count;
    Loop loops[STROBE_RECIPE_MAX_NESTING];
    uint32_t loop_count;
} Run;

static void spoil(Run* run, uint32_t status, uint64_t address) {
    run->place.status = status;
    run->place.address = address;
    run->place.step = run->at;
}

static uint64_t number_of(const uint8_t* bytes, uint32_t width) {
    uint64_t number = 0;
    while (width-- > 0) number = number << 8 | bytes[width];
    return number;
}

/* The word at an address; spoils the place where it cannot be read. */
static int word_at(Run* run, uint64_t address, uint64_t* word) {
    uint8_t bytes[8];
    if (run->read(run->context, address, bytes, 8) != 8) {
        spoil(run, STROBE_RECIPE_UNREADABLE, address);
        return 0;
    }
    *word = number_of(bytes, 8);
    return 1;
}

static void dereference(Run* run, int64_t offset) {
    uint64_t word;
    if (run->place.status != STROBE_RECIPE_OK || !word_at(run, run->place.address + (uint64_t)offset, &word)) return;
    if (word == 0)
        spoil(run, STROBE_RECIPE_NULL, run->place.address + (uint64_t)offset);
    else
        run->place.address = word;
}

static void to_virtual_base(Run* run, int64_t vtable_offset) {
    uint64_t vtable, offset;
    if (run->place.status != STROBE_RECIPE_OK || !word_at(run, run->place.address, &vtable)) return;
    if (word_at(run, vtable + (uint64_t)vtable_offset, &offset)) run->place.address += offset;
}

/* The next item, at its place and with no bytes yet; null where there is no room. */
static Item* add_item(Run* run, int64_t offset) {
    struct strobe_recipe_output* output = run->output;
    Item* item;
    if (output->item_count >= output->item_capacity) return 0;
    item = &output->items[output->item_count++];
    item->offset = output->used;
    item->size = 0;
    item->status = run->place.status;
    item->address = run->place.address;
    item->step = run->place.step;
    if (item->status == STROBE_RECIPE_OK) {
        item->address += (uint64_t)offset;
        item->step = run->at;
    }
    return item;
}

static uint32_t room(const Run* run) { return run->output->capacity - run->output->used; }

static int read_bytes(Run* run, uint32_t size, int64_t offset) {
    Item* item = add_item(run, offset);
    if (!item) return 0;
    if (item->status != STROBE_RECIPE_OK) return 1;
    if (size > room(run))
        item->status = STROBE_RECIPE_FULL;
    else if (size && run->read(run->context, item->address, run->output->bytes + run->output->used, size) != size)
        item->status = STROBE_RECIPE_UNREADABLE;
    if (item->status != STROBE_RECIPE_OK) return 1;
    item->size = size;
    run->output->used += size;
    return 1;
}

static int is_zero(const uint8_t* bytes, uint32_t width) { return number_of(bytes, width) == 0; }

static int read_text(Run* run, const Step* step) {
    Item* item = add_item(run, 0);
    uint32_t wanted, got, length = 0, width = step->width;
    uint8_t* bytes = run->output->bytes + run->output->used;
    if (!item) return 0;
    if (item->status != STROBE_RECIPE_OK) return 1;
    wanted = room(run) / width < step->count ? room(run) / width * width : step->count * width;
    got = wanted ? run->read(run->context, item->address, bytes, wanted) : 0;
    if (wanted && got < width) {
        item->status = STROBE_RECIPE_UNREADABLE;
        return 1;
    }
    while (length + width <= got && !is_zero(bytes + length, width)) length += width;
    if (length + width > got) item->status = STROBE_RECIPE_CUT;
    item->size = length;
    run->output->used += length;
    return 1;
}

static int load(Run* run, uint32_t width) {
    uint32_t before = run->output->used;
    run->loaded = 0;
    if (!read_bytes(run, width, 0)) return 0;
    if (run->output->used != before) run->loaded = number_of(run->output->bytes + before, width);
    return 1;
}

/* The step after the NEXT that belongs to the loop at `at`; `count` where there is none. */
static uint32_t behind_loop(const Run* run, uint32_t at) {
    uint32_t depth = 0;
    for (; at < run->count; at++) {
        uint8_t op = run->steps[at].op;
        if (op == STROBE_RECIPE_REPEAT || op == STROBE_RECIPE_REPEAT_LOADED) depth++;
        if (op == STROBE_RECIPE_NEXT && --depth == 0) return at + 1;
        if (op == STROBE_RECIPE_END) break;
    }
    return run->count;
}

static int begin_loop(Run* run, uint64_t turns, int64_t stride) {
    Loop* loop;
    uint32_t behind = behind_loop(run, run->at);
    if (behind == run->count) return 0;
    if (turns == 0) {
        run->at = behind - 1; /* its NEXT is passed as any step is */
        return 1;
    }
    if (run->loop_count == STROBE_RECIPE_MAX_NESTING) return 0;
    loop = &run->loops[run->loop_count++];
    loop->before = run->place;
    loop->start = run->place;
    loop->first = run->at;
    loop->left = (uint32_t)turns;
    loop->stride = stride;
    loop->kept = run->kept_count;
    return 1;
}

static int next_turn(Run* run) {
    Loop* loop;
    if (run->loop_count == 0) return 0;
    loop = &run->loops[run->loop_count - 1];
    if (loop->kept != run->kept_count) return 0;
    if (--loop->left == 0) {
        run->place = loop->before;
        run->loop_count--;
        return 1;
    }
    if (loop->start.status == STROBE_RECIPE_OK) loop->start.address += (uint64_t)loop->stride;
    run->place = loop->start;
    run->at = loop->first;
    return 1;
}

static int keep(Run* run) {
    if (run->kept_count == STROBE_RECIPE_MAX_NESTING) return 0;
    run->kept[run->kept_count++] = run->place;
    return 1;
}

static int take_back(Run* run) {
    if (run->kept_count == 0) return 0;
    if (run->loop_count && run->loops[run->loop_count - 1].kept == run->kept_count) return 0; /* of before the loop */
    run->place = run->kept[--run->kept_count];
    return 1;
}

/* One step that moves the place or decides what comes next; 0 where it is malformed. */
static int move(Run* run, const Step* step) {
    switch (step->op) {
        case STROBE_RECIPE_BASE:
            run->place.address = (uint64_t)step->operand;
            run->place.status = STROBE_RECIPE_OK;
            return 1;
        case STROBE_RECIPE_ADD:
            if (run->place.status == STROBE_RECIPE_OK) run->place.address += (uint64_t)step->operand;
            return 1;
        case STROBE_RECIPE_DEREF:
            dereference(run, step->operand);
            return 1;
        case STROBE_RECIPE_VIRTUAL_BASE:
            to_virtual_base(run, step->operand);
            return 1;
        case STROBE_RECIPE_SAVE:
            return keep(run);
        case STROBE_RECIPE_RESTORE:
            return take_back(run);
        case STROBE_RECIPE_REPEAT:
            return begin_loop(run, step->count, step->operand);
        case STROBE_RECIPE_REPEAT_LOADED:
            return begin_loop(run, run->loaded < step->count ? run->loaded : step->count, step->operand);
        case STROBE_RECIPE_NEXT:
            return next_turn(run);
        case STROBE_RECIPE_UNLESS:
            if (step->count >= run->count - run->at) return 0;
            if (run->loaded != (uint64_t)step->operand) run->at += step->count;
            return 1;
        default:
            return 0;
    }
}

static int is_reading(const Step* step) {
    return step->op == STROBE_RECIPE_READ || step->op == STROBE_RECIPE_TEXT || step->op == STROBE_RECIPE_LOAD;
}

static int has_good_width(const Step* step) {
    uint32_t width = step->width;
    return step->op == STROBE_RECIPE_READ || width == 1 || width == 2 || width == 4 ||
           (width == 8 && step->op == STROBE_RECIPE_LOAD);
}

/* 0 where there is no room for the item. */
static int read_item(Run* run, const Step* step) {
    if (step->op == STROBE_RECIPE_READ) return read_bytes(run, step->count, step->operand);
    return step->op == STROBE_RECIPE_TEXT ? read_text(run, step) : load(run, step->width);
}

uint32_t strobe_recipe_run(const struct strobe_recipe_step* steps, uint32_t step_count, uint64_t start,
                           strobe_recipe_reader read, void* context, struct strobe_recipe_output* output) {
    Run run;
    uint32_t executed;
    run.steps = steps;
    run.count = step_count;
    run.at = 0;
    run.read = read;
    run.context = context;
    run.output = output;
    run.place.address = start;
    run.place.status = STROBE_RECIPE_OK;
    run.place.step = 0;
    run.loaded = 0;
    run.kept_count = 0;
    run.loop_count = 0;
    for (executed = 0; run.at < step_count; executed++, run.at++) {
        const Step* step = &steps[run.at];
        if (executed == STROBE_RECIPE_MAX_STEPS) return STROBE_RECIPE_ENDLESS;
        if (step->op == STROBE_RECIPE_END)
            return run.loop_count || run.kept_count ? STROBE_RECIPE_MALFORMED : STROBE_RECIPE_OK;
        if (is_reading(step)) {
            if (!has_good_width(step)) return STROBE_RECIPE_MALFORMED;
            if (!read_item(&run, step)) return STROBE_RECIPE_FULL;
        } else if (!move(&run, step)) {
            return STROBE_RECIPE_MALFORMED;
        }
    }
    return STROBE_RECIPE_MALFORMED; /* without END */
}
