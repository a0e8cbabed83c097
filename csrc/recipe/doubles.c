/* Comparison of floating-point numbers by their bits: IEEE 754's binary32 and binary64. */
#include "machine.h"

#define DOUBLE_SIGN ((uint64_t)1 << 63)
#define DOUBLE_INFINITY ((uint64_t)0x7ff << 52)
#define DOUBLE_FRACTION_BITS 52
#define DOUBLE_BIAS 1023
#define FLOAT_FRACTION_BITS 23
#define FLOAT_BIAS 127

/* `number`, which is not 0, times 2 to the power of `exponent`, as the bits of a double; rounded to nearest, ties to
   even. The result is neither subnormal nor infinite. */
static uint64_t recipe_scaled(uint64_t number, int exponent) {
    uint64_t bits, rest, half;
    int top = 63, drop;
    while (!(number >> top)) top--;
    drop = top - DOUBLE_FRACTION_BITS;
    if (drop <= 0) {
        bits = number << -drop;
    } else {
        bits = number >> drop;
        rest = number & (((uint64_t)1 << drop) - 1);
        half = (uint64_t)1 << (drop - 1);
        if (rest > half || (rest == half && (bits & 1))) bits++; /* a carry goes into the exponent, as it has to */
    }
    return bits + ((uint64_t)(DOUBLE_BIAS + top + exponent - 1) << DOUBLE_FRACTION_BITS);
}

static uint64_t recipe_widened(uint64_t number) {
    uint64_t sign = number >> 31 & 1, exponent = number >> FLOAT_FRACTION_BITS & 0xff;
    uint64_t fraction = number & ((1u << FLOAT_FRACTION_BITS) - 1);
    uint64_t bits = 0;
    if (exponent == 0xff)
        bits = DOUBLE_INFINITY | fraction << (DOUBLE_FRACTION_BITS - FLOAT_FRACTION_BITS);
    else if (exponent)
        bits = (exponent + DOUBLE_BIAS - FLOAT_BIAS) << DOUBLE_FRACTION_BITS |
               fraction << (DOUBLE_FRACTION_BITS - FLOAT_FRACTION_BITS);
    else if (fraction)
        bits = recipe_scaled(fraction, 1 - FLOAT_BIAS - FLOAT_FRACTION_BITS);
    return bits | sign << 63;
}

uint64_t strobe_recipe_to_double(uint64_t number, uint64_t from) {
    if (from == STROBE_RECIPE_FROM_FLOAT) return recipe_widened(number);
    if (number == 0) return 0;
    if (from == STROBE_RECIPE_FROM_SIGNED && number >> 63) return recipe_scaled(~number + 1, 0) | DOUBLE_SIGN;
    return recipe_scaled(number, 0);
}

static int recipe_is_nan(uint64_t bits) { return (bits & ~DOUBLE_SIGN) > DOUBLE_INFINITY; }

/* Numbers in the order of what the bits are. */
static uint64_t recipe_order(uint64_t bits) { return bits & DOUBLE_SIGN ? ~bits : bits | DOUBLE_SIGN; }

static int recipe_is_zero(uint64_t bits) { return !(bits & ~DOUBLE_SIGN); }

int strobe_recipe_double_equal(uint64_t left, uint64_t right) {
    if (recipe_is_nan(left) || recipe_is_nan(right)) return 0;
    return left == right || (recipe_is_zero(left) && recipe_is_zero(right));
}

int strobe_recipe_double_less(uint64_t left, uint64_t right) {
    if (recipe_is_nan(left) || recipe_is_nan(right) || (recipe_is_zero(left) && recipe_is_zero(right))) return 0;
    return recipe_order(left) < recipe_order(right);
}
