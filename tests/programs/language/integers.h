/* Integers of all kinds, as C calculates with them: each condition is the same text in C and in Strobe, and the program
 * counts for how many calls it holds. Nothing here is undefined in C. Programs in C and in C++ are made of it. Waits
 * for SIGUSR1.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
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
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wextra"
#endif

enum Plain { FIRST, SECOND, THIRD };
enum Signed { BELOW = -5, ABOVE = 5 };

struct Fields {
    unsigned three : 3;
    int five : 5;
    unsigned whole : 32;
    unsigned long twelve : 12;
    bool flag : 1;
    uint8_t byte;
    int8_t tiny;
    uint16_t port;
    int16_t low;
    uint32_t mask;
    int32_t number;
    uint64_t big;
    int64_t deep;
    enum Plain plain;
    enum Signed sign;
    uint8_t bytes[6];
    unsigned counts[5];
    long longs[4];
    unsigned short* ports;
};

unsigned gLimit = 10;
long gDeep = -1;
size_t gSize = 3;

// SAME(number, condition): in C and in Strobe the same text.
// clang-format off
#define CONDITIONS                                                             \
    SAME(0, count + other == 3)                                                \
    SAME(1, count - other > 5)                                                 \
    SAME(2, count - other < 0)                                                 \
    SAME(3, count * other == 1)                                                \
    SAME(4, count - 1 > 4000000000)                                            \
    SAME(5, -count > 100)                                                      \
    SAME(6, ~count == 0xfffffff0)                                              \
    SAME(7, number < count)                                                    \
    SAME(8, number > count)                                                    \
    SAME(9, number == count)                                                   \
    SAME(10, -1 < count)                                                       \
    SAME(11, count < -1)                                                       \
    SAME(12, count >= -1)                                                      \
    SAME(13, count == -1)                                                      \
    SAME(14, wide < count)                                                     \
    SAME(15, wide == -1 && wide < count)                                       \
    SAME(16, wide < big)                                                       \
    SAME(17, wide + big == 0)                                                  \
    SAME(18, big > -1)                                                         \
    SAME(19, big == -1)                                                        \
    SAME(20, big - 1 > big)                                                    \
    SAME(21, byte + byte == 256)                                               \
    SAME(22, byte + 1 == 256)                                                  \
    SAME(23, (uint8_t)(byte + 1) == 0)                                         \
    SAME(24, byte - 1 < 0)                                                     \
    SAME(25, byte << 4 > 255)                                                  \
    SAME(26, byte << 24 == 0x10000000)                                         \
    SAME(27, ~byte == -1)                                                      \
    SAME(28, ~byte < 0)                                                        \
    SAME(29, (unsigned char)~byte == 255)                                      \
    SAME(30, -byte == -16)                                                     \
    SAME(31, tiny < byte)                                                      \
    SAME(32, tiny == byte)                                                     \
    SAME(33, tiny == (int8_t)byte)                                             \
    SAME(34, tiny * tiny == 16384)                                             \
    SAME(35, count && number / count == 0)                                     \
    SAME(36, number / 3 == -1)                                                 \
    SAME(37, number % 3 == -1)                                                 \
    SAME(38, number % 7u == 4)                                                 \
    SAME(39, number / 2u > 1000)                                               \
    SAME(40, wide / (long)(count + 1) == -1)                                   \
    SAME(41, wide / 2u == -1)                                                  \
    SAME(42, wide % 5u == 4)                                                   \
    SAME(43, count / 7 * 7 + count % 7 == count)                               \
    SAME(44, (count << 28) >> 28 == count)                                     \
    SAME(45, count << 31 == 0x80000000)                                        \
    SAME(46, count << 31 > 0)                                                  \
    SAME(47, (int)(count << 31) < 0)                                           \
    SAME(48, 1u << (count & 31) > 1000)                                        \
    SAME(49, 1L << (count & 31) + 20 > 1000)                                   \
    SAME(50, 1ull << 63 > wide)                                                \
    SAME(51, number >> 1 < 0)                                                  \
    SAME(52, (unsigned)number >> 1 > 0x7ffffff0)                               \
    SAME(53, number >> 31 == -1)                                               \
    SAME(54, wide >> 63 == -1)                                                 \
    SAME(55, big >> 63 == 1)                                                   \
    SAME(56, (number & 0xff) == 0xfb)                                          \
    SAME(57, (number | count) > 0)                                             \
    SAME(58, (number ^ -1) == ~number)                                         \
    SAME(59, (number & 0xffffffff) == number)                                  \
    SAME(60, (number & 0xffffffffL) == number)                                 \
    SAME(61, (wide & 0xffffffff) == wide)                                      \
    SAME(62, (uint32_t)number == number)                                       \
    SAME(63, (uint32_t)number > 0x80000000)                                    \
    SAME(64, (uint64_t)number > 0x8000000000000000)                            \
    SAME(65, (int64_t)(uint32_t)number == number)                              \
    SAME(66, (short)count == count)                                            \
    SAME(67, (signed char)(count * 16) < 0)                                    \
    SAME(68, (unsigned short)-number == 5)                                     \
    SAME(69, (bool)count == 1)                                                 \
    SAME(70, (bool)(count & 2) + 1 > 1)                                        \
    SAME(71, flag + flag == 2)                                                 \
    SAME(72, flag - 1 < 0)                                                     \
    SAME(73, -flag == -1)                                                      \
    SAME(74, ~flag == -2)                                                      \
    SAME(75, (flag ? number : count) > 1000)                                   \
    SAME(76, (flag ? -1 : 0) < 0)                                              \
    SAME(77, (flag ? -1 : 0u) < 0)                                             \
    SAME(78, (flag ? byte : tiny) < 0)                                         \
    SAME(79, (number > 0 ? wide : count) < 0)                                  \
    SAME(80, fields->three + fields->five < 0)                                 \
    SAME(81, fields->three - 8 < 0)                                            \
    SAME(82, ~fields->three < 0)                                               \
    SAME(83, fields->whole - 8 < 0)                                            \
    SAME(84, fields->whole + number > 0)                                       \
    SAME(85, ~fields->whole == 0xfffffffe)                                     \
    SAME(86, fields->twelve - 4000 < 0)                                        \
    SAME(87, -fields->twelve < 0)                                              \
    SAME(88, fields->five << 3 < 0)                                            \
    SAME(89, fields->flag - 1 < 0)                                             \
    SAME(90, fields->byte + fields->tiny < 0)                                  \
    SAME(91, fields->byte * fields->port > 1000000)                            \
    SAME(92, fields->port - 50001 < 0)                                         \
    SAME(93, fields->low < fields->port)                                       \
    SAME(94, fields->mask - 1 < fields->mask)                                  \
    SAME(95, fields->mask + 1 == 0)                                            \
    SAME(96, fields->number < fields->mask)                                    \
    SAME(97, fields->number + fields->mask < 5)                                \
    SAME(98, fields->big + fields->deep > 5)                                   \
    SAME(99, fields->deep < fields->big)                                       \
    SAME(100, fields->deep < fields->mask)                                     \
    SAME(101, fields->big * 2 < fields->big)                                   \
    SAME(102, fields->plain - 1 < 0)                                           \
    SAME(103, fields->plain > -1)                                              \
    SAME(104, fields->plain == SECOND)                                         \
    SAME(105, fields->plain + number < 0)                                      \
    SAME(106, -fields->plain < 0)                                              \
    SAME(107, ~fields->plain < 0)                                              \
    SAME(108, fields->sign < 0)                                                \
    SAME(109, fields->sign < count)                                            \
    SAME(110, fields->sign == BELOW || fields->sign * 2 == 10)                 \
    SAME(111, fields->bytes[1] - fields->bytes[0] < 0)                         \
    SAME(112, fields->bytes[count & 3] << 1 == fields->bytes[1])               \
    SAME(113, fields->counts[2] - fields->counts[3] > 10)                      \
    SAME(114, fields->counts[1] * fields->counts[3] < 5)                       \
    SAME(115, fields->longs[0] < fields->counts[0])                            \
    SAME(116, fields->ports[0] - fields->ports[1] < 0)                         \
    SAME(117, fields->ports[0] * fields->ports[0] > 0)                         \
    SAME(118, gLimit - 11 > 0)                                                 \
    SAME(119, number < gLimit)                                                 \
    SAME(120, gDeep < gLimit)                                                  \
    SAME(121, gDeep < gSize)                                                   \
    SAME(122, number < gSize)                                                  \
    SAME(123, number < sizeof(*fields))                                        \
    SAME(124, sizeof(number) - 5 > 0)                                          \
    SAME(125, number - sizeof(number) > 100)                                   \
    SAME(126, letter - 'a' < 0 || letter + 200 > 290)                          \
    SAME(127, '\xff' < 0 && letter > '\x80')                                   \
    SAME(128, 0xffffffff > number)                                             \
    SAME(129, 4294967295 > number)                                             \
    SAME(130, 0x7fffffff + (long)count > 2147483647)                           \
    SAME(131, 2147483648 > number)                                             \
    SAME(132, 0x80000000 > number)                                             \
    SAME(133, -0x80000000 > 0)                                                 \
    SAME(134, -2147483648 < number)                                            \
    SAME(135, 10u - 20 > number)                                               \
    SAME(136, 10ul - 20 > number)                                              \
    SAME(137, 10l - 20 > number)                                               \
    SAME(138, 0b11u - 4 > 5)                                                   \
    SAME(139, 037777777777 > number)                                           \
    SAME(140, count - 5 < 10 && count - 5 >= 0)                                \
    SAME(141, count * 0x10000001 == count)                                     \
    SAME(142, count * 4294967297 == count)                                     \
    SAME(143, (count - 20) / 3 == (number - 20) / 3)                           \
    SAME(144, (count - 20) % 3 == 0)                                           \
    SAME(145, (long)(count - 20) < 0)                                          \
    SAME(146, (long)count - 20 < 0)                                            \
    SAME(147, (double)(count - 20) < 0)                                        \
    SAME(148, count - 20 + 0.5 < 0)                                            \
    SAME(149, (float)(count - other) < 0)                                      \
    SAME(150, (count - other) * 1.0f > 4e9f)                                   \
    SAME(151, (int)(count - other) < 0)                                        \
    SAME(152, (number > count) + (number < count) == 1)                        \
    SAME(153, !count - 1 < 0)                                                  \
    SAME(154, !(count - 1) - 1 < 0)                                            \
    SAME(155, (byte > tiny) - (count > 5) < 0)                                 \
    SAME(156, count - 1 && number + 1)                                         \
    SAME(157, +byte - 300 < 0 && +tiny < +byte)                                \
    SAME(158, (char)byte < 0)                                                  \
    SAME(159, (size_t)number > 10)

// clang-format on

#define PARAMETERS                                                                                                  \
    int number, unsigned count, unsigned other, long wide, unsigned long big, unsigned char byte, signed char tiny, \
        bool flag, char letter, struct Fields *fields
#define ARGUMENTS number, count, other, wide, big, byte, tiny, flag, letter, fields

#ifdef __clang__
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noipa))
#endif

static long held[200];
long kept; /* what the compiler cannot leave out */

