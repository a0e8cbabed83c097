// Three tills book amounts into accounts, each on a thread of its own. One call of many has a negative amount: the
// refund of till-3. `ledger CALLS [until|crash|serve]`: CALLS of each till; then it waits until told, ends by a signal,
// or goes on booking, one call each 10 ms, until told.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "told.h"

namespace shop {

enum Kind { SALE = 1, REFUND = 2 };

struct Account {
    int number;
    long cents;
    const char* owner;
    const char* what;
    int last[4];
};

long booked;

__attribute__((noinline)) bool allowed(Kind kind, long cents) { return kind == SALE ? cents >= 0 : cents > -500; }

__attribute__((noinline)) long book(Account* account, long cents, const char* what) {
    const Kind kind = cents < 0 ? REFUND : SALE;
    account->what = what;
    if (!allowed(kind, cents)) return -1;
    account->cents += cents;
    account->last[account->number & 3] = static_cast<int>(cents);
    __atomic_fetch_add(&booked, 1, __ATOMIC_RELAXED);
    return account->cents;
}

__attribute__((noinline)) double rate(double share, const std::string& name) { return name.size() * share; }

__attribute__((noinline)) void fail(const char* why) {
    fprintf(stderr, "failed: %s\n", why);
    abort();
}

void till(int number, int calls) {
    char name[16];
    snprintf(name, sizeof name, "till-%d", number);
    pthread_setname_np(pthread_self(), name);
    Account account = {number, 0, name, "", {}};
    for (int i = 1; i <= calls; i++) {
        const bool is_odd = number == 3 && i == calls / 2;
        book(&account, is_odd ? -42 : i, is_odd ? "refund" : "bread");
    }
}

}  // namespace shop

int main(int argc, char** argv) {
    const int calls = argc > 1 ? atoi(argv[1]) : 1000;
    const char* mode = argc > 2 ? argv[2] : "";
    setvbuf(stdout, nullptr, _IOLBF, 0);
    run_until_told();
    puts("open");
    std::vector<std::thread> tills;
    for (int number = 1; number <= 3; number++) tills.emplace_back(shop::till, number, calls);
    for (auto& one : tills) one.join();
    printf("rate %.1f\n", shop::rate(0.5, "december"));
    printf("booked %ld\n", shop::booked);
    if (!strcmp(mode, "crash")) shop::fail("drawer is stuck");
    if (!strcmp(mode, "until")) {
        while (!told) usleep(1000);
    }
    if (!strcmp(mode, "serve")) {
        shop::Account account = {9, 0, "served", "", {}};
        while (!told) {
            shop::book(&account, 7, "milk");
            usleep(10000);
        }
    }
    return shop::booked == 3L * calls ? 3 : 4;
}
