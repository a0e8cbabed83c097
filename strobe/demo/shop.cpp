// A shop with three tills, each a thread. Every customer is served, nothing fails, no sanitizer complains: and in the
// evening the books do not agree with the drawers. `strobe demo` finds the customer with whom it went wrong.

#include <pthread.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "ledger.hpp"
#include "till.hpp"

namespace shop {

constexpr int kTills = 3;
constexpr int kCustomers = 1500;

long open_day() {
    std::vector<long> drawers(kTills);
    std::vector<std::thread> tills;
    for (int number = 1; number <= kTills; ++number) {
        tills.emplace_back([&drawers, number] {
            pthread_setname_np(pthread_self(), ("till-" + std::to_string(number)).c_str());
            drawers[number - 1] = till::serve(number, kCustomers);
        });
    }
    long taken = 0;
    for (int number = 1; number <= kTills; ++number) {
        tills[number - 1].join();
        std::printf("till %d: %d customers, %.2f in the drawer\n", number, kCustomers, drawers[number - 1] / 100.0);
        taken += drawers[number - 1];
    }
    return taken;
}

/// What the books lack, in cents.
long close_day(long taken) { return taken - ledger::balance(); }

}  // namespace shop

int main() {
    long taken = shop::open_day();
    long missing = shop::close_day(taken);
    std::printf("evening: %.2f taken, the books lack %.2f\n", taken / 100.0, missing / 100.0);
    return missing == 0 ? 0 : 1;
}