TRACED void use(PARAMETERS);
TRACED void use(PARAMETERS) {
    *(volatile long*)&kept = (long)(number + count + other + big) + wide + byte + tiny + flag + letter + fields->low;
}

#define SAME(index, condition)             \
    TRACED long check##index(PARAMETERS);  \
    TRACED long check##index(PARAMETERS) { \
        if (condition) held[index]++;      \
        use(ARGUMENTS);                    \
        return number;                     \
    }
CONDITIONS
#undef SAME

TRACED long whole(PARAMETERS);
TRACED long whole(PARAMETERS) {
    long result = number;
    use(ARGUMENTS); /* at this line */
    return result;
}

int main(void) {
    unsigned short ports[2] = {65535 / 2, 50000};
    struct Fields one = {.three = 5,
                         .five = -9,
                         .whole = 1,
                         .twelve = 4095,
                         .flag = true,
                         .byte = 200,
                         .tiny = -128,
                         .port = 50000,
                         .low = -3,
                         .mask = 0xffffffff,
                         .number = -7,
                         .big = ~0UL,
                         .deep = -1,
                         .plain = FIRST,
                         .sign = BELOW,
                         .bytes = {1, 2, 4, 1, 0, 255},
                         .counts = {1, 0x80000001, 3, 4, 5},
                         .longs = {-1, 2, 3, 4},
                         .ports = ports};
    struct Fields two = {.three = 0,
                         .five = 9,
                         .whole = 0x80000000,
                         .twelve = 3,
                         .flag = false,
                         .byte = 3,
                         .tiny = 4,
                         .port = 7,
                         .low = 8,
                         .mask = 0,
                         .number = 6,
                         .big = 7,
                         .deep = 1L << 62,
                         .plain = THIRD,
                         .sign = ABOVE,
                         .bytes = {200, 100, 4, 50, 0, 255},
                         .counts = {9, 2, 5, 3, 5},
                         .longs = {1L << 40, 2, 3, 4},
                         .ports = ports};
    run_until_told();
    puts("ready");
    fflush(stdout);
    while (!told) usleep(1000);
    for (int i = -60; i < 60; i++) {
        int number = i % 13 == 0 ? -5 : i % 11;
        unsigned count = (unsigned)(i + 60) % 23, other = (unsigned)(i & 3);
        long wide = i & 1 ? -1 : i * 1000000007L;
        unsigned long big = i & 2 ? 1UL : i & 4 ? ~0UL : (unsigned long)i;
        unsigned char byte = i & 1 ? (unsigned char)(i & 0xf0) : i & 2 ? 255 : (unsigned char)(i & 16);
        signed char tiny = i & 1 ? (signed char)byte : i & 8 ? -128 : (signed char)i;
        bool flag = i % 3 == 0;
        char letter = (char)('a' - 3 + (i & 7));
        struct Fields* fields = i & 4 ? &one : &two;
#define SAME(index, condition) check##index(ARGUMENTS);
        CONDITIONS
#undef SAME
        whole(ARGUMENTS);
    }
#define SAME(index, condition) printf("held %d %ld\n", index, held[index]);
    CONDITIONS
#undef SAME
    return 0;
}
