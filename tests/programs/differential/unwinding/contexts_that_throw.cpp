// Exceptions thrown and caught inside of coroutines on stacks of their own, with others in the middle of theirs.
#include <ucontext.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#define TRACED [[gnu::noinline]]
enum { COROUTINES = 4, STACK_BYTES = 65536, ROUNDS = 50 };

static ucontext_t scheduler, contexts[COROUTINES];
static long sums[COROUTINES], destroyed;

struct Guard {
    TRACED ~Guard() { destroyed++; }
};
TRACED void yield(int self) { swapcontext(&contexts[self], &scheduler); }
TRACED void fails(int self, int round) {
    Guard guard;
    yield(self);
    if (round % 2) throw std::runtime_error("odd");
}
TRACED long tries(int self, int round) {
    Guard guard;
    try {
        fails(self, round);
        return 1;
    } catch (const std::runtime_error&) {
        yield(self);
        return 100;
    }
}
TRACED void body(int self) {
    for (int round = 0; round < ROUNDS; round++) sums[self] += tries(self, round + self);
}
TRACED void resume(int self) { swapcontext(&scheduler, &contexts[self]); }

int main() {
    std::vector<std::unique_ptr<char[]>> stacks;
    for (int i = 0; i < COROUTINES; i++) {
        stacks.push_back(std::make_unique<char[]>(STACK_BYTES));
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i].get();
        contexts[i].uc_stack.ss_size = STACK_BYTES;
        contexts[i].uc_link = &scheduler;
        makecontext(&contexts[i], reinterpret_cast<void (*)()>(body), 1, i);
    }
    for (int round = 0; round <= ROUNDS * 3 / 2; round++)
        for (int i = 0; i < COROUTINES; i++) resume(i);
    std::printf("%ld %ld %ld %ld %ld\n", sums[0], sums[1], sums[2], sums[3], destroyed);
}
