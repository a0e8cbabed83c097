// Which descriptors the program has, and what the next ones are. `closes`: it closes all of them first, as daemons do,
// and then finds in those that it opens what it has written there.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 64  // Frida's are above
#define ROUNDS 200

static volatile int sum;

__attribute__((noinline)) int work(int number) {
    sum += number;
    return number + 1;
}

int main(int count, char** arguments) {
    const int closes = count > 1 && strcmp(arguments[1], "closes") == 0;
    int pair[2], right = 0;
    if (closes) syscall(SYS_close_range, 3, ~0u, 0);
    for (int i = 3; i < MOST; i++)
        if (fcntl(i, F_GETFD) >= 0) printf("has %d\n", i);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
    printf("next are %d and %d\n", pair[0], pair[1]);
    for (int i = 0; i < ROUNDS; i++) {
        char byte = (char)i, found = 0;
        work(i);
        if (write(pair[0], &byte, 1) != 1) return 2;
        usleep(100);  // whoever else reads there may do so
        right += read(pair[1], &found, 1) == 1 && found == byte;
    }
    printf("%d right\n", right);
    return 0;
}
