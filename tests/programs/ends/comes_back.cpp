// Calls that are left by an exception, or by longjmp: `comes_back throws`, `comes_back jumps`. What is called next, by
// a function that is not traced and has much on its stack, lies further down than what was left.
#include <csetjmp>
#include <cstdio>
#include <cstring>

static std::jmp_buf back;
static bool throws;
volatile int sink;

__attribute__((noinline)) int called_next(int number) { return number + sink; }

__attribute__((noinline)) void leaves(int depth) {
    volatile char room[64];
    room[0] = 1;
    if (depth == 0 && throws) throw 1;
    if (depth == 0) std::longjmp(back, 1);
    leaves(depth - 1);
    sink = sink + room[0];
}

__attribute__((noinline)) int between(int number) {
    volatile char room[4096];
    room[0] = static_cast<char>(number);
    return called_next(number) + room[0];
}

__attribute__((noinline)) int comes_back(int number) {
    if (throws) {
        try {
            leaves(3);
        } catch (int) {
        }
    } else if (!setjmp(back)) {
        leaves(3);
    }
    return between(number);
}

int main(int, char** argv) {
    long sum = 0;
    throws = !std::strcmp(argv[1], "throws");
    for (int number = 0; number < 100; number++) sum += comes_back(number);
    std::printf("sum %ld\n", sum);
    return 0;
}
