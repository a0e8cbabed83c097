/* A call that lasts long enough for a watch to be added meanwhile; with AGAIN another one that goes on for ever. */
#include <unistd.h>

__attribute__((noinline)) int inner(int number) { return number + 1; }

__attribute__((noinline)) int outer(int given) {
#ifdef AGAIN
    for (int number = 0;; number++) {
        inner(number);
        usleep(1000);
    }
#else
    usleep(3000000);
#endif
    return given + 1;
}

int main(void) { return outer(42) == 43 ? 0 : 1; }
