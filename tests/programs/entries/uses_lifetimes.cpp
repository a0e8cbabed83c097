// Has objects of a library come and go.
#include <cstdio>

int live();

int main() {
    live();
    std::puts("lived");
    return 0;
}
