/* Conditions over numbers of all kinds, each as C has it. The program counts for how many calls each holds: that is
 * what Strobe's counts must be, whether it decides at the entry of a function, at a line, or at the return. Waits for
 * SIGUSR1.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "told.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Weverything" /* conditions are written as people write them */
#else
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Woverflow"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif

enum Kind { NONE, SALE = 3, REFUND = -2 };

struct Sample {
    float weight;
    double value;
    int8_t tiny;
    uint16_t port;
    unsigned flags : 3;
    int shift : 5;
    enum Kind kind;
    bool is_valid;
    double series[6];
    float points[3];
    struct Sample* next;
    long double exact;
};

double gFactor = 0.25;
float gSingle = 1.1F;
long double gExact = -0.125L; /* all are doubles, too */
int gOffset = -3;

// SAME(number, condition): in C and in Strobe the same text.
// clang-format off
#define CONDITIONS                                                             \
    SAME(0, ratio + 1 > 2)                                                     \
    SAME(1, ratio - 0.5 < ratio * 0.5)                                         \
    SAME(2, ratio * ratio == 6.25)                                              \
    SAME(3, ratio / 3 > 0.7)                                                   \
    SAME(4, -ratio > 1.5)                                                      \
    SAME(5, ratio * small > 10)                                                 \
    SAME(6, ratio + wide < count)                                              \
    SAME(7, small / 2 + ratio / 2 > 1.75)                                      \
    SAME(8, small / 2.0 != small / 2)                                          \
    SAME(9, single * 3 == single + single + single)                            \
    SAME(10, single + 0.1 > single)                                            \
    SAME(11, single == 0.1)                                                    \
    SAME(12, single == 0.1F || single == 0.5)                                  \
    SAME(13, (double)single * 10 == 1)                                         \
    SAME(14, (float)ratio == ratio)                                            \
    SAME(15, (float)(ratio / 3) == ratio / 3)                                  \
    SAME(16, (int)ratio == 2)                                                  \
    SAME(17, (int)ratio * 2 == (int)(ratio * 2))                               \
    SAME(18, (int64_t)(ratio * 1000) % 7 == 3)                                 \
    SAME(19, (unsigned char)small == 255)                                      \
    SAME(20, (double)small / 4 == small / 4)                                   \
    SAME(21, (float)wide == wide)                                              \
    SAME(22, single * small == small * single)                                  \
    SAME(23, single + wide > 16777216)                                         \
    SAME(24, ratio > 0 ? ratio > 2 : ratio < -2)                               \
    SAME(25, (small > 0 ? ratio : single) > 0.3)                               \
    SAME(26, ratio&& small)                                                    \
    SAME(27, !ratio || !single)                                                \
    SAME(28, ratio < single)                                                   \
    SAME(29, ratio >= single && single >= small)                               \
    SAME(30, sample->weight * 2 > sample->value)                               \
    SAME(31, sample->value - sample->weight < 0.001)                           \
    SAME(32, sample->series[2] + sample->series[3] > sample->value)            \
    SAME(33, sample->series[small & 3] * 2 == sample->series[2])               \
    SAME(34, sample->points[0] / sample->points[1] < sample->points[2])        \
    SAME(35, sample->value * gFactor > 1)                                       \
    SAME(36, gSingle * sample->weight != 1.1 * sample->weight)                 \
    SAME(37, gOffset + ratio > -1)                                             \
    SAME(38, sample->tiny * 1.5 < -10)                                         \
    SAME(39, sample->port / 1000.0 > 40)                                       \
    SAME(40, sample->flags * 0.5 == 1.5)                                       \
    SAME(41, sample->shift + 0.5 < 0)                                          \
    SAME(42, sample->kind * 1.0 == -2)                                         \
    SAME(43, sample->kind == REFUND || sample->kind == SALE)                   \
    SAME(44, sample->is_valid + 0.5 > 1)                                       \
    SAME(45, sample->next->value + sample->value > 5)                          \
    SAME(46, *numbers * 0.5 > numbers[1])                                      \
    SAME(47, numbers[0] + numbers[2] == numbers[1] + numbers[3])               \
    SAME(48, (numbers[1] - numbers[0]) / (numbers[3] - numbers[2] + 10) > 0.2) \
    SAME(49, ratio * 1e300 * 1e300 > 1e308)                                    \
    SAME(50, ratio * 1e-300 * 1e-300 == 0)                                     \
    SAME(51, ratio / 0.0 < 0)                                                  \
    SAME(52, (ratio - ratio) / 0.0 == (ratio - ratio) / 0.0)                   \
    SAME(53, small + 1 > 0 && small * 3 < 40)                                  \
    SAME(54, small - 7 == -small + 1)                                          \
    SAME(55, small * small - 2 * small + 1 == (small - 1) * (small - 1))        \
    SAME(56, small / 3 == 2 || small % 3 == -1)                                \
    SAME(57, -small / 4 == -(small / 4))                                       \
    SAME(58, -small % 4 == -(small % 4))                                       \
    SAME(59, (small & 6) == 4)                                                 \
    SAME(60, (small | 1) == small)                                             \
    SAME(61, (small ^ 5) < 3)                                                  \
    SAME(62, (~small & 3) == 2)                                                \
    SAME(63, small << 3 == 24)                                                 \
    SAME(64, small >> 2 == -2)                                                 \
    SAME(65, (count >> 4) + 1 < 3)                                             \
    SAME(66, 1 << (count & 7) > 16)                                            \
    SAME(67, count % 10 == 7)                                                  \
    SAME(68, count / 7 * 7 == count)                                           \
    SAME(69, wide * 1000003 % 97 == 5)                                         \
    SAME(70, wide - small * 1000 > 0)                                          \
    SAME(71, wide == 16777217)                                                 \
    SAME(72, (short)wide == 1)                                                 \
    SAME(73, (signed char)(small * 40) < 0)                                    \
    SAME(74, (uint32_t)small > 4000000000)                                     \
    SAME(75, (bool)(small & 4))                                                \
    SAME(76, small < 0 == ratio < 0)                                           \
    SAME(77, small > 2 && ratio > 1 || single > 0.4)                           \
    SAME(78, small > 2 && (ratio > 1 || single > 0.4))                         \
    SAME(79, !(small > 2) != (small <= 2))                                     \
    SAME(80, (small > 0) + (ratio > 0) + (single > 0) == 2)                    \
    SAME(81, letter == 'c' || letter - 'a' == 5)                               \
    SAME(82, letter > 'd' ? letter < 'g' : letter == '\x61')                   \
    SAME(83, 0x10 + 010 + 0b11 == 27)                                          \
    SAME(84, small == 0x7 || small == 03)                                      \
    SAME(85, wide > 0xffff && wide < 1000000000000)                            \
    SAME(86, sample != 0 && sample->next != sample)                            \
    SAME(87, sample->next == sample->next->next->next)                         \
    SAME(88, *&sample->value == *&sample->next->value || *numbers > 3)         \
    SAME(89, sizeof(*sample) > sizeof(sample->series))                         \
    SAME(90, sizeof(sample->points) / sizeof(sample->points[0]) == 3)          \
    SAME(91, (sample->port & 0xff) == (uint8_t)sample->port)                   \
    SAME(92, (int8_t)sample->port < 0)                                         \
    SAME(93, sample->flags == 3 && sample->shift == -4)                        \
    SAME(94, sample->tiny + sample->shift == -11)                              \
    SAME(95, ((struct Sample*)sample)->next->tiny == sample->tiny)             \
    SAME(96, small ? ratio ? 1 : 0 : single > 0)                               \
    SAME(97, +small + -small == 0 && - -ratio == ratio)                        \
    SAME(98, 7 - 2 - small == 5 - small)                                       \
    SAME(99, 100 / 10 / 2 == 5 && small - (2 - 3) > 3)                         \
    SAME(100, 1.5e1 == 15 && .5 == 5e-1 && ratio != 1e-400)                    \
    SAME(101, (int)(single * 100) == 10)                                       \
    SAME(102, (long)(ratio * 4) << 2 == 40)                                    \
    SAME(103, (unsigned)(ratio * ratio) % 4 == 2)                              \
    SAME(104, (ratio > single) * small == small)                               \
    SAME(105, sample->series[0] <= sample->series[1] && sample->series[1] <= sample->series[2]) \
    SAME(106, sample->exact > 1)                                               \
    SAME(107, sample->exact * 4 == 9)                                          \
    SAME(108, sample->exact + small < ratio)                                   \
    SAME(109, -sample->exact < sample->next->exact && (int)sample->exact == 2) \
    SAME(110, gExact == -0.125)                                                \
    SAME(111, (double)gExact * small > 0.5)

