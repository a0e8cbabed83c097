/* Counts at full speed. SIGUSR2 lets gChosen lead nowhere, or back to gRight; SIGUSR1 ends it with status 3. */
#include <stdio.h>

#include "told.h"

struct Voice {
    float freq;
    int note;
    char name[8];
};

int gTempo = 120;
int gRight = 7;
int* volatile gChosen = &gRight;
struct Voice gVoice = {440.5f, -7, "abc"};
volatile long gCount;
volatile unsigned long gFlipping;

static void on_usr2(int signal_number) { gChosen = gChosen || !signal_number ? NULL : &gRight; }

int main(void) {
    run_until_told();
    signal(SIGUSR2, on_usr2);
    puts("ready");
    fflush(stdout);
    while (!told) {
        gCount = gCount + 1;
        gFlipping = ~gFlipping;
    }
    return 3;
}
