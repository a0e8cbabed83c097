// Functions that run before main and after it: constructors of globals, attribute constructor, atexit, destructors.
#include <cstdio>
#include <cstdlib>

#define TRACED __attribute__((noinline))

namespace early {
TRACED int compute(int value) { return value * value; }

struct Table {
    int sum = 0;
    TRACED Table() {
        for (int i = 0; i < 100; i++) sum += compute(i);
    }
    TRACED ~Table() { std::printf("destroyed %d\n", sum); }
};
static Table table;
static int attributed = 0;

__attribute__((constructor)) TRACED void attribute_constructor() { attributed = compute(7); }
TRACED void at_exit() { std::printf("at exit %d\n", compute(3)); }
}  // namespace early

int main() {
    std::atexit(early::at_exit);
    std::printf("main %d %d\n", early::table.sum, early::attributed);
}
