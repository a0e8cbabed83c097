/* Calls that are all alike, with structures of which most is zero; says where they lie. */
#include <stdio.h>

struct item {
    int key;
    int count;
    struct item* next;
};

struct pool {
    int used;
    struct item first;
    struct item second;
    struct item* chosen;
    int marks[40];
};

struct pool pool = {2, {7, 1, NULL}, {0, 0, NULL}, NULL, {0}};
struct pool spare;

__attribute__((noinline)) int look(struct pool* at, int times) {
    __asm__ volatile("" : : "r"(at), "r"(times) : "memory");
    return at->used * 3 + times;
}

__attribute__((noinline)) struct item* choose(struct pool* at) {
    at->chosen = &at->first;
    return at->chosen;
}

__attribute__((noinline)) void drop(struct item* one) { one->count = 0; }

int main(void) {
    int times;
    for (times = 0; times < 100; times++) look(&spare, 3);
    for (times = 0; times < 30; times++) look(choose(&pool) ? &pool : &spare, 4);
    drop(pool.chosen);
    printf("%p %p\n", (void*)&pool.first, (void*)&pool);
    return 0;
}
