// Calls functions through a base class that is not the first, and through a virtual one: by thunks, which gcc makes
// copies of the function at -O2.
#include <cstdio>

struct Named {
    virtual int name() { return 1; }
    int first = 1;
};
struct Sized {
    virtual int size(int more) { return more; }
    int second = 2;
};
struct Box : Named, Sized {
    int size(int more) override;
    int unused(int more);
    int third = 3;
};
struct Crate : virtual Sized {
    int size(int more) override;
};

int Box::size(int more) { return more + second + third; }
int Box::unused(int more) { return more * third; }
int Crate::size(int more) { return more * second; }

__attribute__((noinline)) static int size_of(Sized* any, int more) { return any->size(more); }

int main(int count, char**) {
    Box box;
    Crate crate;
    std::printf("%d\n", size_of(&box, count) + size_of(&crate, count));
    return 0;
}
