// Orders that are found by their numbers; some have no name, and some no reference.
#include <cstdio>
#include <cstring>
#include <string>

struct Order {
    char id[16];
    const char* reference;
    std::string note;
    Order* next;
};

static Order orders[3];

__attribute__((noinline)) static int book(const char* name, int number, int cents) {
    const int booked = orders[number % 3].id[0] == 'a' ? cents : -cents;
    return booked + (name != nullptr);  // booked
}

static volatile int seen;

__attribute__((noinline)) static int in_euros(int cents) {
    const int euros = (cents + 50) / 100;
    __asm__ volatile("" : : : "rdi");  // given
    seen = euros;                      // only the caller's register had cents
    return euros;
}

int main() {
    const char* const ids[] = {"a-1", "a-2", "b-3"};
    for (int i = 0; i < 3; i++) {
        std::strcpy(orders[i].id, ids[i]);
        orders[i].reference = i == 1 ? nullptr : ids[i];
        orders[i].note = std::string(10 * i, 'x') + ids[i];
        orders[i].next = i == 2 ? nullptr : &orders[i + 1];
    }
    int sum = 0;
    for (int i = 0; i < 6; i++) sum += book(i % 2 ? nullptr : "till", i, i);
    std::printf("%d %d\n", sum, in_euros(sum + 405));
}
