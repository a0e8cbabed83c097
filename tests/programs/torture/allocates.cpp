// Containers and texts that grow and shrink, in two threads of their own memory, are passed on and checked.
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "torture.h"

struct Entry {
    std::string name;
    std::vector<int> numbers;
    std::shared_ptr<Entry> next;
};

std::map<std::string, long> gMap;
std::vector<std::string> gNames;
std::unordered_map<int, std::unique_ptr<Entry>> gTable;
std::atomic<bool> gStop{false};

TRACED long take(const Entry& entry, std::string_view name, const std::string& text) {
    return static_cast<long>(entry.numbers.size() + name.size() + text.size());
}

TRACED long churn(long number) {
    std::deque<std::string> queue;
    long sum = 0;
    for (int index = 0; index < 40; index++) {
        queue.push_back(std::string(static_cast<std::size_t>((number + index) % 60), 'x'));
        if (index % 3 == 2) {
            sum -= static_cast<long>(queue.front().size());
            queue.pop_front();
        }
        sum += static_cast<long>((number + index) % 60);
    }
    for (const auto& text : queue) sum -= static_cast<long>(text.size());
    return sum;  // 0
}

static void work() {
    for (long number = 0; !gStop; number++) {
        check("thread", churn(number), 0);
        char* block = static_cast<char*>(std::malloc(100));
        std::memset(block, 7, 100);
        block = static_cast<char*>(std::realloc(block, 100 + static_cast<std::size_t>(number % 50000)));
        check("block", block[99], 7);
        std::free(block);
        counted(number);
        wait_a_little(300);
    }
}

static long round_of(long number) {
    const std::string name = "name " + std::to_string(number % 100);
    gMap[name] = number;
    gNames.push_back(name);
    if (gNames.size() > 200) gNames.clear();
    auto entry = std::make_unique<Entry>();
    entry->name = name;
    entry->numbers.assign(static_cast<std::size_t>(number % 30), 1);
    entry->next = std::make_shared<Entry>();
    const long length = take(*entry, name, entry->next->name);
    check("lengths", length, number % 30 + static_cast<long>(name.size()));
    gTable[static_cast<int>(number % 64)] = std::move(entry);
    if (number % 101 == 0) gTable.clear();
    return churn(number) + gMap[name] * 3 + 7;
}

int main(int count, char** arguments) {
    std::thread thread(work);
    const int status = run_rounds(count, arguments, round_of);
    gStop = true;
    thread.join();
    std::printf("last counted %ld\n", gCounted);
    return status;
}
