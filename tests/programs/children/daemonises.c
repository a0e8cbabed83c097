/* Becomes a daemon: forks twice, is a session of its own, closes its streams. Then it works, a step for each byte that
   comes through the pipe called argv[1], until there are no more writers. It writes its id into the file argv[2],
   and at the end how many steps it did.
   With argv[3] it is not a daemon but a child that keeps its streams, and says a line for each step. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int steps;

__attribute__((noinline)) int step(int number) {
    steps += number;
    return steps;
}

__attribute__((noinline)) void work(const char* pipe, int talks) {
    char byte;
    int commands = open(pipe, O_RDONLY);
    while (read(commands, &byte, 1) == 1) {
        step(1);
        if (talks) dprintf(1, "step %d\n", steps);
    }
    close(commands);
}

__attribute__((noinline)) void tell(const char* path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dprintf(file, "%d\n", getpid());
    close(file);
}

static void say_what_was_done(const char* path) {
    int file = open(path, O_WRONLY | O_APPEND);
    dprintf(file, "did %d\n", steps);
    close(file);
}

static void become_daemon(void) {
    if (fork() != 0) exit(3);
    setsid();
    if (fork() != 0) _exit(0);
    for (int stream = 0; stream < 3; stream++) close(stream);
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    if (argc == 3)
        become_daemon();
    else if (fork() != 0)
        return 3;
    tell(argv[2]);
    work(argv[1], argc > 3);
    say_what_was_done(argv[2]);
    return 0;
}
