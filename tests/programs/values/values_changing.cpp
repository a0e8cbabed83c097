// Containers that a thread changes all the time, and gStill, which stays as it is.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

std::map<int, int> gMap, gStill;
std::unordered_map<int, int> gTable;
std::list<std::string> gList;
std::deque<int> gDeque;
std::vector<std::string> gVector;
std::shared_ptr<std::vector<int>> gShared;
std::atomic<long> gRounds;

static void change(unsigned round) {
    const int key = static_cast<int>(round * 2654435761u % 300);
    if (!gMap.erase(key)) gMap[key] = 10 * key;
    if (!gTable.erase(key)) gTable[key] = 10 * key;
    gList.push_back(std::string(round % 40, 'x'));
    if (gList.size() > 50) gList.pop_front();
    gDeque.push_front(key);
    if (gDeque.size() > 500) gDeque.resize(3);
    gVector.push_back(std::string(round % 30, 'y'));
    if (gVector.size() > 200) gVector = {};
    gShared = std::make_shared<std::vector<int>>(round % 9, key);
}

int main() {
    for (int number = 0; number < 100; number++) gStill[number] = 10 * number;
    std::thread([] {
        for (unsigned round = 0;; round++) {
            change(round);
            gRounds = round;
        }
    }).detach();
    std::puts("ready");
    std::fflush(stdout);
    pause();
}
