/* `fails_at FILE RUN HOW`: counts in the file how often it was run. At that run it aborts, or waits for ever with
 * "hang". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static int run(int number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}

int main(int count, char** arguments) {
    int number = 0;
    if (count < 4) return 2;
    FILE* file = fopen(arguments[1], "r");
    if (file && fscanf(file, "%d", &number) != 1) return 2;
    if (file) fclose(file);
    number = run(number);
    file = fopen(arguments[1], "w");
    if (!file) return 2;
    fprintf(file, "%d", number);
    fclose(file);
    if (number != atoi(arguments[2])) return 0;
    while (strcmp(arguments[3], "hang") == 0) pause();
    abort();
}
