// Rows of elements, and containers that are large: slices and what a call has changed.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Node {
    int id;
    const char* name;
};

struct Pool {
    Node* nodes = nullptr;
    int capacity = 0, used = 0;
    int recent[6] = {};
    std::vector<Node> spare;
    std::map<std::string, int> places;

    __attribute__((noinline)) void grow(int to);
    __attribute__((noinline)) int add(const char* name);
};

void Pool::grow(int to) {
    nodes = static_cast<Node*>(realloc(nodes, to * sizeof(Node)));
    for (int i = capacity; i < to; ++i) nodes[i] = {-1, "free"};
    capacity = to;
}

int Pool::add(const char* name) {
    nodes[used] = {used, name};
    recent[used % 6] = used;
    spare.push_back(nodes[used]);
    places[name + std::to_string(used)] = used;
    return used++;
}

struct Large {
    char bytes[56];
};

__attribute__((noinline)) int total(const std::vector<Large>& all) { return static_cast<int>(all.size()); }

int main() {
    Pool pool;
    pool.grow(4);
    for (int i = 0; i < 4; ++i) pool.add("node");
    pool.grow(70);
    for (int i = 0; i < 66; ++i) pool.add("node");
    std::vector<Large> all(90);
    for (int i = 0; i < 90; ++i) snprintf(all[i].bytes, sizeof all[i].bytes, "large %d", i);
    printf("%d %d\n", pool.used, total(all));
    return 0;
}
