/* A call that lasts until SIGUSR1, so that a watch can be added meanwhile; with AGAIN another one that is made for
 * ever.
 */
#include <signal.h>
#include <unistd.h>

volatile sig_atomic_t may_go_on;
void go_on(int number) { may_go_on = number; }

__attribute__((noinline)) int inner(int number) { return number + 1; }

__attribute__((noinline)) int outer(int given) {
#ifdef AGAIN
    for (int number = 0;; number++) {
        inner(number);
        usleep(1000);
    }
#else
    signal(SIGUSR1, go_on);
    while (!may_go_on) usleep(1000);
#endif
    return given + 1;
}

int main(void) { return outer(42) == 43 ? 0 : 1; }
