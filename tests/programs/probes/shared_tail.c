/* Two paths that end alike: gcc keeps one copy of what they do, under the lines of the first. */
#include <stdio.h>

int hits;

__attribute__((noinline)) int note(const char* text) { return text[0] + hits; }

__attribute__((noinline)) int look(int kind, const char* text) {
    if (kind == 1) {
        if (text[0] == 'x') {
            hits++;
            return note(text);  // one
        }
    } else {
        if (text[1] == 'y') {  // asked
            hits++;
            return note(text);  // other
        }
    }
    return 0;
}

int main(void) {
    int sum = 0;
    for (int i = 0; i < 99; i++) sum += look(1 + i % 3, i % 2 ? "xy" : "ab");
    printf("%d\n", sum);
    return 0;
}
