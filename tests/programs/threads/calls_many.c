/* 4,096 functions, and a hundred threads that call the last of them all the time. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 100
#define ONE(n)                                           \
    __attribute__((noinline)) int many_##n(int number) { \
        __asm__ volatile("" : "+r"(number));             \
        return number + 0x##n;                           \
    }
/* clang-format off */
#define SIXTEEN(n, do) \
    do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7) \
    do(n##8) do(n##9) do(n##a) do(n##b) do(n##c) do(n##d) do(n##e) do(n##f)
#define TENS(n) ONES(n##0) ONES(n##1) ONES(n##2) ONES(n##3) ONES(n##4) ONES(n##5) ONES(n##6) ONES(n##7) \
    ONES(n##8) ONES(n##9) ONES(n##a) ONES(n##b) ONES(n##c) ONES(n##d) ONES(n##e) ONES(n##f)
#define ONES(n) SIXTEEN(n, ONE)
TENS(0) TENS(1) TENS(2) TENS(3) TENS(4) TENS(5) TENS(6) TENS(7)
TENS(8) TENS(9) TENS(a) TENS(b) TENS(c) TENS(d) TENS(e) TENS(f)
    /* clang-format on */

    static void* call(void* none) {
    while (1) {
        many_fff(1);
        usleep(20000);
    }
    return none;
}

int main(void) {
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, call, NULL);
    }
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
