// `mix` is inlined in two places, and what the second one is given is not kept; two functions are called `take`.
#include <cstdio>

static volatile int sink;

__attribute__((always_inline)) static inline int mix(int value, [[maybe_unused]] int unused) {
    sink = value;  // mixes
    return value * 3;
}

__attribute__((noinline)) static int with_both(int a, int b) {
    const int result = mix(a, b);
    return result + b;
}

__attribute__((noinline)) static int with_one(int a) { return mix(a, sink * 7); }

__attribute__((noinline)) int take(int count) { return count + sink; }

__attribute__((noinline)) int take(const char* text) { return text[0] + sink; }

int main(int argc, char**) {
    int sum = 0;
    for (int i = 0; i < 5; i++) sum += with_both(i, argc);
    for (int i = 0; i < 3; i++) sum += with_one(i);
    sum += take(7) + take("bread");
    std::printf("%d\n", sum);
}
