/* Numbers of many turns of a loop at once, each good or bad by itself: what sweeps.c calculates with. */
#include "columns.h"

/* Steps that one number is as much work as which cannot be read: in a target, a fault. */
#define RECIPE_UNREADABLE_COST 64u
/* What begins and ends between LIMIT and its negative, and grows evenly by less than APART, does not wrap. */
#define RECIPE_EVEN_LIMIT ((uint64_t)1 << 62)
#define RECIPE_EVEN_APART ((uint64_t)1 << 48)
#define RECIPE_SURELY_NOT_NULL 4096u

uint32_t strobe_column_lowest_bit(uint64_t bits) {
    uint32_t bit = bits & 0xffffffffu ? 0 : 32;
    if (!(bits >> bit & 0xffff)) bit += 16;
    if (!(bits >> bit & 0xff)) bit += 8;
    while (!(bits >> bit & 1)) bit++;
    return bit;
}

/* Room for numbers. 0 where there is no more. */
static int recipe_take_room(struct recipe_columns* columns, struct recipe_column* column) {
    uint32_t slot;
    for (slot = 0; slot < STROBE_RECIPE_COLUMNS; slot++) {
        if (columns->taken >> slot & 1) continue;
        columns->taken |= 1u << slot;
        column->slot = slot + 1;
        return 1;
    }
    return 0;
}

int strobe_column_spread(struct recipe_columns* columns, struct recipe_column* column) {
    uint64_t number = column->first, *numbers;
    uint32_t turn;
    if (column->slot) return 1;
    if (!recipe_take_room(columns, column)) return 0;
    numbers = columns->numbers[column->slot - 1];
    for (turn = 0; turn < columns->count; turn++, number += column->apart) numbers[turn] = number;
    return 1;
}

int strobe_column_copy(struct recipe_columns* columns, const struct recipe_column* from, struct recipe_column* to) {
    uint32_t turn;
    *to = *from;
    if (!from->slot) return 1;
    if (!recipe_take_room(columns, to)) return 0;
    for (turn = 0; turn < columns->count; turn++)
        columns->numbers[to->slot - 1][turn] = columns->numbers[from->slot - 1][turn];
    return 1;
}

struct recipe_column strobe_column_everywhere(const struct recipe_columns* columns, struct recipe_word number) {
    struct recipe_column column;
    column.first = number.value;
    column.apart = 0;
    column.slot = 0;
    column.bad = number.status == STROBE_RECIPE_OK ? 0 : strobe_column_all_turns(columns);
    column.fault = number;
    return column;
}

void strobe_column_spoil(struct recipe_column* column, uint64_t bad, struct recipe_word fault) {
    uint64_t more = bad & ~column->bad;
    if (more && (!column->bad || strobe_column_lowest_bit(more) < strobe_column_lowest_bit(column->bad)))
        column->fault = fault;
    column->bad |= bad;
}

struct recipe_word strobe_column_fault(const struct recipe_run* run, uint32_t status, uint64_t value) {
    struct recipe_word fault;
    fault.status = status;
    fault.value = value;
    fault.step = run->at;
    return fault;
}

int strobe_column_is_even(const struct recipe_columns* columns, const struct recipe_column* column, uint64_t* last) {
    *last = column->first + (columns->count - 1) * column->apart;
    return !column->slot && column->apart + RECIPE_EVEN_APART < 2 * RECIPE_EVEN_APART &&
           column->first + RECIPE_EVEN_LIMIT < 2 * RECIPE_EVEN_LIMIT &&
           *last + RECIPE_EVEN_LIMIT < 2 * RECIPE_EVEN_LIMIT;
}

uint64_t strobe_column_truths(const struct recipe_columns* columns, const struct recipe_column* column) {
    const uint64_t* numbers;
    uint64_t truths = 0;
    uint32_t turn, zeros = 0;
    if (strobe_column_is_same(column)) return column->first ? strobe_column_all_turns(columns) : 0;
    if (column->slot) { /* mostly all are, or none is, and to count them takes a third of the time */
        numbers = columns->numbers[column->slot - 1];
        for (turn = 0; turn < columns->count; turn++) zeros += numbers[turn] == 0;
        if (!zeros) return strobe_column_all_turns(columns);
        if (zeros == columns->count) return 0;
    }
    for (turn = 0; turn < columns->count; turn++)
        truths |= (uint64_t)(strobe_column_number(columns, column, turn) != 0) << turn;
    return truths;
}

