/* Steps that repeat others. */
#include "machine.h"

enum { RECIPE_GROUP = 16 }; /* control bytes that are read at once */

static int recipe_begins_loop(uint8_t op) {
    return op == STROBE_RECIPE_REPEAT || op == STROBE_RECIPE_REPEAT_MANY || op == STROBE_RECIPE_CHAIN ||
           op == STROBE_RECIPE_TREE || op == STROBE_RECIPE_SLOTS || op == STROBE_RECIPE_BTREE ||
           op == STROBE_RECIPE_BRANCHES;
}

/* Whether its turns are found in memory. */
static int recipe_is_walk(const struct strobe_recipe_step* step) {
    return step->op == STROBE_RECIPE_CHAIN || step->op == STROBE_RECIPE_TREE || step->op == STROBE_RECIPE_SLOTS ||
           step->op == STROBE_RECIPE_BTREE || step->op == STROBE_RECIPE_BRANCHES;
}

static int recipe_has_item(const struct strobe_recipe_step* step) { return recipe_is_walk(step) && !step->zero; }

/* The NEXT that belongs to the loop at `at`; `count` where there is none. */
static uint32_t recipe_end_of_loop(const struct recipe_run* run, uint32_t at) {
    uint32_t depth = 0;
    for (; at < run->count; at++) {
        uint8_t op = run->steps[at].op;
        if (recipe_begins_loop(op)) depth++;
        if (op == STROBE_RECIPE_NEXT && --depth == 0) return at;
        if (op == STROBE_RECIPE_END) break;
    }
    return run->count;
}

/* The loop's location goes bad, which ends it. */
static int recipe_ends_at(struct recipe_loop* loop, uint32_t status, uint64_t address) {
    loop->start.status = status;
    loop->start.value = address;
    loop->start.step = loop->first;
    return 0;
}

/* Whether there was a node there that could be read: `to` is what the pointer at node + offset leads to. */
static int recipe_follow(struct recipe_run* run, struct recipe_loop* loop, uint64_t node, uint64_t offset,
                         uint64_t* to) {
    struct recipe_word word;
    if (strobe_recipe_step_budget_exhausted(run)) return recipe_ends_at(loop, STROBE_RECIPE_FULL, node);
    word = strobe_recipe_number_at(run, node + offset, 8);
    if (word.status != STROBE_RECIPE_OK) return recipe_ends_at(loop, word.status, word.value);
    *to = word.value;
    return 1;
}

static int recipe_to_next_in_chain(struct recipe_run* run, struct recipe_loop* loop) {
    uint64_t next;
    if (!recipe_follow(run, loop, loop->start.value, (uint64_t)loop->step->operand, &next)) return 0;
    if (!next || next == loop->end) return 0;
    loop->start.value = next;
    return 1;
}

static uint64_t recipe_link(const struct recipe_loop* loop, uint32_t number) {
    return (uint64_t)loop->step->operand >> (16 * number) & 0xffff;
}

/* From a node down: to its child by the link `first`, and from there on by the link `then`. Nodes that do not know
   their parent are none. */
static int recipe_descend(struct recipe_run* run, struct recipe_loop* loop, uint64_t child) {
    uint64_t node = loop->start.value, parent;
    uint32_t height;
    for (height = 0; child; height++) {
        if (!recipe_follow(run, loop, child, recipe_link(loop, 2), &parent)) return 0;
        if (parent != node || height == STROBE_RECIPE_MAX_HEIGHT)
            return recipe_ends_at(loop, STROBE_RECIPE_BROKEN, child);
        node = child;
        if (!recipe_follow(run, loop, node, recipe_link(loop, 0), &child)) return 0;
    }
    loop->start.value = node;
    return 1;
}

/* Up to the first node that is reached from its left. */
static int recipe_ascend(struct recipe_run* run, struct recipe_loop* loop) {
    uint64_t node = loop->start.value, parent, left, right;
    uint32_t height;
    for (height = 0; height < STROBE_RECIPE_MAX_HEIGHT; height++) {
        if (!recipe_follow(run, loop, node, recipe_link(loop, 2), &parent)) return 0;
        if (parent == loop->end) return 0;
        if (!recipe_follow(run, loop, parent, recipe_link(loop, 0), &left)) return 0;
        if (!recipe_follow(run, loop, parent, recipe_link(loop, 1), &right)) return 0;
        if (node == left) {
            loop->start.value = parent;
            return 1;
        }
        if (node != right) break;
        node = parent;
    }
    return recipe_ends_at(loop, STROBE_RECIPE_BROKEN, node);
}

