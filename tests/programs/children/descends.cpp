/* Each child forks the next one in the middle of its calls, and then leaves all that are open by returns, or by an
   exception where there is a second argument: its own calls, and those of every process that it descends from. */
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

static int generation;
static pid_t child;

struct Left {
    int value;
};

__attribute__((noinline)) int leaf(int value, bool throws) {
    if (throws) throw Left{value};
    return value;
}

__attribute__((noinline)) int nest(int depth, int left, bool throws) {
    if (depth > 0) return nest(depth - 1, left, throws) + 1;
    if (left > 0) {
        child = fork();
        if (child == 0) {
            generation++;
            return nest(2, left - 1, throws) + 100;
        }
    }
    return leaf(generation, throws);
}

__attribute__((noinline)) int run(int left, bool throws) {
    try {
        return nest(3, left, throws);
    } catch (const Left& thrown) {
        return leaf(1000 + thrown.value, false);
    }
}

int main(int count, char** arguments) {
    const int value = run(std::atoi(arguments[1]), count > 2);
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    std::printf("generation %d: %d, its child %d\n", generation, value, status);
    std::fflush(stdout);
    return generation;
}
