// Conditions of traces, each written as Strobe takes it and as the compiler does: each function counts how often its
// own holds, by the program itself. tests/live/values/test_conditions.py reads the list below.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

enum Mode { IDLE, PLAY = 7, NEGATIVE = -2 };
enum class Color : uint8_t { Red = 1, Blue = 200 };

struct Inner {
    short low;
    int deep[3];
};
struct Node {
    int value;
    Node* next;
    double weight;
    float small;
    unsigned char tag;
    signed char letter;
    bool flag;
    Mode mode;
    Color color;
    unsigned bits : 3;
    int more : 5;
    unsigned long big;
    Inner inner;
    char name[8];
};

static volatile long gBase = 40;
#ifdef __clang__
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noipa))
#endif

static bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }
static bool ends(std::string_view text, std::string_view with) {
    return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}
static bool has(std::string_view text, std::string_view what) { return text.find(what) != std::string_view::npos; }

// CONDITION(number, as Strobe takes it, as the compiler does)
#define CONDITIONS                                                                                            \
    CONDITION(0, "cents < 0", cents < 0)                                                                      \
    CONDITION(1, "cents <= -100 || cents > 90", cents <= -100 || cents > 90)                                  \
    CONDITION(2, "cents == 3", cents == 3)                                                                    \
    CONDITION(3, "cents != 3 && cents >= 0", cents != 3 && cents >= 0)                                        \
    CONDITION(4, "count > 3000000000", count > 3000000000U)                                                   \
    CONDITION(5, "ratio < 0.5", ratio < 0.5)                                                                  \
    CONDITION(6, "ratio >= 0.25 && ratio <= 2", ratio >= 0.25 && ratio <= 2)                                  \
    CONDITION(7, "ratio == cents", ratio == cents)                                                            \
    CONDITION(8, "node == null", node == nullptr)                                                             \
    CONDITION(9, "!node", !node)                                                                              \
    CONDITION(10, "node && node->value == 2", node && node->value == 2)                                       \
    CONDITION(11, "node && node->next && node->next->value < 0", node && node->next && node->next->value < 0) \
    CONDITION(12, "node && node->weight < 0", node && node->weight < 0)                                       \
    CONDITION(13, "node && node->small == 0.25", node && node->small == 0.25F)                                \
    CONDITION(14, "node && node->tag > 150", node && node->tag > 150)                                         \
    CONDITION(15, "node && node->letter < 0", node && node->letter < 0)                                       \
    CONDITION(16, "node && node->flag", node && node->flag)                                                   \
    CONDITION(17, "node && node->mode == PLAY", node && node->mode == PLAY)                                   \
    CONDITION(18, "node && node->mode < IDLE", node && node->mode < IDLE)                                     \
    CONDITION(19, "node && node->color == Color::Blue", node && node->color == Color::Blue)                   \
    CONDITION(20, "node && node->bits == 5", node && node->bits == 5)                                         \
    CONDITION(21, "node && node->more == -3", node && node->more == -3)                                       \
    CONDITION(22, "node && node->big > 9223372036854775808", node && node->big > 9223372036854775808UL)       \
    CONDITION(23, "node && node->inner.low * 2 == node->inner.deep[2]",                                       \
              node && node->inner.low * 2 == node->inner.deep[2])                                             \
    CONDITION(24, "node && node->name == \"two\"", node && !strcmp(node->name, "two"))                        \
    CONDITION(25, "text == \"odd\"", !strcmp(text, "odd"))                                                    \
    CONDITION(26, "text != \"odd\"", strcmp(text, "odd") != 0)                                                \
    CONDITION(27, "text startswith \"ev\"", starts(text, "ev"))                                               \
    CONDITION(28, "text endswith \"d\"", ends(text, "d"))                                                     \
    CONDITION(29, "text contains \"ve\"", has(text, "ve"))                                                    \
    CONDITION(30, "label == \"label7\"", label == "label7")                                                   \
    CONDITION(31, "label contains \"el1\" && size(label) == 7", has(label, "el1") && label.size() == 7)       \
    CONDITION(32, "label endswith \"5\"", ends(label, "5"))                                                   \
    CONDITION(33, "size(items) == 5", items.size() == 5)                                                      \
    CONDITION(34, "size(items) > 2 && items[2] == 6", items.size() > 2 && items[2] == 6)                      \
    CONDITION(35, "size(table) > 4", table.size() > 4)                                                        \
    CONDITION(36, "gBase == cents", gBase == cents)                                                           \
    CONDITION(37, "cents % 7 == 0", cents % 7 == 0)                                                           \
    CONDITION(38, "cents / 10 == -3", cents / 10 == -3)                                                       \
    CONDITION(39, "(cents & 12) == 8", (cents & 12) == 8)                                                     \
    CONDITION(40, "(cents | 1) == 5", (cents | 1) == 5)                                                       \
    CONDITION(41, "(cents ^ 3) == 6", (cents ^ 3) == 6)                                                       \
    CONDITION(42, "cents << 2 == 20", cents << 2 == 20)                                                       \
    CONDITION(43, "cents >> 3 == -2", cents >> 3 == -2)                                                       \
    CONDITION(44, "-cents == 9", -cents == 9)                                                                 \
    CONDITION(45, "~cents == 4", ~cents == 4)                                                                 \
    CONDITION(46, "cents > 0 ? cents < 5 : cents > -5", cents > 0 ? cents < 5 : cents > -5)                   \
    CONDITION(47, "abs(cents) == 20", cents == 20 || cents == -20)                                            \
    CONDITION(48, "(u8)cents == 255", (uint8_t)cents == 255)                                                  \
    CONDITION(49, "letter == 'c'", letter == 'c')                                                             \
    CONDITION(50, "*number > 7", *number > 7)                                                                 \
    CONDITION(51, "reference.value == 1", reference.value == 1)                                               \
    CONDITION(52, "pair.first == pair.second", pair.first == pair.second)                                     \
    CONDITION(53, "stacked == 12", stacked == 12)                                                             \
    CONDITION(54, "!(cents < 0) && !(ratio > 1)", !(cents < 0) && !(ratio > 1))                               \
    CONDITION(55, "cents", cents != 0)                                                                        \
    CONDITION(56, "true", true)                                                                               \
    CONDITION(57, "cents > 1000000", cents > 1000000)

