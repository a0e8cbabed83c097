// What containers hold, trees of the program's own, and whether something is there: each condition as Strobe takes it
// and as the compiler does. The program counts for how many calls each holds. Waits for SIGUSR1.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "told.h"

struct Leaf {
    int key;
    Leaf *left, *right;
};
struct Item {
    int id;
    std::string name;
    long double precise;
};
struct Shop {
    std::map<std::string, int> stock;
    std::map<int, Item> items;
    std::unordered_map<int, long> hashed;
    std::set<std::string> names;
    std::unordered_set<int> seen;
    std::vector<int> numbers;
    std::deque<int> queue;
    std::list<Item> listed;
    std::array<int, 4> fixed;
    int plain[3];
    std::optional<int> chosen;
    std::unique_ptr<Item> owned;
    std::string title;
    Item* item;
    Leaf* root;
    Leaf* deep;
    Leaf* wide;
    Leaf* circle;
};

template <typename Check>
static bool any(const Leaf* leaf, const Check& check) {
    return leaf && (check(leaf) || any(leaf->left, check) || any(leaf->right, check));
}
template <typename Check>
static int count(const Leaf* leaf, const Check& check) {
    return leaf ? check(leaf) + count(leaf->left, check) + count(leaf->right, check) : 0;
}
template <typename List, typename Value>
static bool among(const List& list, const Value& value) {
    return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

// CONDITION(number, as Strobe takes it, as the compiler does)
// clang-format off
#define CONDITIONS                                                                                              \
    CONDITION(0, "has(shop->stock, \"bread\")", shop->stock.count("bread"))                                     \
    CONDITION(1, "shop->stock contains \"milk\"", shop->stock.count("milk"))                                    \
    CONDITION(2, "!(shop->stock contains \"bread\")", !shop->stock.count("bread"))                              \
    CONDITION(3, "has(shop->items, number)", shop->items.count(number))                                         \
    CONDITION(4, "shop->items contains 3", shop->items.count(3))                                                \
    CONDITION(5, "has(shop->hashed, number * 2)", shop->hashed.count(number * 2))                               \
    CONDITION(6, "shop->names contains \"ann\"", shop->names.count("ann"))                                      \
    CONDITION(7, "has(shop->names, text)", shop->names.count(text))                                             \
    CONDITION(8, "shop->seen contains number", shop->seen.count(number))                                        \
    CONDITION(9, "shop->numbers contains 4", among(shop->numbers, 4))                                           \
    CONDITION(10, "shop->queue contains number", among(shop->queue, number))                                    \
    CONDITION(11, "shop->fixed contains number", among(shop->fixed, number))                                    \
    CONDITION(12, "shop->plain contains number", among(shop->plain, number))                                    \
    CONDITION(13, "any(x in shop->listed: x.id == number)",                                                     \
              std::any_of(shop->listed.begin(), shop->listed.end(), [&](auto& x) { return x.id == number; }))   \
    CONDITION(14, "size(shop->numbers) && last(shop->numbers) == number",                                       \
              !shop->numbers.empty() && shop->numbers.back() == number)                                         \
    CONDITION(15, "size(shop->numbers) && first(shop->numbers) < number",                                       \
              !shop->numbers.empty() && shop->numbers.front() < number)                                         \
    CONDITION(16, "size(shop->queue) && last(shop->queue) > 5", !shop->queue.empty() && shop->queue.back() > 5) \
    CONDITION(17, "size(shop->listed) && last(shop->listed).id == number",                                      \
              !shop->listed.empty() && shop->listed.back().id == number)                                        \
    CONDITION(18, "size(shop->listed) && first(shop->listed).name == text",                                     \
              !shop->listed.empty() && shop->listed.front().name == text)                                       \
    CONDITION(19, "size(shop->stock) && last(shop->stock).first == \"milk\"",                                   \
              !shop->stock.empty() && shop->stock.rbegin()->first == "milk")                                    \
    CONDITION(20, "size(shop->items) && first(shop->items).second.id == 3",                                     \
              !shop->items.empty() && shop->items.begin()->second.id == 3)                                      \
    CONDITION(21, "last(shop->fixed) == number", shop->fixed.back() == number)                                  \
    CONDITION(22, "last(shop->plain) > first(shop->plain)", shop->plain[2] > shop->plain[0])                    \
    CONDITION(23, "last(shop->title) == 'd' || first(shop->title) == 'm'",                                      \
              shop->title.back() == 'd' || shop->title.front() == 'm')                                          \
    CONDITION(24, "any(x in tree(shop->root, ->left, ->right): x.key == number)",                               \
              any(shop->root, [&](auto x) { return x->key == number; }))                                        \
    CONDITION(25, "count(x in tree(shop->root, ->left, ->right): x.key > 2) > number",                          \
              count(shop->root, [](auto x) { return x->key > 2; }) > number)                                    \
    CONDITION(26, "sum(x in tree(shop->root, ->left, ->right): x.key) == 15 + number",                          \
              count(shop->root, [](auto x) { return x->key; }) == 15 + number)                                  \
    CONDITION(27, "all(x in tree(shop->root, ->left, ->right): x.left == null || x.left->key < x.key)",         \
              !any(shop->root, [](auto x) { return x->left && x->left->key >= x->key; }))                       \
    CONDITION(28, "count(x in tree(shop->deep, ->left, ->right): true) == 1000", true)                          \
    CONDITION(29, "count(x in tree(shop->deep, ->right, ->left): x.key % 2 == 0) == 500", true)                 \
    CONDITION(30, "count(x in tree(shop->wide, ->left, ->right): x.key >= 0) == 1023", true)                    \
    CONDITION(31, "any(x in tree(shop->root, ->left, ->right): any(y in tree(x.left, ->left, ->right): "        \
                  "y.key == number))",                                                                          \
              any(shop->root, [&](auto x) { return any(x->left, [&](auto y) { return y->key == number; }); }))  \
    CONDITION(32, "has(shop->item->id)", shop->item)                                                            \
    CONDITION(33, "has(shop->item->name) && shop->item->name == text", shop->item && shop->item->name == text)  \
    CONDITION(34, "has(shop->chosen)", shop->chosen.has_value())                                                \
    CONDITION(35, "shop->chosen", shop->chosen.has_value())                                                     \
    CONDITION(36, "shop->chosen && *shop->chosen == number", shop->chosen && *shop->chosen == number)           \
    CONDITION(37, "shop->chosen == null", !shop->chosen.has_value())                                            \
    CONDITION(38, "has(shop->owned->id)", shop->owned != nullptr)                                               \
    CONDITION(39, "has(shop->stock[\"bread\"]) && shop->stock[\"bread\"] > number",                             \
              shop->stock.count("bread") && shop->stock["bread"] > number)                                      \
    CONDITION(40, "has(shop->numbers[3])", shop->numbers.size() > 3)                                            \
    CONDITION(41, "!has(shop->numbers[number])", shop->numbers.size() <= (size_t)number)                        \
    CONDITION(42, "has(1 / (number - 3))", number != 3)                                                         \
    CONDITION(43, "shop->title contains \"rea\" && text contains \"n\"",                                        \
              shop->title.find("rea") != std::string::npos && std::string(text).find("n") != std::string::npos) \
    CONDITION(44, "has(first(shop->listed))", !shop->listed.empty())                                            \
    CONDITION(45, "has(first(shop->listed).id)", !shop->listed.empty())                                         \
    CONDITION(46, "has(last(shop->numbers))", !shop->numbers.empty())                                           \
    CONDITION(47, "count(x in shop->numbers: shop->items contains x) == 2",                                     \
              std::count_if(shop->numbers.begin(), shop->numbers.end(),                                         \
                            [&](int x) { return shop->items.count(x); }) == 2)
// clang-format on

#ifdef __clang__
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noipa))
#endif

