// Two threads, each with slots of its own, store every value twice; every third one is spoilt before it is looked up.
#include <pthread.h>

enum { KEYS = 20 };

static __thread int slots[KEYS];

__attribute__((noinline)) static void store(int key, int value) { slots[key] = value; }
__attribute__((noinline)) static void spoil(int key) { slots[key] = -1; }
__attribute__((noinline)) static int lookup(int key) { return slots[key]; }

static void* work(void* wrong) {
    for (int key = 0; key < KEYS; key++) {
        store(key, 10 * key + 1);
        store(key, 10 * key + 2);
    }
    for (int key = 0; key < KEYS; key++) {
        if (key % 3 == 0) spoil(key);
        if (lookup(key) < 0) ++*(int*)wrong;
    }
    return wrong;
}

int main(void) {
    pthread_t threads[2];
    int wrong[2] = {0, 0};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, &wrong[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return wrong[0] + wrong[1] != 14;
}
