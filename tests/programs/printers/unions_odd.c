/* Unions of which a member looks as if it could not be there, and could. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

struct node {
    int id;
    union {
        struct node* next;
        long number;
    } as;
};

union number {
    long whole;
    double real;
    const char* text;
};

union pair {
    struct {
        int a, b;
    } both;
    float half;
};

struct node gFirst = {1, {NULL}}, gSecond = {2, {&gFirst}};
union number gNegative = {.whole = -5}, gNan, gWild = {.whole = 0x500000001234};
union pair gPair = {.both = {0x3f800000, 6}};
union {
    float half;
    int whole;
} gMinusOne = {.whole = -1};

int main(void) {
    gFirst.as.next = &gSecond;
    gNan.real = NAN;
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