/* At addresses that grow evenly: they become the numbers there. 0 where there is no room. */
static int recipe_load_evenly(struct recipe_run* run, struct recipe_column* column, uint32_t width) {
    struct recipe_columns* columns = &run->columns;
    uint64_t address = column->first, apart = column->apart, *numbers;
    uint32_t done = 0;
    if (!recipe_take_room(columns, column)) return 0;
    numbers = columns->numbers[column->slot - 1];
    while (done < columns->count) {
        uint32_t got = 0;
        if (run->executed < run->most_steps)
            got = strobe_recipe_numbers_at(run, address + done * apart, apart, width, columns->count - done,
                                           numbers + done);
        done += got;
        if (got) continue;
        strobe_column_spoil(column, (uint64_t)1 << done,
                            strobe_column_fault(run, STROBE_RECIPE_UNREADABLE, address + done * apart));
        numbers[done++] = 0;
        run->executed += RECIPE_UNREADABLE_COST;
    }
    return 1;
}

/* At addresses that are put down. */
static void recipe_load_each(struct recipe_run* run, struct recipe_column* column, uint64_t offset, uint32_t width) {
    struct recipe_columns* columns = &run->columns;
    uint64_t* numbers = columns->numbers[column->slot - 1];
    uint32_t turn = 0;
    for (; turn < columns->count; turn++) {
        if (column->bad >> turn & 1) {
            continue;
        } else if (run->moment && run->moment->fetch) {
            turn = run->moment->fetch(run->context, numbers, offset, width, turn, columns->count, column->bad);
            if (turn >= columns->count) return;
        } else {
            struct recipe_word word = strobe_recipe_number_at(run, numbers[turn] + offset, width);
            numbers[turn] = word.status == STROBE_RECIPE_OK ? word.value : numbers[turn];
            if (word.status == STROBE_RECIPE_OK) continue;
        }
        strobe_column_spoil(column, (uint64_t)1 << turn,
                            strobe_column_fault(run, STROBE_RECIPE_UNREADABLE, numbers[turn] + offset));
        run->executed += RECIPE_UNREADABLE_COST;
        if (run->executed >= run->most_steps) return; /* which ends it all */
    }
}

int strobe_column_load(struct recipe_run* run, struct recipe_column* column, uint64_t offset, uint32_t width) {
    struct recipe_columns* columns = &run->columns;
    if (strobe_column_is_same(column)) {
        if (column->bad != strobe_column_all_turns(columns)) {
            struct recipe_word word = strobe_recipe_number_at(run, column->first + offset, width);
            column->first = word.value;
            if (word.status != STROBE_RECIPE_OK) strobe_column_spoil(column, strobe_column_all_turns(columns), word);
        }
        return 1;
    }
    run->executed += columns->count / 4;
    if (!column->slot && !column->bad && column->apart < 1u << 31) {
        column->first += offset;
        return recipe_load_evenly(run, column, width);
    }
    if (!strobe_column_spread(columns, column)) return 0;
    recipe_load_each(run, column, offset, width);
    return 1;
}

void strobe_column_spoil_nulls(struct recipe_run* run, struct recipe_column* column, uint64_t from) {
    uint64_t last;
    if (strobe_column_is_even(&run->columns, column, &last) &&
        (int64_t)column->first >= (int64_t)RECIPE_SURELY_NOT_NULL && (int64_t)last >= (int64_t)RECIPE_SURELY_NOT_NULL)
        return;
    strobe_column_spoil(column, ~strobe_column_truths(&run->columns, column) & strobe_column_all_turns(&run->columns),
                        strobe_column_fault(run, STROBE_RECIPE_NULL, from));
}
