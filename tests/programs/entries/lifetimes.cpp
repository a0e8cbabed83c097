// Three objects of Leaf come and go: on the stack, on the heap, and deleted through its base; one of Base, too.
#include <cstdio>

struct Base {
    Base();
    virtual ~Base();
    int number;
};
struct Middle : virtual Base {
    Middle();
    ~Middle() override;
    int more;
};
struct Leaf : Middle {
    Leaf();
    ~Leaf() override;
};

static int made, gone;

Base::Base() : number(++made) {}
Base::~Base() { ++gone; }
Middle::Middle() : more(++made) {}
Middle::~Middle() { ++gone; }
Leaf::Leaf() { ++made; }
Leaf::~Leaf() { ++gone; }

int live() {
    Leaf on_stack;
    Leaf* leaf = new Leaf;
    Base* base = new Leaf;
    delete leaf;
    delete base;
    Base alone;
    return alone.number + on_stack.more;
}

#ifndef LIBRARY
int main() {
    live();
    std::printf("made %d, gone %d\n", made, gone);
    return 0;
}
#endif
