// Lets no other process read it. Prints "ready", then waits.
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

struct Node {
    int value;
    struct Node* next;
};
struct Node gSecond = {2, NULL};
struct Node gFirst = {1, &gSecond};
int gTempo = 120;
const char* gTitle = "hello";
struct Node* gWild = (struct Node*)0x10;
__thread int gLocal = 5;

int main(void) {
    prctl(PR_SET_DUMPABLE, 0);
    printf("ready %d\n", gLocal);
    fflush(stdout);
    pause();
}
