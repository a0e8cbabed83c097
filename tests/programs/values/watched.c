/* What watches and deep arguments are read of: numbers, pointers, texts and structures that change at each call. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))

struct point {
    int x;
    double y;
};
struct node {
    int value;
    const char* name;
    struct node* next;
    struct point at;
    int list[3];
    unsigned low : 3, high : 5;
};
struct level5 {
    int five;
};
struct level4 {
    struct level5* next;
};
struct level3 {
    struct level4* next;
};
struct level2 {
    struct level3* next;
};
struct level1 {
    struct level2* next;
};
struct wide {
    char text[1100];
    int many[101];
    const char* pointed;
};
struct names {
    const char *a, *b, *c, *d;
};
enum mode { MODE_IDLE, MODE_PLAY = 7 };

int gTempo = 120;
double gLevel = 0.5;
enum mode gMode = MODE_IDLE;
char gLetter = 'a';
const char* gText = "hello";
char gName[8] = "abc";
struct node* gNode;
struct node gFirst = {.value = 1, .name = "first", .list = {1, 2, 3}, .low = 5, .high = 17};
struct level1* gLevels;
int* gWild = (int*)16;
_Thread_local int tOwn = 1;
_Thread_local char tText[8] = "text";
volatile long gCounter;
volatile int gStop;

TRACED int play(struct node* node, int by) {
    gTempo += by;
    gLevel *= 2;
    gMode = MODE_PLAY;
    gText = "bye";
    gNode = node;
    return node ? node->value : -1;
}
TRACED struct node* linked(int value, struct node* next) {
    struct node* node = calloc(1, sizeof *node);
    node->value = value;
    node->name = "made";
    node->next = next;
    node->at.x = 7;
    return node;
}
TRACED int descend(struct level1* one) { return one->next->next->next->next->five; }
TRACED int measure(const struct wide* wide) { return wide->many[100]; }
TRACED int name_all(const struct names* names) { return names->a == names->b; }
TRACED int wild(struct node* node) { return node != NULL; }
TRACED int own(int value) {
    tOwn += value;
    return tOwn;
}
static void* work(void* argument) {
    for (int turn = 0; turn < 3; turn++) own((int)(long)argument);
    return NULL;
}
TRACED long step(long value) { return gCounter = value; }

static void calls(void) {
    static struct level5 five = {5};
    static struct level4 four = {&five};
    static struct level3 three = {&four};
    static struct level2 two = {&three};
    static struct level1 one = {&two};
    static struct wide wide;
    static char pointed[1100];
    struct node* last = linked(2, NULL);
    gLevels = &one;
    gFirst.next = linked(3, last);
    last->next = &gFirst;
    play(&gFirst, 5);
    play(last, 10);
    play(NULL, 0);
    descend(&one);
    memset(wide.text, 'w', sizeof wide.text - 1);
    memset(pointed, 'p', sizeof pointed - 1);
    wide.pointed = pointed;
    wide.many[99] = 99;
    measure(&wide);
    name_all(&(struct names){pointed, pointed, pointed, pointed});
    wild((struct node*)16);
    wild((struct node*)-8);
    for (long value = 10; value <= 30; value += 10) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void*)value);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char** argv) {
    calls();
    if (argc > 1 && strcmp(argv[1], "loop") == 0)
        for (long value = 1; !gStop; value++) {
            step(value);
            usleep(20);
        }
    return tOwn - 1;
}
