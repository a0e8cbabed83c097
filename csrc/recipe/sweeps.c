/*
 * SWEEP: a loop's body, done step by step for 64 turns at once. What is the same in all turns, or grows evenly from one
 * to the next, is calculated once; the rest takes a ns or two for each turn and step, where the machine takes several:
 * what `all(i in 0..n: a[i] == b[i] + 1)` needs.
 */
#include "columns.h"

static uint32_t recipe_push_column(struct recipe_columns* columns, const struct recipe_column* column) {
    if (columns->number_count == STROBE_RECIPE_COLUMN_NUMBERS) return STROBE_RECIPE_MALFORMED;
    columns->stack[columns->number_count++] = *column;
    return STROBE_RECIPE_OK;
}

static int recipe_pop_column(struct recipe_columns* columns, struct recipe_column* column) {
    if (!columns->number_count) return 0;
    *column = columns->stack[--columns->number_count];
    return 1;
}

static uint32_t recipe_push_copy(struct recipe_columns* columns, const struct recipe_column* from) {
    struct recipe_column copy;
    return strobe_column_copy(columns, from, &copy) ? recipe_push_column(columns, &copy) : STROBE_RECIPE_MALFORMED;
}

#define RECIPE_EXTEND_ALL(type) \
    for (turn = 0; turn < count; turn++) numbers[turn] = (uint64_t)(int64_t)(type)numbers[turn]

/* One instruction for each, where a shift by a width that is not known takes three. */
static void recipe_extend_numbers(uint64_t* numbers, uint32_t count, uint32_t width, int is_signed) {
    uint32_t turn;
    switch (width) {
        case 1:
            if (is_signed)
                RECIPE_EXTEND_ALL(int8_t);
            else
                RECIPE_EXTEND_ALL(uint8_t);
            return;
        case 2:
            if (is_signed)
                RECIPE_EXTEND_ALL(int16_t);
            else
                RECIPE_EXTEND_ALL(uint16_t);
            return;
        case 4:
            if (is_signed)
                RECIPE_EXTEND_ALL(int32_t);
            else
                RECIPE_EXTEND_ALL(uint32_t);
            return;
        default:
            return;
    }
}

static uint32_t recipe_push_loaded(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_column column;
    uint32_t width = step->width;
    if ((width != 1 && width != 2 && width != 4 && width != 8) || step->count > 1) return STROBE_RECIPE_MALFORMED;
    if (!strobe_column_copy(columns, &columns->location, &column)) return STROBE_RECIPE_MALFORMED;
    if (!strobe_column_load(run, &column, (uint64_t)step->operand, width)) return STROBE_RECIPE_MALFORMED;
    if (step->count && strobe_column_is_same(&column)) {
        column.first = strobe_recipe_extended(column.first, width, 1);
    } else if (step->count) {
        recipe_extend_numbers(columns->numbers[column.slot - 1], columns->count, width, 1);
    }
    return recipe_push_column(columns, &column);
}

static uint32_t recipe_follow_all(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_column* location = &run->columns.location;
    uint64_t from = location->first + (uint64_t)step->operand;
    if (!strobe_column_load(run, location, (uint64_t)step->operand, 8)) return STROBE_RECIPE_MALFORMED;
    strobe_column_spoil_nulls(run, location, from);
    return STROBE_RECIPE_OK;
}

#define RECIPE_EACH_TURN(made) \
    for (turn = 0; turn < count; turn++) into[turn] = (uint64_t)(made)
#define RECIPE_LEFT left[turn & left_turns]
#define RECIPE_RIGHT right[turn & right_turns]

/* Of good numbers and others, whose numbers mean nothing. `left_turns`, `right_turns`: all bits, or 0 of one that is
   the same in all turns. 0 where the operation is none of these. */
