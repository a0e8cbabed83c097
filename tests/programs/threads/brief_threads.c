/* Says "ready" and creates threads that end at once, until it is ended. */
#include <pthread.h>
#include <stdio.h>

enum { AT_ONCE = 20 };

static void* live(void* value) { return value; }

int main(void) {
    puts("ready");
    fflush(stdout);
    while (1) {
        pthread_t threads[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            if (pthread_create(&threads[i], NULL, live, NULL)) return 1;
        }
        for (int i = 0; i < AT_ONCE; i++) {
            pthread_join(threads[i], NULL);
        }
    }
}