struct Two {
    long first, second;
};
#define PARAMETERS                                                                                              \
    long cents, unsigned count, double ratio, Node *node, const char *text, const std::string &label, Two pair, \
        std::vector<int>&items, std::map<int, int>&table, char letter, int *number, const Node &reference,      \
        long stacked
#define ARGUMENTS cents, count, ratio, node, text, label, pair, items, table, letter, number, reference, stacked

static long held[100];
static volatile long kept;
#define CONDITION(index, text_of_it, of_compiler)                                                            \
    TRACED void check##index(PARAMETERS) {                                                                   \
        if (of_compiler) held[index]++;                                                                      \
        kept = cents + count + (long)ratio + (node != nullptr) + text[0] + (long)label.size() + pair.first + \
               (long)items.size() + (long)table.size() + letter + *number + reference.value + stacked;       \
    }
CONDITIONS
#undef CONDITION

int main() {
    Node three{-3, nullptr, -0.5, 1.5F, 100, 'a', false, NEGATIVE, Color::Red, 1, 4, 5, {4, {1, 2, 3}}, "three"};
    Node two{2, &three, 2.5, 0.25F, 200, -5, true, PLAY, Color::Blue, 5, -3, ~0UL, {3, {4, 5, 6}}, "two"};
    Node one{1, &two, 1e300, -0.0F, 0, 'z', false, IDLE, Color::Blue, 0, 0, 1UL << 63, {0, {}}, "one"};
    Node* nodes[] = {nullptr, &one, &two, &three};
    signal(SIGUSR1, [](int) {});
    std::puts("ready");
    std::fflush(stdout);
    pause();
    for (long i = -120; i < 120; i++) {
        std::vector<int> items;
        std::map<int, int> table;
        for (int element = 0; element < (i & 7); element++) {
            items.push_back(element * 3);
            table[element] = element;
        }
        const long cents = i, stacked = i % 16;
        const unsigned count = static_cast<unsigned>(i * 40000000);
        const double ratio = i % 5 ? static_cast<double>(i) / 32 : static_cast<double>(i);
        Node* const node = nodes[i & 3];
        const char* const text = i % 2 ? "odd" : "even";
        const std::string label = "label" + std::to_string(i + 120);
        const Two pair{i / 2, i % 10};
        const char letter = static_cast<char>('a' + (i & 7));
        int value = static_cast<int>(i & 15), *number = &value;
        const Node& reference = node ? *node : three;
#define CONDITION(index, text_of_it, of_compiler) check##index(ARGUMENTS);
        CONDITIONS
#undef CONDITION
    }
#define CONDITION(index, text_of_it, of_compiler) std::printf("held %d %ld\n", index, held[index]);
    CONDITIONS
}
