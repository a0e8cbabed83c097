/* Counts at full speed. SIGUSR2 lets gChosen lead nowhere, or back to gRight; SIGUSR1 ends it with status 3. */
#include <stdio.h>
#include <string.h>

#include "told.h"

struct Voice {
    float freq;
    int note;
    char name[8];
};

struct Flips {
    long first;
    int halves[2];
    short quarters[4];
    signed char bytes[8];
    long rest[60];
};

struct Link {
    int value;
    struct Link* next;
};

int gTempo = 120;
int gRight = 7;
int* volatile gChosen = &gRight;
struct Voice gVoice = {440.5f, -7, "abc"};
struct Link gLinks[7] = {{1, &gLinks[1]}, {2, &gLinks[2]}, {3, &gLinks[3]}, {4, &gLinks[4]},
                         {5, &gLinks[5]}, {6, &gLinks[6]}, {7, gLinks}};
int gNinetyNine[99] = {1};
int gHundred[100] = {2};
int gHundredOne[101] = {3};
char gShort[1024], gLongest[1025], gTooLong[1026];  // 1,023 to 1,025 characters and a zero
char *gShortText = gShort, *gLongestText = gLongest, *gTooLongText = gTooLong;
char gBytes[65536 + 4096];
volatile long gCount;
volatile unsigned long gFlipping;
volatile struct Flips gFlips;

static void on_usr2(int signal_number) { gChosen = gChosen || !signal_number ? NULL : &gRight; }

/* All of its scalars 0, or all of them -1. */
static void flip(long value) {
    gFlips.first = value;
    for (int i = 0; i < 2; i++) gFlips.halves[i] = (int)value;
    for (int i = 0; i < 4; i++) gFlips.quarters[i] = (short)value;
    for (int i = 0; i < 8; i++) gFlips.bytes[i] = (signed char)value;
    for (int i = 0; i < 60; i++) gFlips.rest[i] = value;
}

static void fill(char* text, size_t size) { memset(text, 'x', size - 1); }

int main(void) {
    run_until_told();
    fill(gShort, sizeof gShort);
    fill(gLongest, sizeof gLongest);
    fill(gTooLong, sizeof gTooLong);
    fill(gBytes, sizeof gBytes);
    signal(SIGUSR2, on_usr2);
    puts("ready");
    fflush(stdout);
    while (!told) {
        gCount = gCount + 1;
        gFlipping = ~gFlipping;
        flip((long)gFlipping);
    }
    return 3;
}
