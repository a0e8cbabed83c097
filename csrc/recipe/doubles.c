/* Floating-point numbers by their bits, IEEE 754's binary32 and binary64: rounded to nearest, ties to even, as the CPU
 * does by default. */
#include "machine.h"

#define DOUBLE_SIGN ((uint64_t)1 << 63)
#define DOUBLE_INFINITY ((uint64_t)0x7ff << 52)
#define DOUBLE_FRACTION_BITS 52
#define DOUBLE_BIAS 1023
#define FLOAT_FRACTION_BITS 23
#define FLOAT_BIAS 127

#define DOUBLE_QUIET ((uint64_t)1 << 51)
#define DOUBLE_INVALID ((uint64_t)0xfff8 << 48) /* what x86 makes of inf - inf, 0 / 0 */
#define DOUBLE_LEAST (-1074) /* the power of 2 that the last digit of a subnormal number stands for */
#define FLOAT_LEAST (-149)
#define FLOAT_MOST 128

/* A finite number that is not 0: `digits`, whose highest bit is bit 52, times 2 to the power of `exponent`. */
struct recipe_parts {
    uint64_t digits;
    int exponent;
};

static int recipe_top(uint64_t number) {
    int top = 63;
    while (!(number >> top)) top--;
    return top;
}

/* `number` without its last `drop` bits, rounded. Its last bit may stand for more that lies behind it. */
static uint64_t recipe_without(uint64_t number, int drop) {
    uint64_t bits, rest, half;
    if (drop > 64) return 0;
    bits = drop == 64 ? 0 : number >> drop;
    rest = drop == 64 ? number : number & (((uint64_t)1 << drop) - 1);
    half = (uint64_t)1 << (drop - 1);
    return bits + (rest > half || (rest == half && (bits & 1)));
}

/* `number`, which is not 0, times 2 to the power of `exponent`, as the bits of a double. */
static uint64_t recipe_scaled(uint64_t number, int exponent) {
    uint64_t bits;
    int drop = recipe_top(number) - DOUBLE_FRACTION_BITS;
    if (exponent + drop < DOUBLE_LEAST) drop = DOUBLE_LEAST - exponent;
    if (exponent + drop > DOUBLE_BIAS) return DOUBLE_INFINITY;
    bits = drop > 0 ? recipe_without(number, drop) : number << -drop;
    bits += (uint64_t)(exponent + drop - DOUBLE_LEAST) << DOUBLE_FRACTION_BITS; /* a carry goes into the exponent */
    return bits < DOUBLE_INFINITY ? bits : DOUBLE_INFINITY;
}

