// Items are weighed and put into bins, the same way in every run; a second thread counts along. With another limit one
// item goes elsewhere, from then on all totals differ. Arguments: the limit of a bin, how many items.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace bins {

struct Item {
    int number;
    int weight;
    const Item* previous;
};

struct Bin {
    int used = 0;
    int items = 0;
};

__attribute__((noinline)) int weigh(const Item* item, int factor) {
    asm volatile("" ::: "memory");
    return item->weight * factor;
}

__attribute__((noinline)) bool fits(const Bin* bin, int weight, int limit) {
    asm volatile("" ::: "memory");
    return bin->used + weight <= limit;
}

__attribute__((noinline)) void put(Bin* bin, int weight) {
    asm volatile("" ::: "memory");
    bin->used += weight;
    ++bin->items;
}

__attribute__((noinline)) void reject(const Item* item) {
    asm volatile("" ::: "memory");
    std::printf("rejected %d\n", item->number);
}

__attribute__((noinline)) int tick(int count) {
    asm volatile("nop; nop; nop; nop" ::: "memory");
    return count + 1;
}

__attribute__((noinline)) void fill(Bin* bin, const std::vector<std::unique_ptr<Item>>& items, int limit) {
    for (const auto& item : items) {
        int weight = weigh(item.get(), 2);
        if (fits(bin, weight, limit)) {
            put(bin, weight);
        } else {
            reject(item.get());
        }
    }
}

}  // namespace bins

int main(int argc, char** argv) {
    int limit = argc > 1 ? std::atoi(argv[1]) : 1000;
    int count = argc > 2 ? std::atoi(argv[2]) : 100;
    std::vector<std::unique_ptr<bins::Item>> items;
    for (int number = 0; number < count; ++number) {
        items.push_back(std::make_unique<bins::Item>(
            bins::Item{number, 1 + number * 7 % 10, number ? items.back().get() : nullptr}));
    }
    std::thread clock([count] {
        pthread_setname_np(pthread_self(), "clock");
        int ticks = 0;
        while (ticks < count) ticks = bins::tick(ticks);
    });
    bins::Bin bin;
    bins::fill(&bin, items, limit);
    clock.join();
    std::printf("%d items, %d\n", bin.items, bin.used);
    return 0;
}