static int recipe_to_next_in_tree(struct recipe_run* run, struct recipe_loop* loop) {
    uint64_t right;
    if (!recipe_follow(run, loop, loop->start.value, recipe_link(loop, 1), &right)) return 0;
    return right ? recipe_descend(run, loop, right) : recipe_ascend(run, loop);
}

/* Down to the left, else to the right, else to the last node that was passed by. */
static int recipe_to_next_branch(struct recipe_run* run, struct recipe_loop* loop) {
    uint64_t node = loop->start.value, offsets = (uint64_t)loop->step->operand, left, right;
    if (!recipe_follow(run, loop, node, offsets & 0xffffffffu, &left)) return 0;
    if (!recipe_follow(run, loop, node, offsets >> 32, &right)) return 0;
    if (left && right) {
        if (run->pending_count == STROBE_RECIPE_MAX_PENDING) return recipe_ends_at(loop, STROBE_RECIPE_FULL, right);
        run->pending[run->pending_count++] = right;
    }
    node = left ? left : right;
    if (!node && run->pending_count == loop->pending) return 0;
    loop->start.value = node ? node : run->pending[--run->pending_count];
    return 1;
}

/* 0 where it cannot be read. */
static int recipe_half(struct recipe_run* run, struct recipe_loop* loop, uint64_t node, uint32_t number,
                       uint64_t* half) {
    struct recipe_word word = strobe_recipe_number_at(run, node + recipe_link(loop, number), 2);
    if (word.status != STROBE_RECIPE_OK) return recipe_ends_at(loop, word.status, word.value);
    *half = word.value;
    return 1;
}

/* From the turn's node by its child `index` to the first leaf there. Nodes that do not know their parent are none. */
static int recipe_to_leaf(struct recipe_run* run, struct recipe_loop* loop, uint64_t index) {
    uint64_t node = loop->start.value, child, parent, at;
    for (; loop->limit > 0; loop->limit--, index = 0) {
        if (!recipe_follow(run, loop, node, recipe_link(loop, 3) + 8 * index, &child)) return 0;
        if (!recipe_follow(run, loop, child, recipe_link(loop, 0), &parent)) return 0;
        if (!recipe_half(run, loop, child, 1, &at)) return 0;
        if (parent != node || at != index) return recipe_ends_at(loop, STROBE_RECIPE_BROKEN, child);
        node = child;
    }
    loop->start.value = node;
    loop->slot = 0;
    return 1;
}

/* To the first key from loop->slot on, in this node or above it; every node but a root has keys. */
static int recipe_to_key(struct recipe_run* run, struct recipe_loop* loop) {
    uint64_t parent, keys;
    while (loop->limit <= STROBE_RECIPE_MAX_HEIGHT) {
        uint64_t node = loop->start.value;
        if (!recipe_half(run, loop, node, 2, &keys)) return 0;
        if (loop->slot < keys) return 1;
        if (!recipe_follow(run, loop, node, recipe_link(loop, 0), &parent)) return 0;
        if (!parent) return 0;
        if (!keys) break;
        if (!recipe_half(run, loop, node, 1, &loop->slot)) return 0;
        loop->start.value = parent;
        loop->limit++;
    }
    return recipe_ends_at(loop, STROBE_RECIPE_BROKEN, loop->start.value);
}

static int recipe_to_next_key(struct recipe_run* run, struct recipe_loop* loop) {
    if (loop->limit > 0) {
        if (!recipe_to_leaf(run, loop, loop->slot + 1)) return 0;
    } else {
        loop->slot++;
    }
    return recipe_to_key(run, loop);
}

static int recipe_to_first_key(struct recipe_run* run, struct recipe_loop* loop) {
    if (loop->limit > STROBE_RECIPE_MAX_HEIGHT) return recipe_ends_at(loop, STROBE_RECIPE_BROKEN, loop->start.value);
    return recipe_to_leaf(run, loop, 0) && recipe_to_key(run, loop);
}

/* From loop->slot on, to one that is in use. */
static int recipe_to_used_slot(struct recipe_run* run, struct recipe_loop* loop) {
    uint8_t control[RECIPE_GROUP];
    uint64_t base = loop->before.value;
    uint32_t at, size;
    while (loop->slot < loop->limit) {
        size = loop->limit - loop->slot < RECIPE_GROUP ? (uint32_t)(loop->limit - loop->slot) : RECIPE_GROUP;
        size = run->read(run->context, base + loop->slot, control, size);
        if (!size) return recipe_ends_at(loop, STROBE_RECIPE_UNREADABLE, base + loop->slot);
        for (at = 0; at < size && control[at] & loop->step->width; at++) {
        }
        loop->slot += at;
        if (at < size) {
            loop->start.value = base + loop->slot * (uint64_t)loop->step->operand;
            return 1;
        }
        if (strobe_recipe_step_budget_exhausted(run))
            return recipe_ends_at(loop, STROBE_RECIPE_FULL, base + loop->slot);
    }
    return 0;
}