static int recipe_combine_all(uint32_t operation, uint32_t count, const uint64_t* left, uint32_t left_turns,
                              const uint64_t* right, uint32_t right_turns, uint64_t* into) {
    uint32_t turn;
    switch (operation) {
        case STROBE_RECIPE_PLUS:
            RECIPE_EACH_TURN(RECIPE_LEFT + RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_MINUS:
            RECIPE_EACH_TURN(RECIPE_LEFT - RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_TIMES:
            RECIPE_EACH_TURN(RECIPE_LEFT * RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_BIT_AND:
            RECIPE_EACH_TURN(RECIPE_LEFT & RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_BIT_OR:
            RECIPE_EACH_TURN(RECIPE_LEFT | RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_BIT_XOR:
            RECIPE_EACH_TURN(RECIPE_LEFT ^ RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_EQUAL:
            RECIPE_EACH_TURN(RECIPE_LEFT == RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_LESS:
            RECIPE_EACH_TURN(RECIPE_LEFT < RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_SIGNED_LESS:
            RECIPE_EACH_TURN((int64_t)RECIPE_LEFT < (int64_t)RECIPE_RIGHT);
            return 1;
        case STROBE_RECIPE_AND:
            RECIPE_EACH_TURN(RECIPE_LEFT != 0 && RECIPE_RIGHT != 0);
            return 1;
        case STROBE_RECIPE_OR:
            RECIPE_EACH_TURN((RECIPE_LEFT | RECIPE_RIGHT) != 0);
            return 1;
        default:
            return 0;
    }
}

/* Both good in the turns that `result` is not bad in. */
static void recipe_combine_each(struct recipe_run* run, const struct strobe_recipe_step* step, const uint64_t* left,
                                uint32_t left_turns, const uint64_t* right, uint32_t right_turns,
                                struct recipe_column* result) {
    uint64_t* into = run->columns.numbers[result->slot - 1];
    uint32_t turn;
    run->executed += run->columns.count / 2;
    for (turn = 0; turn < run->columns.count; turn++) {
        uint64_t number = RECIPE_LEFT;
        if (result->bad >> turn & 1) continue;
        if (!strobe_recipe_calculated(step, number, RECIPE_RIGHT, &number))
            strobe_column_spoil(result, (uint64_t)1 << turn, strobe_column_fault(run, STROBE_RECIPE_BROKEN, number));
        into[turn] = number;
    }
}

/* What is calculated once for all turns: of numbers that are the same, or grow evenly. 0 where it cannot be. */
static int recipe_combine_once(struct recipe_run* run, const struct strobe_recipe_step* step,
                               const struct recipe_column* left, const struct recipe_column* right,
                               struct recipe_column* result) {
    uint64_t number, left_last, right_last;
    if (left->slot || right->slot) return 0;
    if (!left->apart && !right->apart) {
        number = left->first;
        if (step->width == STROBE_RECIPE_AND || step->width == STROBE_RECIPE_OR)
            number = step->width == STROBE_RECIPE_AND ? left->first && right->first : left->first || right->first;
        else if (!strobe_recipe_calculated(step, left->first, right->first, &number))
            strobe_column_spoil(result, strobe_column_all_turns(&run->columns),
                                strobe_column_fault(run, STROBE_RECIPE_BROKEN, number));
        result->first = number;
        return 1;
    }
    switch (step->width) {
        case STROBE_RECIPE_PLUS:
            result->first = left->first + right->first;
            result->apart = left->apart + right->apart;
            return 1;
        case STROBE_RECIPE_MINUS:
            result->first = left->first - right->first;
            result->apart = left->apart - right->apart;
            return 1;
        case STROBE_RECIPE_TIMES:
            if (left->apart && right->apart) return 0;
            result->first = left->first * right->first;
            result->apart = left->apart ? left->apart * right->first : left->first * right->apart;
            return 1;
        case STROBE_RECIPE_LESS: /* an index that is within an array from the first turn to the last */
            if (!strobe_column_is_even(&run->columns, left, &left_last) || right->apart || (int64_t)left->first < 0 ||
                (int64_t)left_last < 0)
                return 0;
            right_last = right->first;
            if ((left->first < right_last) != (left_last < right_last)) return 0;
            result->first = left->first < right_last;
            return 1;
        default:
            return 0;
    }
}

/* Which turns are bad, where the first number may say it all. */
static void recipe_join_faults(struct recipe_run* run, uint32_t operation, const struct recipe_column* left,
                               const struct recipe_column* right, struct recipe_column* result) {
    uint64_t truths, decided = 0;
    if (right->bad && (operation == STROBE_RECIPE_AND || operation == STROBE_RECIPE_OR)) {
        truths = strobe_column_truths(&run->columns, left);
        decided = ~left->bad & (operation == STROBE_RECIPE_OR ? truths : ~truths);
    }
    result->bad = left->bad;
    result->fault = left->fault;
    strobe_column_spoil(result, right->bad & ~decided, right->fault);
}

static uint32_t recipe_calculate_all(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_column left, right, result;
    uint32_t left_turns, right_turns;
    const uint64_t *left_numbers, *right_numbers;
    if (!recipe_pop_column(columns, &right) || !recipe_pop_column(columns, &left)) return STROBE_RECIPE_MALFORMED;
    result.slot = 0;
    result.apart = 0;
    recipe_join_faults(run, step->width, &left, &right, &result);
    if (recipe_combine_once(run, step, &left, &right, &result)) return recipe_push_column(columns, &result);
    if ((!strobe_column_is_same(&left) && !strobe_column_spread(columns, &left)) ||
        (!strobe_column_is_same(&right) && !strobe_column_spread(columns, &right)))
        return STROBE_RECIPE_MALFORMED;
    run->executed += columns->count / 8;
    result.slot = left.slot ? left.slot : right.slot; /* one of them has numbers, which are not needed any more */
    left_turns = left.slot ? ~0u : 0;
    right_turns = right.slot ? ~0u : 0;
    left_numbers = left.slot ? columns->numbers[left.slot - 1] : &left.first;
    right_numbers = right.slot ? columns->numbers[right.slot - 1] : &right.first;
    if (!recipe_combine_all(step->width, columns->count, left_numbers, left_turns, right_numbers, right_turns,
                            columns->numbers[result.slot - 1]))
        recipe_combine_each(run, step, left_numbers, left_turns, right_numbers, right_turns, &result);
    if (left.slot) strobe_column_give_back(columns, &right);
    return recipe_push_column(columns, &result);
}

static uint32_t recipe_select_all(struct recipe_run* run) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_column condition, yes, no;
    uint64_t chosen, *numbers;
    uint32_t turn;
    if (!recipe_pop_column(columns, &no) || !recipe_pop_column(columns, &yes) ||
        !recipe_pop_column(columns, &condition))
        return STROBE_RECIPE_MALFORMED;
    chosen = strobe_column_truths(columns, &condition);
    if (strobe_column_is_same(&condition) && !condition.bad) {
        strobe_column_give_back(columns, chosen ? &no : &yes);
        return recipe_push_column(columns, chosen ? &yes : &no);
    }
    strobe_column_give_back(columns, &condition);
    if (!strobe_column_spread(columns, &yes)) return STROBE_RECIPE_MALFORMED;
    numbers = columns->numbers[yes.slot - 1];
    run->executed += columns->count / 8;
    for (turn = 0; turn < columns->count; turn++)
        numbers[turn] = chosen >> turn & 1 ? numbers[turn] : strobe_column_number(columns, &no, turn);
    strobe_column_give_back(columns, &no);
    condition.slot = yes.slot;
    strobe_column_spoil(&condition, yes.bad & chosen, yes.fault);
    strobe_column_spoil(&condition, no.bad & ~chosen, no.fault);
    return recipe_push_column(columns, &condition);
}

static uint32_t recipe_extend_all(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_column* column;
    uint32_t width = step->width;
    int is_signed = step->count == 1;
    uint64_t last;
    if (!columns->number_count || (width != 1 && width != 2 && width != 4 && width != 8))
        return STROBE_RECIPE_MALFORMED;
    column = &columns->stack[columns->number_count - 1];
    if (strobe_column_is_same(column)) {
        column->first = strobe_recipe_extended(column->first, width, is_signed);
        return STROBE_RECIPE_OK;
    }
    if (strobe_column_is_even(columns, column, &last) &&
        strobe_recipe_extended(column->first, width, is_signed) == column->first &&
        strobe_recipe_extended(last, width, is_signed) == last)
        return STROBE_RECIPE_OK;
    if (!strobe_column_spread(columns, column)) return STROBE_RECIPE_MALFORMED;
    run->executed += columns->count / 8;
    recipe_extend_numbers(columns->numbers[column->slot - 1], columns->count, width, is_signed);
    return STROBE_RECIPE_OK;
}

static void recipe_add_to_all(struct recipe_columns* columns, struct recipe_column* column, uint64_t more) {
    uint32_t turn;
    column->first += more;
    for (turn = 0; column->slot && turn < columns->count; turn++) columns->numbers[column->slot - 1][turn] += more;
}

/* What the machine does by itself, and is the same in all turns: another location, or a number. */
static uint32_t recipe_do_once(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_column column;
    struct recipe_word number;
    uint32_t status = strobe_recipe_execute(run, step);
    if (status != STROBE_RECIPE_OK) return status;
    if (step->op == STROBE_RECIPE_BASE || step->op == STROBE_RECIPE_PASSED) {
        column = strobe_column_everywhere(columns, run->location);
        strobe_column_move(columns, &columns->location, &column);
        return STROBE_RECIPE_OK;
    }
    if (!strobe_recipe_pop(run, &number)) return STROBE_RECIPE_MALFORMED;
    column = strobe_column_everywhere(columns, number);
    return recipe_push_column(columns, &column);
}

static uint32_t recipe_go_to_all(struct recipe_run* run) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_column to, before = columns->location;
    if (!recipe_pop_column(columns, &to)) return STROBE_RECIPE_MALFORMED;
    strobe_column_spoil_nulls(run, &to, before.first);
    if (before.bad) { /* its faults come before those of the number */
        struct recipe_column joined = before;
        strobe_column_spoil(&joined, to.bad, to.fault);
        to.bad = joined.bad;
        to.fault = joined.fault;
    }
    strobe_column_move(columns, &columns->location, &to);
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_require_all(struct recipe_run* run) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_column number;
    uint64_t none;
    if (!recipe_pop_column(columns, &number)) return STROBE_RECIPE_MALFORMED;
    none = ~strobe_column_truths(columns, &number) & strobe_column_all_turns(columns) & ~number.bad;
    strobe_column_spoil(&columns->location, number.bad, number.fault);
    strobe_column_spoil(&columns->location, none,
                        strobe_column_fault(run, STROBE_RECIPE_BROKEN, columns->location.first));
    strobe_column_give_back(columns, &number);
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_column_variable(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_columns* columns = &run->columns;
    uint32_t number = step->count;
    struct recipe_column column;
    if (number >= STROBE_RECIPE_MAX_VARIABLES) return STROBE_RECIPE_MALFORMED;
    if (step->op == STROBE_RECIPE_SET) {
        if (!recipe_pop_column(columns, &column)) return STROBE_RECIPE_MALFORMED;
        if (columns->set_variables >> number & 1) strobe_column_give_back(columns, &columns->variables[number]);
        columns->variables[number] = column;
        columns->set_variables |= 1u << number;
        return STROBE_RECIPE_OK;
    }
    if (columns->set_variables >> number & 1) return recipe_push_copy(columns, &columns->variables[number]);
    if (!(run->set_variables >> number & 1)) return STROBE_RECIPE_MALFORMED;
    column = strobe_column_everywhere(columns, run->variables[number]);
    return recipe_push_column(columns, &column);
}

static uint32_t recipe_keep_places(struct recipe_columns* columns, const struct strobe_recipe_step* step) {
    if (step->op == STROBE_RECIPE_SAVE) {
        if (columns->kept_count == STROBE_RECIPE_COLUMN_LOCATIONS ||
            !strobe_column_copy(columns, &columns->location, &columns->kept[columns->kept_count]))
            return STROBE_RECIPE_MALFORMED;
        columns->kept_count++;
        return STROBE_RECIPE_OK;
    }
    if (!columns->kept_count) return STROBE_RECIPE_MALFORMED;
    strobe_column_move(columns, &columns->location, &columns->kept[--columns->kept_count]);
    return STROBE_RECIPE_OK;
}

static uint32_t recipe_do_for_all(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_column column;
    switch (step->op) {
        case STROBE_RECIPE_BASE:
        case STROBE_RECIPE_PASSED:
        case STROBE_RECIPE_CONSTANT:
        case STROBE_RECIPE_FACT:
        case STROBE_RECIPE_BEFORE:
            return recipe_do_once(run, step);
        case STROBE_RECIPE_ADD:
            recipe_add_to_all(columns, &columns->location, (uint64_t)step->operand);
            return STROBE_RECIPE_OK;
        case STROBE_RECIPE_DEREF:
            return recipe_follow_all(run, step);
        case STROBE_RECIPE_SAVE:
        case STROBE_RECIPE_RESTORE:
            return recipe_keep_places(columns, step);
        case STROBE_RECIPE_NUMBER:
            return recipe_push_loaded(run, step);
        case STROBE_RECIPE_LOCATION:
            if (!strobe_column_copy(columns, &columns->location, &column)) return STROBE_RECIPE_MALFORMED;
            recipe_add_to_all(columns, &column, (uint64_t)step->operand);
            return recipe_push_column(columns, &column);
        case STROBE_RECIPE_TURN:
            column = strobe_column_everywhere(columns, strobe_column_fault(run, STROBE_RECIPE_OK, columns->turn));
            column.apart = 1;
            return recipe_push_column(columns, &column);
        case STROBE_RECIPE_PICK:
            if (step->count >= columns->number_count) return STROBE_RECIPE_MALFORMED;
            return recipe_push_copy(columns, &columns->stack[columns->number_count - 1 - step->count]);
        case STROBE_RECIPE_DROP:
            if (!recipe_pop_column(columns, &column)) return STROBE_RECIPE_MALFORMED;
            strobe_column_give_back(columns, &column);
            return STROBE_RECIPE_OK;
        case STROBE_RECIPE_CALC:
            if (step->width > STROBE_RECIPE_SELECT) return STROBE_RECIPE_MALFORMED;
            return step->width == STROBE_RECIPE_SELECT ? recipe_select_all(run) : recipe_calculate_all(run, step);
        case STROBE_RECIPE_EXTEND:
            return recipe_extend_all(run, step);
        case STROBE_RECIPE_GO:
            return recipe_go_to_all(run);
        case STROBE_RECIPE_REQUIRE:
            return recipe_require_all(run);
        case STROBE_RECIPE_SET:
        case STROBE_RECIPE_GET:
            return recipe_column_variable(run, step);
        default:
            return STROBE_RECIPE_MALFORMED;
    }
}

static int recipe_is_better(uint32_t kind, uint64_t number, uint64_t than) {
    switch (kind) {
        case STROBE_RECIPE_SWEEP_LEAST:
            return number < than;
        case STROBE_RECIPE_SWEEP_MOST:
            return number > than;
        case STROBE_RECIPE_SWEEP_SIGNED_LEAST:
            return (int64_t)number < (int64_t)than;
        default:
            return (int64_t)number > (int64_t)than;
    }
}

/* Numbers that are all good. */
static void recipe_fold_numbers(const struct recipe_columns* columns, uint32_t kind, const struct recipe_column* column,
                                uint64_t* value) {
    uint64_t truths = kind == STROBE_RECIPE_SWEEP_COUNT ? strobe_column_truths(columns, column) : 0;
    uint32_t turn;
    for (turn = 0; turn < columns->count; turn++) {
        uint64_t number = kind == STROBE_RECIPE_SWEEP_COUNT ? 0 : strobe_column_number(columns, column, turn);
        if (kind == STROBE_RECIPE_SWEEP_COUNT)
            *value += truths >> turn & 1;
        else if (kind == STROBE_RECIPE_SWEEP_SUM)
            *value += number;
        else if (columns->turn + turn == 0 || recipe_is_better(kind, number, *value))
            *value = number;
    }
}

/* One more block of turns: 1 where `result` is what it all comes to, whatever follows. Where it is bad, so is one that
   could not be read; of ANY and ALL a turn that follows may still decide it. */
static int recipe_fold(const struct recipe_columns* columns, uint32_t kind, const struct recipe_column* column,
                       struct recipe_word* result) {
    uint64_t decides, truths;
    int is_search = kind <= STROBE_RECIPE_SWEEP_FIRST;
    if (is_search) {
        truths = strobe_column_truths(columns, column);
        decides =
            (kind == STROBE_RECIPE_SWEEP_ALL ? ~truths : truths) & ~column->bad & strobe_column_all_turns(columns);
        if (decides && kind != STROBE_RECIPE_SWEEP_FIRST) {
            result->status = STROBE_RECIPE_OK; /* whatever could not be read before */
            result->value = kind == STROBE_RECIPE_SWEEP_ANY;
            return 1;
        }
        if (decides && (!column->bad || strobe_column_lowest_bit(decides) < strobe_column_lowest_bit(column->bad))) {
            result->value = columns->turn + strobe_column_lowest_bit(decides);
            return 1;
        }
    }
    if (column->bad) {
        if (result->status == STROBE_RECIPE_OK) *result = column->fault;
        return kind != STROBE_RECIPE_SWEEP_ANY && kind != STROBE_RECIPE_SWEEP_ALL;
    }
    if (!is_search) recipe_fold_numbers(columns, kind, column, &result->value);
    return 0;
}

/* The steps for the next turns; `column`: the numbers that they push. */
static uint32_t recipe_sweep_block(struct recipe_run* run, uint32_t first, uint32_t count, struct recipe_word location,
                                   struct recipe_column* column) {
    struct recipe_columns* columns = &run->columns;
    uint32_t index, status;
    columns->taken = 0;
    columns->set_variables = 0;
    columns->number_count = columns->kept_count = 0;
    columns->location = strobe_column_everywhere(columns, location);
    for (index = 0; index < count; index++) {
        run->at = first + index;
        run->executed++;
        status = recipe_do_for_all(run, &run->steps[run->at]);
        if (status != STROBE_RECIPE_OK) return status;
    }
    if (columns->kept_count || columns->number_count != 1) return STROBE_RECIPE_MALFORMED;
    return recipe_pop_column(columns, column) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}

uint32_t strobe_recipe_sweep(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_columns* columns = &run->columns;
    struct recipe_word turns, location = run->location, result;
    struct recipe_column column;
    uint32_t first = run->at + 1, kind = step->width;
    uint64_t most;
    int is_over = 0;
    if (!step->count || step->count >= run->count - run->at || kind > STROBE_RECIPE_SWEEP_SIGNED_MOST ||
        step->operand < 0 || !strobe_recipe_pop(run, &turns))
        return STROBE_RECIPE_MALFORMED;
    result = turns;
    if (turns.status == STROBE_RECIPE_OK) result.step = run->at;
    result.value = kind == STROBE_RECIPE_SWEEP_ALL;
    most = turns.value < (uint64_t)step->operand ? turns.value : (uint64_t)step->operand;
    for (columns->turn = 0; turns.status == STROBE_RECIPE_OK && columns->turn < most && !is_over;
         columns->turn += columns->count) {
        uint64_t left = most - columns->turn;
        uint32_t status;
        columns->count = left < STROBE_RECIPE_LANES ? (uint32_t)left : STROBE_RECIPE_LANES;
        status = recipe_sweep_block(run, first, step->count, location, &column);
        if (status != STROBE_RECIPE_OK) return status;
        if (run->executed >= run->most_steps) break;
        is_over = recipe_fold(columns, kind, &column, &result);
    }
    run->at = first + step->count - 1;
    run->location = location;
    if (turns.status == STROBE_RECIPE_OK && !is_over && result.status == STROBE_RECIPE_OK) {
        if (columns->turn < turns.value) return STROBE_RECIPE_ENDLESS;
        if (kind == STROBE_RECIPE_SWEEP_FIRST) result.value = turns.value;
    }
    return strobe_recipe_push(run, result) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}
