// Says what its variables are, then stops at an instruction of its own (int3): whoever reads them from outside can
// compare. A line has `name=value` of each, the next one the registers; a byte on standard input lets it go on.
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#define APART __attribute__((noinline))
#define INLINED inline __attribute__((always_inline))
#define TELL(...)                              \
    do {                                       \
        std::printf(__VA_ARGS__);              \
        __asm__ volatile("int3" ::: "memory"); \
    } while (0)

static volatile int sink = 3;
int hidden = 77;  // a local of the same name is declared later
enum Mode { OFF, SLOW = 5, FAST = -2 };

static const int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                             REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

static void stopped(int, siginfo_t*, void* context) {
    const ucontext_t* state = static_cast<ucontext_t*>(context);
    for (const int number : kOrder)
        std::printf("%llx ", static_cast<unsigned long long>(state->uc_mcontext.gregs[number]));
    for (const auto& vector : state->uc_mcontext.fpregs->_xmm) {
        std::printf("%llx ", vector.element[0] | static_cast<unsigned long long>(vector.element[1]) << 32);
    }
    std::printf("\n");
    std::fflush(stdout);
    char go = 0;
    if (read(0, &go, 1) != 1) std::exit(0);
}

struct Pair {
    int first;
    long second;
};

struct Shape {
    virtual ~Shape() {}
    int id = 7;
};

struct Box : Shape {
    double width = 1.5;
    unsigned char small = 200;
    int bits : 3;
    const char* name = "box";
    Box() : bits(-2) {}
    APART double area(int times, const Pair& other, Pair pair) {
        double total = 0;
        for (int round = 0; round < times; ++round) {
            total += width * round + sink;
            TELL(
                "times=%d;round=%d;total=%a;width=%a;this->id=%d;id=%d;small=%d;bits=%d;other.first=%d;other.second=%"
                "ld;"
                "pair.first=%d;pair.second=%ld;name=%p\n",
                times, round, total, width, id, id, small, bits, other.first, other.second, pair.first, pair.second,
                static_cast<const void*>(name));
        }
        return total;
    }
    APART int bound(int base) {
        auto add = [this, base](int more) {
            const int sum = id + base + more;
            TELL("more=%d;sum=%d;base=%d;id=%d;this->id=%d;small=%d\n", more, sum, base, id, id, small);
            return sum;
        };
        const std::pair<int, long> pair{add(4), 9};
        const auto [one, two] = pair;
        int total = 0;
        for (const int number : {3, 4}) {
            total += number;
            TELL("number=%d;total=%d;one=%d;two=%ld;base=%d;id=%d\n", number, total, one, two, base, id);
        }
        return total;
    }
};

template <typename Value>
APART Value larger(Value left, Value right) {
    static int calls = 40;
    ++calls;
    Value chosen = left > right ? left : right;
    TELL("left=%a;right=%a;chosen=%a;calls=%d\n", double(left), double(right), double(chosen), calls);
    return chosen;
}

static INLINED int inner(int number) {
    int doubled = number * 2 + sink;
    TELL("number=%d;doubled=%d;outer::kept=%d\n", number, doubled, number + 1);
    return doubled;
}

APART int outer(int number) {
    int kept = number - sink;
    int result = inner(kept - 1);
    TELL("number=%d;kept=%d;result=%d\n", number, kept, result);
    return result + kept + number;
}

APART int blocks(int depth, const char* text) {
    int value = depth;
    {
        int value = depth + 1;
        TELL("value=%d;depth=%d\n", value, depth);
        for (long value = 10; value < 12; ++value) {
            TELL("value=%ld;text[1]=%d;hidden=%d\n", value, text[1], hidden);
            sink = static_cast<int>(value);
        }
    }
    TELL("value=%d\n", value);
    int hidden = value + 100;
    TELL("hidden=%d\n", hidden);
    return hidden;
}

APART int many(int a, int b, int c, int d, int e, int f, short g, long h, signed char i) {
    int numbers[3] = {a + sink, b, c};
    Mode mode = a > 0 ? FAST : SLOW;
    float scale = static_cast<float>(a) / 4;
    bool is_on = e > f;
    TELL("a=%d;b=%d;c=%d;d=%d;e=%d;f=%d;g=%d;h=%ld;i=%d;numbers[0]=%d;numbers[2]=%d;mode=%d;scale=%a;is_on=%d\n", a, b,
         c, d, e, f, g, h, i, numbers[0], numbers[2], mode, double(scale), is_on);
    return numbers[0] + numbers[1] + numbers[2] + mode + is_on + static_cast<int>(scale) + g + i;
}

APART int constants(int depth) {
    const int negative = -5;
    const unsigned char large = 250;
    const float half = 0.5f;
    const long twice = 2L * depth - sink;
    TELL("negative=%d;large=%d;half=%a;twice=%ld;depth=%d\n", negative, large, double(half), twice, depth);
    return negative + large + static_cast<int>(twice);
}

APART int lambdas(int base) {
    int extra = sink;
    auto add = [base, &extra](int more) {
        int inside = base + more;
        extra += inside;
        TELL("more=%d;inside=%d;base=%d;extra=%d\n", more, inside, base, extra);
        return inside * extra;
    };
    return add(1) + add(2);
}

int main(int count, char**) {
    struct sigaction action = {};
    action.sa_sigaction = stopped;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    Box box;
    const Pair pair{-5, 1L << 40};
    double total = box.area(count + 1, pair, {count, -9});
    total += box.bound(count + 6) + larger(1.5 * count, 2.5) + larger(3 * count, -9) + outer(count + 20) +
             blocks(count, "text");
    total += many(count, -2, 3, 4, 6, 5, -7, -8L * count, -9) + lambdas(count) + constants(count);
    std::printf("end %a\n", total);
    return 0;
}