/* To the next turn's location; 0 where there is none, or what it needs cannot be read. */
static int recipe_advance(struct recipe_run* run, struct recipe_loop* loop) {
    if (loop->step->op != STROBE_RECIPE_REPEAT && loop->step->op != STROBE_RECIPE_REPEAT_MANY &&
        strobe_recipe_step_budget_exhausted(run))
        return recipe_ends_at(loop, STROBE_RECIPE_FULL, loop->start.value);
    switch (loop->step->op) {
        case STROBE_RECIPE_CHAIN:
            return recipe_to_next_in_chain(run, loop);
        case STROBE_RECIPE_TREE:
            return recipe_to_next_in_tree(run, loop);
        case STROBE_RECIPE_BRANCHES:
            return recipe_to_next_branch(run, loop);
        case STROBE_RECIPE_SLOTS:
            loop->slot++;
            return recipe_to_used_slot(run, loop);
        case STROBE_RECIPE_BTREE:
            return recipe_to_next_key(run, loop);
        default:
            if (loop->start.status == STROBE_RECIPE_OK) loop->start.value += (uint64_t)loop->step->operand;
            return 1;
    }
}

/* `nodes`: as the item has it. `is_cut`: there are more, or may be. */
static void recipe_write_nodes(struct recipe_run* run, struct recipe_loop* loop, uint64_t nodes, int is_cut) {
    struct strobe_recipe_item* item;
    uint8_t* to;
    uint32_t at;
    item = &run->output->items[loop->item];
    if (item->size != 8) return; /* no room */
    to = run->output->bytes + item->offset;
    for (at = 0; at < 8; at++) to[at] = (uint8_t)(nodes >> 8 * at);
    if (is_cut) item->status = STROBE_RECIPE_CUT;
    if (loop->start.status == STROBE_RECIPE_OK || loop->start.status == STROBE_RECIPE_NULL) return;
    item->status = loop->start.status;
    item->address = loop->start.value;
}

/* After the last turn: of a chain the nodes that are left are counted. */
static void recipe_finish_loop(struct recipe_run* run, struct recipe_loop* loop, int is_over) {
    uint64_t nodes = loop->turn;
    if (recipe_has_item(loop->step)) {
        while (!is_over && run->executed < run->most_steps) {
            is_over = !recipe_advance(run, loop);
            if (is_over || loop->step->op != STROBE_RECIPE_CHAIN || nodes >= loop->limit) break;
            nodes++;
        }
        recipe_write_nodes(run, loop, nodes, !is_over);
    }
    run->location = loop->before;
    run->pending_count = loop->pending;
    if (!recipe_is_walk(loop->step) || recipe_has_item(loop->step)) return;
    if (!is_over) recipe_ends_at(loop, STROBE_RECIPE_FULL, loop->start.value);
    if (loop->start.status != STROBE_RECIPE_OK) run->location = loop->start;
    if (loop->before.status != STROBE_RECIPE_NULL || loop->before.step + 1 != loop->first) return;
    run->location.status = STROBE_RECIPE_OK; /* a walk from null: it has no nodes */
}

void strobe_recipe_abandon(struct recipe_run* run) {
    while (run->loop_count) {
        struct recipe_loop* loop = &run->loops[--run->loop_count];
        if (!recipe_has_item(loop->step)) continue;
        loop->start.status = STROBE_RECIPE_FULL;
        recipe_write_nodes(run, loop, (uint64_t)loop->turn + 1, 0);
    }
}

/* A loop's item is there before its turns are known. */
static uint32_t recipe_add_loop_item(struct recipe_run* run, struct recipe_loop* loop) {
    struct recipe_word zero = run->location;
    zero.value = 0;
    if (zero.status == STROBE_RECIPE_NULL) zero.status = STROBE_RECIPE_OK;
    loop->item = run->output->item_count;
    if (zero.status != STROBE_RECIPE_OK) zero.value = run->location.value;
    return strobe_recipe_note(run, zero);
}

