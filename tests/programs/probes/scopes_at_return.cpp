// Functions with a local variable and several returns: what it is when the call ends. Prints what the calls gave.
#include <cstdio>
#include <string>

__attribute__((noinline)) static int total_of(int count) {
    int total = 0;
    for (int i = 1; i <= count; i++) total += 10 * i;
    if (count == 7) {
        total = 400;
        return 20;
    }
    return total / 10;
}

__attribute__((noinline)) static int kept_of(int count) {
    std::string kept(20, 'x');  // whose destructor runs behind each return
    int total = total_of(count);
    if (count == 3) return static_cast<int>(kept.size());
    return total;
}

int main() {
    const int calls[] = {1, 3, 4, 7};
    for (const int count : calls) std::printf("%d\n", kept_of(count));
}
