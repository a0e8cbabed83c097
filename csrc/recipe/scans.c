/* Comparison of one number of each of many elements: what `all(i in 0..n: a[i].x < 3)` does 700 times in a few us. */
#include "machine.h"

#define RECIPE_SCAN_BYTES (8u * STROBE_RECIPE_SCAN_WORDS)
#define RECIPE_SCAN_STRIDE 48u /* elements that are further apart are read one by one */

struct recipe_scan {
    uint64_t first; /* address of the first element's number */
    uint64_t count;
    uint64_t compared;
    uint64_t mask;
    uint64_t bias;
    uint32_t how;
    uint32_t stride;
    uint32_t width;
    uint32_t unused; /* bits above the number, where it has a sign */
};

static uint64_t recipe_scanned_number(const uint8_t* from, uint32_t width) {
    switch (width) {
        case 1:
            return from[0];
        case 2:
            return from[0] | (uint64_t)from[1] << 8;
        case 4:
            return from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 | (uint64_t)from[3] << 24;
        default: {
            uint64_t number = 0;
            uint32_t at;
            for (at = 8; at-- > 0;) number = number << 8 | from[at];
            return number;
        }
    }
}

/* Whether it holds for an element's number. Numbers are in the order of what they are without a sign once `bias` is
   added to both. */
static int recipe_scan_holds(const struct recipe_scan* scan, uint64_t number) {
    number = (uint64_t)((int64_t)(number << scan->unused) >> scan->unused);
    number = (number & scan->mask) ^ scan->bias;
    return (scan->how & (number < scan->compared    ? STROBE_RECIPE_SCAN_LESS
                         : number == scan->compared ? STROBE_RECIPE_SCAN_EQUAL
                                                    : STROBE_RECIPE_SCAN_MORE)) != 0;
}

uint32_t strobe_recipe_numbers_at(struct recipe_run* run, uint64_t address, uint64_t stride, uint32_t width,
                                  uint64_t count, uint64_t* into) {
    const uint8_t* bytes = (const uint8_t*)run->piece;
    uint64_t most = STROBE_RECIPE_SCAN_WORDS, got, at;
    if (count < most) most = count;
    if (run->moment && run->moment->gather)
        return run->moment->gather(run->context, address, (uint32_t)stride, width, (uint32_t)most, into);
    if (stride > RECIPE_SCAN_STRIDE)
        most = 1;
    else if (most > (RECIPE_SCAN_BYTES - width) / stride + 1)
        most = (RECIPE_SCAN_BYTES - width) / stride + 1;
    got = run->read(run->context, address, run->piece, (uint32_t)((most - 1) * stride + width));
    if (got < width) return 0;
    most = (got - width) / stride + 1;
    for (at = 0; at < most; at++) into[at] = recipe_scanned_number(bytes + at * stride, width);
    return (uint32_t)most;
}

static struct recipe_word recipe_scan_all(struct recipe_run* run, const struct recipe_scan* scan) {
    struct recipe_word result;
    uint64_t index = 0, held = 0;
    result.status = STROBE_RECIPE_OK;
    result.step = run->at;
    while (index < scan->count) {
        uint64_t read = strobe_recipe_numbers_at(run, scan->first + index * scan->stride, scan->stride, scan->width,
                                                 scan->count - index, run->scanned);
        uint64_t at;
        run->executed += (uint32_t)read;
        if (read == 0 || run->executed >= run->most_steps) {
            result.status = read == 0 ? STROBE_RECIPE_UNREADABLE : STROBE_RECIPE_FULL;
            result.value = scan->first + index * scan->stride;
            return result;
        }
        for (at = 0; at < read; at++, index++) {
            if (!recipe_scan_holds(scan, run->scanned[at])) continue;
            if (!(scan->how & STROBE_RECIPE_SCAN_COUNTS)) break;
            held++;
        }
        if (at < read) break;
    }
    result.value = scan->how & STROBE_RECIPE_SCAN_COUNTS ? held : index;
    return result;
}

uint32_t strobe_recipe_scan(struct recipe_run* run, const struct strobe_recipe_step* step) {
    struct recipe_word count, compared, result = run->location;
    struct recipe_scan scan;
    uint32_t width = step->width;
    if (run->count - run->at < 3 || step[1].op != STROBE_RECIPE_DATA || step[2].op != STROBE_RECIPE_DATA ||
        step->count == 0 || (width != 1 && width != 2 && width != 4 && width != 8))
        return STROBE_RECIPE_MALFORMED;
    if (!strobe_recipe_pop(run, &compared) || !strobe_recipe_pop(run, &count)) return STROBE_RECIPE_MALFORMED;
    run->at += 2;
    if (count.status == STROBE_RECIPE_OK && count.value == 0) result = count; /* whatever lies there, or does not */
    if (result.status == STROBE_RECIPE_OK && count.status != STROBE_RECIPE_OK) result = count;
    if (result.status == STROBE_RECIPE_OK && count.value != 0) {
        if (compared.status != STROBE_RECIPE_OK) {
            result = compared;
        } else {
            scan.first = run->location.value + (uint64_t)step->operand;
            scan.count = count.value;
            scan.how = (uint32_t)step[1].operand;
            scan.bias = scan.how & STROBE_RECIPE_SCAN_SIGNED_ORDER ? (uint64_t)1 << 63 : 0;
            scan.compared = compared.value ^ scan.bias;
            scan.unused = scan.how & STROBE_RECIPE_SCAN_SIGNED ? 64 - 8 * width : 0;
            scan.mask = (uint64_t)step[2].operand;
            scan.stride = step->count;
            scan.width = width;
            result = recipe_scan_all(run, &scan);
        }
    }
    return strobe_recipe_push(run, result) ? STROBE_RECIPE_OK : STROBE_RECIPE_MALFORMED;
}