/* Takes what the loop needs off the numbers. 0 where they are not there; one that is bad makes no turns. */
static int recipe_take_bounds(struct recipe_run* run, struct recipe_loop* loop) {
    struct recipe_word limit, end;
    uint8_t op = loop->step->op;
    loop->end = 0;
    loop->limit = loop->step->count;
    loop->turns = loop->step->count;
    if (op == STROBE_RECIPE_REPEAT || op == STROBE_RECIPE_BRANCHES) return 1;
    if (!strobe_recipe_pop(run, &limit)) return 0;
    if (op == STROBE_RECIPE_CHAIN || op == STROBE_RECIPE_TREE) {
        end = limit;
        if (op == STROBE_RECIPE_CHAIN && !strobe_recipe_pop(run, &limit)) return 0;
        loop->end = end.value;
        if (end.status != STROBE_RECIPE_OK) limit = end;
    }
    loop->limit = limit.value;
    if (limit.status == STROBE_RECIPE_OK && op == STROBE_RECIPE_REPEAT_MANY && limit.value < loop->turns)
        loop->turns = (uint32_t)limit.value;
    if (limit.status == STROBE_RECIPE_OK) return 1;
    loop->turns = 0;
    if (op != STROBE_RECIPE_REPEAT_MANY && run->location.status == STROBE_RECIPE_OK) run->location = limit;
    return 1;
}

/* Whether there is a first turn. */
static int recipe_has_turn(struct recipe_run* run, struct recipe_loop* loop) {
    if (!loop->turns) return 0;
    if (!recipe_is_walk(loop->step)) return 1;
    if (loop->start.status != STROBE_RECIPE_OK) return 0;
    if (recipe_has_item(loop->step) && run->output->items[loop->item].size != 8) return 0;
    if (loop->step->op == STROBE_RECIPE_SLOTS) return recipe_to_used_slot(run, loop);
    if (loop->step->op == STROBE_RECIPE_BTREE) return recipe_to_first_key(run, loop);
    return loop->start.value && loop->start.value != loop->end;
}

static uint32_t recipe_begin(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_loop* loop = &run->loops[run->loop_count];
    struct recipe_word before = run->location;
    uint32_t end = recipe_end_of_loop(run, run->at);
    if (end == run->count || run->loop_count == STROBE_RECIPE_MAX_LOOPS) return STROBE_RECIPE_MALFORMED;
    loop->step = step;
    loop->first = run->at;
    loop->turn = 0;
    loop->slot = 0;
    if (!recipe_take_bounds(run, loop)) return STROBE_RECIPE_MALFORMED;
    if (recipe_has_item(step) && recipe_add_loop_item(run, loop) != STROBE_RECIPE_OK) return STROBE_RECIPE_FULL;
    loop->start = run->location;
    loop->before = before;
    loop->pending = run->pending_count;
    loop->kept = run->kept_count;
    loop->numbers = run->number_count;
    if (recipe_has_turn(run, loop)) {
        run->location = loop->start;
        run->loop_count++;
    } else {
        recipe_finish_loop(run, loop, 1);
        run->at = end; /* its NEXT is passed as any step is */
    }
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_next(struct recipe_run* run) {
    struct recipe_loop* loop;
    int is_last, is_over = 0;
    if (run->loop_count == 0) return STROBE_RECIPE_MALFORMED;
    loop = &run->loops[run->loop_count - 1];
    if (loop->kept != run->kept_count || loop->numbers != run->number_count) return STROBE_RECIPE_MALFORMED;
    is_last = ++loop->turn == loop->turns;
    if (!is_last) is_over = !recipe_advance(run, loop);
    if (is_last || is_over) {
        recipe_finish_loop(run, loop, is_over);
        run->loop_count--;
        return STROBE_RECIPE_OK;
    }
    run->location = loop->start;
    run->at = loop->first;
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_leave(struct recipe_run* run) {
    struct recipe_loop* loop;
    struct recipe_word number;
    uint32_t end;
    if (!strobe_recipe_pop(run, &number) || run->loop_count == 0) return STROBE_RECIPE_MALFORMED;
    if (number.status != STROBE_RECIPE_OK || !number.value) return STROBE_RECIPE_OK;
    loop = &run->loops[run->loop_count - 1];
    end = recipe_end_of_loop(run, loop->first);
    if (loop->kept != run->kept_count || loop->numbers != run->number_count || end == run->count)
        return STROBE_RECIPE_MALFORMED;
    recipe_finish_loop(run, loop, 1);
    run->loop_count--;
    run->at = end; /* its NEXT is passed as any step is */
    return STROBE_RECIPE_OK;
}

uint32_t strobe_recipe_turn(struct recipe_run* run, const struct strobe_recipe_step* step) {
    if (step->op == STROBE_RECIPE_NEXT) return recipe_next(run);
    if (step->op == STROBE_RECIPE_LEAVE) return recipe_leave(run);
    return recipe_begins_loop(step->op) ? recipe_begin(run, step) : STROBE_RECIPE_MALFORMED;
}
