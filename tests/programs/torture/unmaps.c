/* Passes pointers on that nobody follows, while another thread unmaps, protects and moves what they lead to. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "torture.h"

struct node {
    struct node* next;
    const char* name;
    long value;
};

struct node* volatile gNode;
char* volatile gPassing;
static volatile int stop;

TRACED long take_text(const char* text) { return text != NULL; }
TRACED long take_node(const struct node* node) { return node != NULL; }

static void* unmap_again_and_again(void* unused) {
    for (long number = 0; !stop; number++) {
        const size_t bytes = number % 4 == 3 ? 65536 : 8192;
        char* page = (char*)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct node* node = (struct node*)(page + 4096 + 64);
        strcpy(page + 4090, "hello across pages");
        node->next = node;
        node->name = page + 4090;
        node->value = number;
        gPassing = page + 4090;
        gNode = node;
        if (number % 4 == 1) mprotect(page + 4096, 4096, PROT_NONE);
        if (number % 4 == 2) madvise(page, 8192, MADV_DONTNEED);
        if (number % 4 == 3) page = (char*)mremap(page, 8192, bytes, MREMAP_MAYMOVE);
        if (number % 8 == 0) wait_a_little(100);
        if (page != MAP_FAILED) munmap(page, bytes);
        counted(number);
    }
    return unused;
}

static long round_of(long number) {
    long taken = 0;
    for (int turn = 0; turn < 100; turn++) taken += take_text(gPassing) + take_node(gNode);
    return 3 * number + 7 + taken - 200;
}

int main(int count, char** arguments) {
    pthread_t thread;
    pthread_create(&thread, NULL, unmap_again_and_again, NULL);
    while (gNode == NULL) wait_a_little(100);
    const int status = run_rounds(count, arguments, round_of);
    stop = 1;
    pthread_join(thread, NULL);
    printf("last counted %ld\n", gCounted);
    return status;
}
