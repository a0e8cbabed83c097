// Types of the user's own, which a project's descriptions make readable.
#include <unistd.h>

#include <cstdio>
#include <vector>

namespace my {
template <typename T>
struct Ring {
    T* items;
    unsigned head, count, capacity;
};
struct Handle {
    unsigned index : 24;
    unsigned generation : 8;
};
struct Label {
    const char* text;
    int length;
};
struct Node {
    int value;
    Node* next;
};
struct Owner {
    Handle handle;
    Label* label;
};
struct Self {
    Self* self;
};
struct Callback {
    int (*code)();
};
}  // namespace my

typedef struct {
    int raw;
} Fixed;

struct llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll {
    int raw;
};

extern "C" int aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_called() { return 1; }

int gItems[4] = {3, 4, 1, 2};
my::Ring<int> gRing{gItems, 0, 4, 4};
my::Handle gHandle{77, 3};
my::Label gLabel{"hello world", 5}, gLater{"later", 5};
my::Node gLast{3, nullptr}, gMiddle{2, &gLast}, gFirst{1, &gMiddle};
my::Owner gOwner{{5, 1}, &gLabel};
my::Self gSelf{&gSelf};
Fixed gFixed{384};
llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll gNamed{7};
my::Callback gCallback{aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_called};
std::vector<my::Label> gLabels{gLabel, gLater};

int main() {
    std::puts("ready");
    std::fflush(stdout);
    pause();
}
