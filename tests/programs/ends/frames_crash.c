/* Reads from nowhere, below functions with variables of several kinds, one of them inlined. */
#include <stdlib.h>

struct item {
    int number;
    char name[8];
    const struct item* next;
};

volatile int zero;

__attribute__((noinline)) static int last_of(const struct item* item, short steps) {
    unsigned char left = (unsigned char)(steps + 1);
    long sum = 1000000007;
    while (left-- > zero) {
        sum += item->number;
        item = left ? item : item->next;
    }
    return item->number + (int)sum;
}

static inline __attribute__((always_inline)) int twice(const struct item* item, int times) {
    int found = times * 3;
    found += last_of(item, (short)(times + zero));
    return found + times;
}

__attribute__((noinline)) static int look(int count) {
    struct item list[2] = {{1, "one", NULL}, {7, "seven", NULL}};
    unsigned long long large = 1ull << 40;
    int result = count * 11;
    list[0].next = &list[1];
    result += twice(list[0].next, count);
    return result + (int)(large >> 38) + list[zero].number;
}

int main(int argc, char** argv) {
    int count = argc > 1 ? atoi(argv[1]) : 1;
    return look(count) + count;
}
