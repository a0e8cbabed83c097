// visit(key) returns 2 * key, for 20 keys twice, or as often as is said; but key 7 is left by an exception each time,
// and in key 19 the last time the program ends by exit, by a fault, or waits to be ended: "exit", "crash", "wait".
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static const char* how;
static int left = 2;

__attribute__((noinline)) int visit(int key) {
    if (key == 7) throw std::runtime_error("seven");
    if (key == 19 && left == 1) {
        if (!strcmp(how, "exit")) exit(0);
        if (!strcmp(how, "crash")) *(volatile int*)8 = key;
        puts("waits");
        fflush(stdout);
        for (;;) pause();
    }
    return 2 * key;
}

__attribute__((noinline)) int noted(int key) {
    static int sum;
    sum += key;
    return sum;
}

int main(int count, char** arguments) {
    how = arguments[1];
    if (count > 2) left = atoi(arguments[2]);
    int sum = 0;
    for (; left > 0; --left)
        for (int key = 0; key < 20; ++key) {
            sum += noted(key);
            try {
                sum += visit(key);
            } catch (const std::runtime_error&) {
            }
        }
    return sum == 0;
}
