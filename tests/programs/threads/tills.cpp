// Tills post sales, each in a thread of its own, the same in every run but for what the first argument says. The
// second: how many tills there are, the third one that begins last.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace tills {

static const char* how = "";

static bool is(const char* word) { return std::strcmp(how, word) == 0; }

__attribute__((noinline)) int charge(const char* code, const int* cents) {
    asm volatile("" ::: "memory");
    return static_cast<int>(std::strlen(code)) + *cents;
}

__attribute__((noinline)) void audit(int number) { asm volatile("nop; nop; nop; nop; nop" : : "r"(number) : "memory"); }

__attribute__((noinline)) int post(int number) {
    int cents = 100 + number;
    int sum = charge(is("code") && number == 7 ? "0x1234" : "0x10", &cents);
    if (is("audits") && number == 5) audit(number);
    return sum;
}

__attribute__((noinline)) void work(int sales) {
    for (int number = 0; number < sales; ++number) post(number);
}

}  // namespace tills

int main(int argc, char** argv) {
    int count = argc > 2 ? std::atoi(argv[2]) : 1, last = argc > 3 ? std::atoi(argv[3]) : count - 1;
    std::vector<std::thread> threads;
    tills::how = argc > 1 ? argv[1] : "";
    for (int place = 0; place < count; ++place) {
        int till = (last + 1 + place) % count;
        threads.emplace_back([till] {
            pthread_setname_np(pthread_self(), ("till-" + std::to_string(till)).c_str());
            tills::work(10 + till);
        });
        threads.back().join();
    }
    std::puts("posted");
    std::fflush(stdout);
    if (tills::is("goes-on")) pause();
    return 0;
}
