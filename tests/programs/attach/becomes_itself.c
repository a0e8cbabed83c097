/* At SIGUSR1 it makes itself anew, by the kernel's own call, and then fills the memory below its libraries. At the end
 * of its input it says whether all of that is still its own. `becomes_itself wipes`: instead, it clears the random
 * bytes that the kernel has given it, as Go's runtime does, and gives up the time stamp counter. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kBytes = 1 << 20, kPage = 4096 };

extern char** environ;
static volatile sig_atomic_t is_asked;

static void ask(int signal) {
    (void)signal;
    is_asked = 1;
}

static int fill(void) {
    char* memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    puts("filled");
    fflush(stdout);
    while (getchar() != EOF) continue;
    static unsigned char pages[kBytes / kPage];
    puts(mincore(memory, kBytes, pages) == 0 ? "kept" : "unmapped");
    return 7;
}

static int wipe(void) {
    memset((void*)getauxval(AT_RANDOM), 0, 16);
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    puts("wiped");
    fflush(stdout);
    while (getchar() != EOF) continue;
    return 7;
}

int main(int count, char** arguments) {
    const int wipes = count > 1 && strcmp(arguments[1], "wipes") == 0;
    if (count > 1 && !wipes) return fill();
    signal(SIGUSR1, ask);
    puts("ready");
    fflush(stdout);
    alarm(60);
    while (!is_asked) usleep(1000);
    if (wipes) return wipe();
    char* again[] = {"becomes_itself", "again", NULL};
    syscall(SYS_execve, "/proc/self/exe", again, environ);
    return 1;
}
