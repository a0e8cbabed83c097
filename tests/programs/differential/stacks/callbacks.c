/* Functions that libraries call: qsort, bsearch, atexit, on_exit, pthread_once, tree walks, stream cookies. */
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACED __attribute__((noinline))

static int compared;
static long walked;
static void* tree;

TRACED int compare(const void* a, const void* b) {
    compared++;
    return *(const int*)a - *(const int*)b;
}
TRACED void visit(const void* node, VISIT which, int depth) {
    if (which == postorder || which == leaf) walked = walked * 3 % 1000003 + **(int* const*)node + depth;
}
TRACED ssize_t cookie_write(void* cookie, const char* bytes, size_t count) {
    long* total = cookie;
    for (size_t i = 0; i < count; i++) *total += bytes[i];
    return (ssize_t)count;
}
TRACED void at_exit(void) { puts("at exit"); }
TRACED void on_exit_too(int status, void* text) { printf("on exit %d %s\n", status, (char*)text); }
TRACED void once(void) { puts("once"); }
TRACED void drop(void* node) { walked += *(int*)node; }

int main(void) {
    int values[500], *found;
    long written = 0;
    pthread_once_t flag = PTHREAD_ONCE_INIT;
    for (int i = 0; i < 500; i++) values[i] = i * 7919 % 500;
    qsort(values, 500, sizeof *values, compare);
    found = bsearch(&values[123], values, 500, sizeof *values, compare);
    for (int i = 0; i < 500; i++) tsearch(&values[i * 13 % 500], &tree, compare);
    twalk(tree, visit);
    tdestroy(tree, drop);
    FILE* stream = fopencookie(&written, "w", (cookie_io_functions_t){.write = cookie_write});
    for (int i = 0; i < 1000; i++) fprintf(stream, "line %d\n", i);
    fclose(stream);
    for (int i = 0; i < 3; i++) pthread_once(&flag, once);
    atexit(at_exit);
    on_exit(on_exit_too, "argument");
    printf("%td %d %ld %ld\n", found - values, compared, walked, written);
    return 9;
}