// clang-format on

#define PARAMETERS                                                                                                  \
    int small, unsigned count, long wide, float single, double ratio, const double *numbers, struct Sample *sample, \
        char letter
#define ARGUMENTS small, count, wide, single, ratio, numbers, sample, letter
#define TRACED __attribute__((noinline, noclone))

static long held[200];
double kept; /* what the compiler cannot leave out */

static TRACED void use(PARAMETERS) {
    *(volatile double*)&kept =
        small + count + (double)wide + single + ratio + *numbers + sample->value + letter + (double)gOffset;
}

#define SAME(number, condition)               \
    TRACED double check##number(PARAMETERS) { \
        if (condition) held[number]++;        \
        use(ARGUMENTS);                       \
        return ratio * small;                 \
    }
CONDITIONS
#undef SAME

TRACED double whole(PARAMETERS) {
    double result = ratio * small;
    use(ARGUMENTS); /* at this line */
    return result;
}

int main(void) {
    struct Sample other = {1.5F, 3.25, -7, 50000, 5, 3, SALE, true, {1, 2, 3, 4, 5, 6}, {3, 2, 1}, NULL, 2.25L};
    struct Sample one = {0.1F, 0.1, -7, 129, 3, -4, REFUND, false, {0.5, 1, 2, -4, 8, 16}, {1, 4, 0.5F}, &other, -1.5L};
    double numbers[4];
    other.next = &one;
    run_until_told();
    puts("ready");
    fflush(stdout);
    while (!told) usleep(1000);
    for (int i = -60; i < 60; i++) {
        int small = i % 13;
        unsigned count = (unsigned)(i + 60);
        long wide = i & 1 ? 16777217 : i * 100L;
        float single = i % 3 ? 0.1F : i % 4 ? 0.5F : -0.25F;
        double ratio = i % 5 ? i / 8.0 : 2.5;
        struct Sample* sample = i & 2 ? &one : &other;
        char letter = (char)('a' + (i & 7));
        for (int at = 0; at < 4; at++) numbers[at] = i * 0.75 - at * at;
#define SAME(number, condition) check##number(ARGUMENTS);
        CONDITIONS
#undef SAME
        whole(ARGUMENTS);
    }
#define SAME(number, condition) printf("held %d %ld\n", number, held[number]);
    CONDITIONS
#undef SAME
    return 0;
}
