// Passes pointers on that nobody follows, while another thread unmaps what they lead to: most of the time as fast as it
// can, but now and then calls come while it is there, and while it is gone, however the threads run.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct node {
    struct node* next;
    const char* name;
    int value;
};

struct node* volatile gNode;
char* volatile gText;
static volatile int stop;
static volatile long passed;

__attribute__((noinline)) int take_text(const char* text) {
    __asm__ volatile("" ::"r"(text));
    return text != NULL;
}

__attribute__((noinline)) int take_node(const struct node* node) {
    __asm__ volatile("" ::"r"(node));
    return node != NULL;
}

static void wait_for_calls(void) {
    const long before = passed;
    while (!stop && passed < before + 3) continue;
}

static void* unmap_again_and_again(void* unused) {
    (void)unused;
    for (long round = 0; !stop; round++) {
        const int waits = round % 1000 == 0;
        char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        struct node* node = (struct node*)(page + 4096);
        strcpy(page + 4090, "hello");
        memcpy(page + 4095, " world", 7);
        node->next = node;
        node->name = page;
        node->value = 7;
        gText = page + 4090;
        gNode = node;
        if (waits) wait_for_calls();
        munmap(page, 8192);
        if (waits) wait_for_calls();
    }
    return NULL;
}

int main(int count, char** arguments) {
    const long calls = count > 1 ? atol(arguments[1]) : 100000;
    long taken = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, unmap_again_and_again, NULL);
    while (gNode == NULL) continue;
    for (; passed < calls; passed++) taken += take_text(gText) + take_node(gNode);
    stop = 1;
    pthread_join(thread, NULL);
    printf("taken %ld\n", taken);
    return 0;
}