static long held[100];
static volatile long kept;
#define CONDITION(index, text_of_it, of_compiler)                           \
    TRACED void check##index(Shop* shop, int number, const char* text) {    \
        if (of_compiler) held[index]++;                                     \
        kept = kept + number + text[0] + static_cast<long>(shop->title[0]); \
    }
CONDITIONS
#undef CONDITION

TRACED void around(Shop* shop) { kept = kept + shop->plain[0]; }

int main() {
    static const char* const texts[] = {"ann", "bob", "milk", ""};
    static std::array<Leaf, 1000> deep;
    static std::array<Leaf, 1023> wide;
    for (int at = 0; at < 1000; at++) deep[at] = {at, at < 999 ? &deep[at + 1] : nullptr, nullptr};
    for (int at = 0; at < 1023; at++)
        wide[at] = {at, at < 511 ? &wide[2 * at + 1] : nullptr, at < 511 ? &wide[2 * at + 2] : nullptr};
    Leaf loop{1, nullptr, nullptr};
    loop.left = &loop;
    run_until_told();
    std::puts("ready");
    std::fflush(stdout);
    while (!told) usleep(1000);
    for (int i = 0; i < 60; i++) {
        Leaf leaves[7] = {{4, &leaves[1], &leaves[2]}, {2, &leaves[3], &leaves[4]}, {6, nullptr, &leaves[6]},
                          {1, nullptr, nullptr},       {3, nullptr, nullptr},       {i % 5, nullptr, nullptr},
                          {7, nullptr, nullptr}};
        Item item{i, texts[i % 4], i / 10.0L};
        Shop shop{};
        for (int at = 0; at < i % 6; at++) {
            shop.numbers.push_back(at);
            shop.queue.push_front(at * 2);
            shop.listed.push_back({at, texts[at % 4], 0});
            shop.items[at + 3].id = at * 3;
            shop.hashed[at * 4] = at;
            shop.seen.insert(at * 2);
        }
        if (i % 2) shop.stock["bread"] = i % 7;
        if (i % 3) shop.stock["milk"] = 2;
        if (i % 4) shop.stock["apple"] = 1;
        if (i % 3 == 1) shop.names = {"ann", "milk"};
        shop.fixed = {i % 3, 7, 8, i % 4};
        std::copy_n(shop.fixed.begin(), 3, shop.plain);
        if (i % 3 == 0) shop.chosen = i % 6;
        if (i % 5 == 0) shop.owned = std::make_unique<Item>(item);
        shop.title = i % 2 ? "bread" : i % 3 ? "milk" : "x";
        shop.item = i % 3 ? &item : nullptr;
        shop.root = i % 7 ? leaves : nullptr;
        shop.deep = deep.data();
        shop.wide = wide.data();
        shop.circle = &loop;
#define CONDITION(index, text_of_it, of_compiler) check##index(&shop, i % 6, texts[i % 4]);
        CONDITIONS
#undef CONDITION
        around(&shop);
    }
#define CONDITION(index, text_of_it, of_compiler) std::printf("held %d %ld\n", index, held[index]);
    CONDITIONS
#undef CONDITION
}