/* The same with no more digits than a float has. */
static uint64_t recipe_scaled_single(uint64_t number, int exponent) {
    uint64_t bits;
    int drop = recipe_top(number) - FLOAT_FRACTION_BITS;
    if (exponent + drop < FLOAT_LEAST) drop = FLOAT_LEAST - exponent;
    if (drop <= 0) return recipe_scaled(number, exponent);
    bits = recipe_without(number, drop);
    if (bits == 0) return 0;
    if (recipe_top(bits) + exponent + drop >= FLOAT_MOST) return DOUBLE_INFINITY;
    return recipe_scaled(bits, exponent + drop);
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

static uint64_t recipe_from_integer(uint64_t number, uint64_t from) {
    return from >= STROBE_RECIPE_SINGLE_FROM_UNSIGNED ? recipe_scaled_single(number, 0) : recipe_scaled(number, 0);
}

uint64_t strobe_recipe_to_double(uint64_t number, uint64_t from) {
    if (from == STROBE_RECIPE_FROM_FLOAT) return recipe_widened(number);
    if (number == 0) return 0;
    if ((from == STROBE_RECIPE_FROM_SIGNED || from == STROBE_RECIPE_SINGLE_FROM_SIGNED) && number >> 63)
        return recipe_from_integer(~number + 1, from) | DOUBLE_SIGN;
    return recipe_from_integer(number, from);
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

static int recipe_is_infinite(uint64_t bits) { return (bits & ~DOUBLE_SIGN) == DOUBLE_INFINITY; }

static struct recipe_parts recipe_parts_of(uint64_t bits) {
    struct recipe_parts parts;
    uint64_t fraction = bits & (((uint64_t)1 << DOUBLE_FRACTION_BITS) - 1);
    int exponent = (int)(bits >> DOUBLE_FRACTION_BITS & 0x7ff);
    int shift;
    parts.digits = exponent ? fraction | (uint64_t)1 << DOUBLE_FRACTION_BITS : fraction;
    parts.exponent = (exponent ? exponent - 1 : 0) + DOUBLE_LEAST;
    shift = DOUBLE_FRACTION_BITS - recipe_top(parts.digits);
    parts.digits <<= shift;
    parts.exponent -= shift;
    return parts;
}

/* Of what is no number, or is added to what outweighs it. */
static uint64_t recipe_quiet(uint64_t left, uint64_t right) {
    return (recipe_is_nan(left) ? left : right) | DOUBLE_QUIET;
}

/* Digits are followed by 10 more bits, the last of which stands for all behind it. */
static uint64_t recipe_sum(uint64_t left, uint64_t right) {
    uint64_t sign = left & DOUBLE_SIGN, larger, smaller, whole;
    struct recipe_parts a, b;
    int apart;
    if (recipe_is_infinite(left)) return recipe_is_infinite(right) && left != right ? DOUBLE_INVALID : left;
    if (recipe_is_infinite(right)) return right;
    if (recipe_is_zero(right)) return recipe_is_zero(left) ? left & right : left;
    if (recipe_is_zero(left)) return right;
    if ((left & ~DOUBLE_SIGN) < (right & ~DOUBLE_SIGN)) return recipe_sum(right, left);
    a = recipe_parts_of(left);
    b = recipe_parts_of(right);
    apart = a.exponent - b.exponent;
    larger = a.digits << 10;
    whole = b.digits << 10;
    smaller = apart > 63 ? 1 : whole >> apart;
    if (apart > 0 && apart <= 63 && whole & (((uint64_t)1 << apart) - 1)) smaller |= 1;
    if ((left ^ right) & DOUBLE_SIGN) {
        if (larger == smaller) return 0;
        return sign | recipe_scaled(larger - smaller, a.exponent - 10);
    }
    return sign | recipe_scaled(larger + smaller, a.exponent - 10);
}

/* The high 64 bits of the product, with a bit for those below. */
static uint64_t recipe_high_product(uint64_t left, uint64_t right) {
    uint64_t low = (left & 0xffffffffu) * (right & 0xffffffffu), high = (left >> 32) * (right >> 32);
    uint64_t first = (left >> 32) * (right & 0xffffffffu), second = (left & 0xffffffffu) * (right >> 32);
    uint64_t middle = (low >> 32) + (first & 0xffffffffu) + (second & 0xffffffffu);
    high += (first >> 32) + (second >> 32) + (middle >> 32);
    return high | ((low & 0xffffffffu) != 0 || (middle & 0xffffffffu) != 0);
}

static uint64_t recipe_product(uint64_t left, uint64_t right) {
    uint64_t sign = (left ^ right) & DOUBLE_SIGN;
    struct recipe_parts a, b;
    if (recipe_is_infinite(left) || recipe_is_infinite(right))
        return recipe_is_zero(left) || recipe_is_zero(right) ? DOUBLE_INVALID : sign | DOUBLE_INFINITY;
    if (recipe_is_zero(left) || recipe_is_zero(right)) return sign;
    a = recipe_parts_of(left);
    b = recipe_parts_of(right);
    return sign | recipe_scaled(recipe_high_product(a.digits << 11, b.digits << 11), a.exponent + b.exponent + 42);
}

static uint64_t recipe_quotient(uint64_t left, uint64_t right) {
    uint64_t sign = (left ^ right) & DOUBLE_SIGN, quotient = 0;
    struct recipe_parts a, b;
    int bit;
    if (recipe_is_infinite(left)) return recipe_is_infinite(right) ? DOUBLE_INVALID : sign | DOUBLE_INFINITY;
    if (recipe_is_infinite(right)) return sign;
    if (recipe_is_zero(right)) return recipe_is_zero(left) ? DOUBLE_INVALID : sign | DOUBLE_INFINITY;
    if (recipe_is_zero(left)) return sign;
    a = recipe_parts_of(left);
    b = recipe_parts_of(right);
    for (bit = 0; bit < 62; bit++) {
        quotient <<= 1;
        if (a.digits >= b.digits) {
            a.digits -= b.digits;
            quotient |= 1;
        }
        a.digits <<= 1;
    }
    return sign | recipe_scaled(quotient | (a.digits != 0), a.exponent - b.exponent - 61);
}

uint64_t strobe_recipe_double_calculated(uint32_t operation, uint64_t left, uint64_t right) {
    if (recipe_is_nan(left) || recipe_is_nan(right)) return recipe_quiet(left, right);
    switch (operation) {
        case STROBE_RECIPE_DOUBLE_PLUS:
            return recipe_sum(left, right);
        case STROBE_RECIPE_DOUBLE_MINUS:
            return recipe_sum(left, right ^ DOUBLE_SIGN);
        case STROBE_RECIPE_DOUBLE_TIMES:
            return recipe_product(left, right);
        default:
            return recipe_quotient(left, right);
    }
}

static uint64_t recipe_float_bits(uint64_t bits) {
    uint64_t sign = bits >> 63 << 31;
    struct recipe_parts parts;
    int exponent;
    if (recipe_is_zero(bits)) return sign;
    if ((bits & DOUBLE_INFINITY) == DOUBLE_INFINITY)
        return sign | 0x7f800000u | (bits >> (DOUBLE_FRACTION_BITS - FLOAT_FRACTION_BITS) & 0x7fffffu);
    parts = recipe_parts_of(bits);
    exponent = parts.exponent + DOUBLE_FRACTION_BITS + FLOAT_BIAS; /* of its highest bit */
    if (exponent <= 0) return sign | parts.digits >> (FLOAT_LEAST - parts.exponent);
    parts.digits >>= DOUBLE_FRACTION_BITS - FLOAT_FRACTION_BITS;
    return sign | (uint64_t)exponent << FLOAT_FRACTION_BITS | (parts.digits & 0x7fffffu);
}

uint64_t strobe_recipe_to_single(uint64_t bits, uint64_t as) {
    struct recipe_parts parts;
    if (!recipe_is_zero(bits) && (bits & DOUBLE_INFINITY) != DOUBLE_INFINITY) {
        parts = recipe_parts_of(bits);
        bits = (bits & DOUBLE_SIGN) | recipe_scaled_single(parts.digits, parts.exponent);
    }
    return as == STROBE_RECIPE_AS_FLOAT ? recipe_float_bits(bits) : bits;
}

int strobe_recipe_to_integer(uint64_t bits, uint64_t to, uint64_t* number) {
    int is_signed = to == STROBE_RECIPE_FROM_SIGNED, is_negative = bits >> 63 != 0;
    struct recipe_parts parts;
    *number = 0;
    if (recipe_is_zero(bits)) return 1;
    if ((bits & DOUBLE_INFINITY) == DOUBLE_INFINITY) return 0;
    parts = recipe_parts_of(bits);
    if (parts.exponent > 11) return 0;
    if (parts.exponent >= 0)
        *number = parts.digits << parts.exponent;
    else
        *number = parts.exponent < -63 ? 0 : parts.digits >> -parts.exponent;
    if (is_negative && *number != 0 && !is_signed) return 0;
    if (is_signed && *number > ((uint64_t)1 << 63) - !is_negative) return 0;
    if (is_negative) *number = ~*number + 1;
    return 1;
}

/* What the CPU's own conversion gives in its usual rounding; of a form that it takes for none, no number. */
uint64_t strobe_recipe_from_extended(uint64_t significand, uint64_t sign_and_exponent) {
    uint64_t sign = (sign_and_exponent >> 15 & 1) << 63;
    int exponent = (int)(sign_and_exponent & 0x7fff);
    if (exponent == 0) return sign; /* 0, or below the least double */
    if (!(significand >> 63)) return DOUBLE_INVALID;
    if (exponent == 0x7fff) return sign | DOUBLE_INFINITY | (significand << 1 ? DOUBLE_QUIET : 0);
    return sign | recipe_scaled(significand, exponent - 16383 - 63);
}
