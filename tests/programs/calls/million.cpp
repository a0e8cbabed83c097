// counted::f is called exactly 1,000,000 times, from 4 threads; counted::once exactly once in each.
#include <cstdio>
#include <thread>
#include <vector>

namespace counted {
__attribute__((noinline)) long f(long value, int thread) {
    asm volatile("" : "+r"(value));
    return value + thread;
}

__attribute__((noinline)) void once(int thread, long* sum) {
    for (long value = 0; value < 250000; value++) *sum += f(value, thread);
}
}  // namespace counted

int main() {
    long sums[4] = {};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; thread++) threads.emplace_back(counted::once, thread, &sums[thread]);
    for (auto& thread : threads) thread.join();
    std::printf("%ld\n", sums[0] + sums[1] + sums[2] + sums[3]);
}
