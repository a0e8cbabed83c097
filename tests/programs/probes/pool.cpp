// Two instances of a template, a sweep that ends at the count of used entries, and a function that is inlined.
#include <cstdio>
#include <string>

struct Node {
    int id;
    unsigned mark;
    Node* next;
};
struct Other {
    int id;
    unsigned mark;
    double weight;
};

template <typename T>
struct Pool {
    std::string name;
    T items[16];
    int used = 0;
    int capacity = 16;

    explicit Pool(const char* given) : name(given) {}

    T* take(int id) {
        if (used >= capacity) return nullptr;
        T* item = &items[used++];
        item->id = id;
        item->mark = static_cast<unsigned>(id % 3);  // taken
        return item;
    }

    int sweep() {
        int freed = 0;
        for (int i = 0; i < used; i++) {
            if (items[i].mark == 0) {
                freed++;  // freed
            }
        }
        return freed;
    }
};

static inline __attribute__((always_inline)) int twice(int n) {
    int result = n * 2;
    return result;  // twice
}

int main() {
    Pool<Node> nodes("nodes");
    Pool<Other> others("others");
    for (int i = 0; i < 20; i++) {
        nodes.take(i);
        if (i < 5) others.take(i);
    }
    int total = nodes.sweep() + others.sweep();
    total += twice(total);
    total += twice(3);
    std::printf("%d\n", total);
}
