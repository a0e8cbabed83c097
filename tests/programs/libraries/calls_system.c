// Calls functions of the C library: some of them exported, one chosen by the CPU when the program starts.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int by_value(const void* one, const void* other) { return *(const int*)one - *(const int*)other; }

int main(int count, char** arguments) {
    int* numbers = malloc(7919 * sizeof(int));
    for (int i = 0; i < 7919; ++i) numbers[i] = (7919 - i) * count;
    pthread_mutex_lock(&lock);
    qsort(numbers, 7919, sizeof(int), by_value);
    pthread_mutex_unlock(&lock);
    char text[64];
    memcpy(text, arguments[0], strlen(arguments[0]) < 60 ? strlen(arguments[0]) : 60);
    printf("%d %d\n", numbers[0], text[0] == arguments[0][0]);
    free(numbers);
    return 0;
}
