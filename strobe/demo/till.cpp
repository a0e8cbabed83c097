#include "till.hpp"

#include <chrono>
#include <random>
#include <thread>

#include "ledger.hpp"
#include "pricing.hpp"

namespace till {

int settle(int article, int quantity) {
    int cents = pricing::quote(article, quantity);
    ledger::post(article, cents);
    return cents;
}

long serve(int number, int customers) {
    std::minstd_rand random(number);
    long drawer = 0;
    for (int i = 0; i < customers; ++i) {
        int article = random() % 8;
        bool restaurant = random() % 120 == 0;
        int quantity = 1 + random() % (restaurant ? 40 : 20);
        drawer += settle(article, quantity);
        if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return drawer;
}

}  // namespace till
