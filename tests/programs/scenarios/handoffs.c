// One thread makes blocks, another one gives them back after a while that differs: block `number` is given back by the
// worker if it is odd, by the maker if it is even; one in four comes 60 ms late.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 16 };

typedef struct {
    int number;
    int size;
} Block;

static Block blocks[BLOCKS];
static Block* handed;

__attribute__((noinline)) static Block* obtain(int number) {
    blocks[number].number = number;
    blocks[number].size = 10 * number;
    return &blocks[number];
}

__attribute__((noinline)) static void give_back(Block* block, int room) { block->size = room; }

static void* work(void* none) {
    give_back(handed, handed->size + 5);
    return none;
}

int main(void) {
    for (int number = 0; number < BLOCKS; number++) {
        handed = obtain(number);
        if (number % 4 == 3) nanosleep(&(struct timespec){.tv_nsec = 60 * 1000 * 1000}, 0);
        pthread_t worker;
        if (number % 2 == 0) {
            give_back(handed, handed->size - 1);
        } else {
            pthread_create(&worker, 0, work, 0);
            pthread_join(worker, 0);
        }
    }
    return 0;
}
