// Beats five times a second, for a minute at most, until its standard input ends: something to read, watch and write
// while it runs (docs/command-line.md).
#include <poll.h>

struct Voice {
    double freq;
    int note;
    const char* name;
};

struct Bar {
    int number;
    struct Voice* voice;
};

int gTempo = 120;
int gBeat = 0;
struct Voice gVoice = {440.0, 69, "lead"};
struct Bar gBar = {1, &gVoice};

/* Gives the number of the bar that the beat belongs to. */
int beat(struct Bar* bar, int number) {
    bar->voice->freq = 440.0 + number % 5;
    if (number % 8 == 0) gTempo++;
    return bar->number = 1 + number / 4;
}

int main(void) {
    struct pollfd input = {0, POLLIN, 0};
    while (gBeat < 300 && poll(&input, 1, 200) == 0) beat(&gBar, ++gBeat);
    return 0;
}
