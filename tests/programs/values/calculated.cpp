// Conditions with loops, and of calls' returns, each written as Strobe takes it and as the compiler does: each function
// counts how often its own holds, by the program itself. tests/live/values/test_calculated.py reads the lists below.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

enum Mode { IDLE, PLAY = 7, NEGATIVE = -2 };
enum class Color : uint8_t { Red = 1, Blue = 200 };

struct Inner {
    short low;
    int deep[3];
};
struct Item {
    int id;
    short height;
    unsigned char marked;
    signed char letter;
    unsigned long big;
    Item* next;
    Mode mode;
    Color color;
    double ratio;
    Inner inner;
    bool is_used;
    unsigned bits : 3;
    char name[8];
};
struct Pool {
    int m_count;
    unsigned m_capacity;
    Item m_items[20];
    Item* m_nodes;
    Item* m_head;
    std::vector<Item> m_vector;
    std::vector<long> m_longs;
    std::map<int, long> m_table;
    std::set<int> m_set;
    std::list<Item> m_list;
    std::forward_list<int> m_forward;
    std::unordered_map<int, int> m_hashed;
    std::deque<int> m_deque;
    std::array<int, 6> m_array;
    std::unique_ptr<Item> m_owned;
    std::string m_label;
    std::map<std::string, Item> m_named;
    int m_grid[4][6];
    unsigned char m_bytes[70];
    Item* m_pointers[5];
    long m_sum;
};

static volatile int gLimit = 5;
#ifdef __clang__
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noipa))
#endif

template <typename Range, typename Test>
static bool all_of(const Range& range, Test test) {
    return std::all_of(std::begin(range), std::end(range), test);
}
template <typename Range, typename Test>
static bool any_of(const Range& range, Test test) {
    return std::any_of(std::begin(range), std::end(range), test);
}
template <typename Range, typename Test>
static long count_of(const Range& range, Test test) {
    return std::count_if(std::begin(range), std::end(range), test);
}
template <typename Test>
static long below(long first, long end, Test test) {
    long found = 0;
    for (long i = first; i < end; i++) found += test(i) ? 1 : 0;
    return found;
}
template <typename Value>
static long sum_of(long first, long end, Value value) {
    long sum = 0;
    for (long i = first; i < end; i++) sum += value(i);
    return sum;
}
template <typename Value>
static long best_of(bool least, long first, long end, Value value) {
    long best = value(first);
    for (long i = first; i < end; i++) best = least ? std::min<long>(best, value(i)) : std::max<long>(best, value(i));
    return best;
}
template <typename Test>
static long first_of(long first, long end, Test test) {
    while (first < end && !test(first)) first++;
    return first;
}
template <typename Test>
static long in_chain(const Item* node, Test test) {
    long found = 0;
    for (; node; node = node->next) found += test(*node) ? 1 : 0;
    return found;
}

#define IS(expression) [&](const auto& x) { return expression; }
#define I(expression) [&](long i) { return expression; }

// AT_ENTRY(number, as Strobe takes it, as the compiler does)
#define ENTRIES                                                                                                        \
    AT_ENTRY(0, "all(i in 0..20: pool->m_items[i].height < 9)", below(0, 20, I(p.m_items[i].height < 9)) == 20)        \
    AT_ENTRY(1, "any(i in 0..20: pool->m_items[i].height < -6)", below(0, 20, I(p.m_items[i].height < -6)) > 0)        \
    AT_ENTRY(2, "count(i in 0..20: pool->m_items[i].height >= 3) == 5",                                                \
             below(0, 20, I(p.m_items[i].height >= 3)) == 5)                                                           \
    AT_ENTRY(3, "count(i in 0..pool->m_count: pool->m_nodes[i].id == index) == 1",                                     \
             below(0, p.m_count, I(p.m_nodes[i].id == index)) == 1)                                                    \
    AT_ENTRY(4, "first(i in 0..20: pool->m_items[i].id == 7 * 100) == 7",                                              \
             first_of(0, 20, I(p.m_items[i].id == 700)) == 7)                                                          \
    AT_ENTRY(5, "first(i in 3..20: pool->m_items[i].height > -100) == 3", true)                                        \
    AT_ENTRY(6, "any(x in pool->m_items: x.marked == 200)", any_of(p.m_items, IS(x.marked == 200)))                    \
    AT_ENTRY(7, "all(x in pool->m_items: x.letter >= -9)", all_of(p.m_items, IS(x.letter >= -9)))                      \
    AT_ENTRY(8, "count(x in pool->m_items: (x.marked & 24) == 8) > 4",                                                 \
             count_of(p.m_items, IS((x.marked & 24) == 8)) > 4)                                                        \
    AT_ENTRY(9, "any(x in pool->m_items: x.big > 9223372036854775808)",                                                \
             any_of(p.m_items, IS(x.big > 9223372036854775808UL)))                                                     \
    AT_ENTRY(10, "count(x in pool->m_items: x.mode == PLAY) == 3", count_of(p.m_items, IS(x.mode == PLAY)) == 3)       \
    AT_ENTRY(11, "any(x in pool->m_items: x.color == Color::Blue)", any_of(p.m_items, IS(x.color == Color::Blue)))     \
    AT_ENTRY(12, "count(x in pool->m_items: x.is_used) > 10", count_of(p.m_items, IS(x.is_used)) > 10)                 \
    AT_ENTRY(13, "count(x in pool->m_items: x.bits == 5) > 2", count_of(p.m_items, IS(x.bits == 5)) > 2)               \
    AT_ENTRY(14, "any(x in pool->m_items: x.ratio < -2.5)", any_of(p.m_items, IS(x.ratio < -2.5)))                     \
    AT_ENTRY(15, "any(x in pool->m_items: x.name == \"n9\")", any_of(p.m_items, IS(!std::strcmp(x.name, "n9"))))       \
    AT_ENTRY(16, "count(x in pool->m_items: x.inner.deep[1] == x.id) == 2",                                            \
             count_of(p.m_items, IS(x.inner.deep[1] == x.id)) == 2)                                                    \
    AT_ENTRY(17, "sum(i in 0..20: pool->m_items[i].height) > 10", sum_of(0, 20, I(p.m_items[i].height)) > 10)          \
    AT_ENTRY(18, "min(i in 0..20: pool->m_items[i].height) == -7", best_of(true, 0, 20, I(p.m_items[i].height)) == -7) \
    AT_ENTRY(19, "max(i in 0..20: pool->m_items[i].id * 2) > 4000",                                                    \
             best_of(false, 0, 20, I(p.m_items[i].id * 2)) > 4000)                                                     \
    AT_ENTRY(20, "size(pool->m_vector) == 5", p.m_vector.size() == 5)                                                  \
    AT_ENTRY(21, "any(x in pool->m_vector: x.height == 3)", any_of(p.m_vector, IS(x.height == 3)))                     \
    AT_ENTRY(22, "all(x in pool->m_vector: x.height != index)", all_of(p.m_vector, IS(x.height != index)))             \
    AT_ENTRY(23, "count(x in pool->m_vector: x.id > index && x.height < 4) == 2",                                      \
             count_of(p.m_vector, IS(x.id > index && x.height < 4)) == 2)                                              \
    AT_ENTRY(24, "sum(x in pool->m_longs: x) == 10", sum_of(0, p.m_longs.size(), I(p.m_longs[i])) == 10)               \
    AT_ENTRY(25, "sum(pool->m_longs) == 10", sum_of(0, p.m_longs.size(), I(p.m_longs[i])) == 10)                       \
    AT_ENTRY(26, "size(pool->m_longs) > 0 && max(pool->m_longs) == 3",                                                 \
             p.m_longs.size() > 0 && best_of(false, 0, p.m_longs.size(), I(p.m_longs[i])) == 3)                        \
    AT_ENTRY(27, "size(pool->m_longs) >= 3 && any(x in pool->m_longs[1..3]: x == 2)",                                  \
             p.m_longs.size() >= 3 && below(1, 3, I(p.m_longs[i] == 2)) > 0)                                           \
    AT_ENTRY(28, "any(x in pool->m_table: x.second == 16)", any_of(p.m_table, IS(x.second == 16)))                     \
    AT_ENTRY(29, "count(x in pool->m_table: x.first % 2 == 0) == 3", count_of(p.m_table, IS(x.first % 2 == 0)) == 3)   \
    AT_ENTRY(30, "all(x in pool->m_set: x < 12)", all_of(p.m_set, IS(x < 12)))                                         \
    AT_ENTRY(31, "sum(x in pool->m_set: x) == 9", sum_of(0, 1, I(([&] {                                                \
                                                             long s = 0;                                               \
                                                             for (int x : p.m_set) s += x;                             \
                                                             return s + 0 * i;                                         \
                                                         }()))) == 9)                                                  \
    AT_ENTRY(32, "any(x in pool->m_list: x.height == 2)", any_of(p.m_list, IS(x.height == 2)))                         \
    AT_ENTRY(33, "count(x in pool->m_list: x.name startswith \"n\") == 4", p.m_list.size() == 4)                       \
    AT_ENTRY(34, "count(x in pool->m_forward: x > 1) == 3", count_of(p.m_forward, IS(x > 1)) == 3)                     \
    AT_ENTRY(35, "any(x in pool->m_hashed: x.second == 33)", any_of(p.m_hashed, IS(x.second == 33)))                   \
    AT_ENTRY(36, "count(x in pool->m_deque: x >= 2) == 3", count_of(p.m_deque, IS(x >= 2)) == 3)                       \
    AT_ENTRY(37, "all(x in pool->m_array: x != index)", all_of(p.m_array, IS(x != index)))                             \
    AT_ENTRY(38, "any(i in 0..6: pool->m_array[i] == delta)", below(0, 6, I(p.m_array[i] == delta)) > 0)               \
    AT_ENTRY(39, "count(x in chain(pool->m_head, ->next): x.height > 0) == 3",                                         \
             in_chain(p.m_head, IS(x.height > 0)) == 3)                                                                \
    AT_ENTRY(40, "any(x in chain(pool->m_head, ->next): x.id == 400)", in_chain(p.m_head, IS(x.id == 400)) > 0)        \
    AT_ENTRY(41, "all(x in chain(pool->m_head, ->next): x.id != 400)", in_chain(p.m_head, IS(x.id == 400)) == 0)       \
    AT_ENTRY(42, "pool->m_items[index].id == index * 100", p.m_items[index].id == index * 100)                         \
    AT_ENTRY(43, "pool->m_items[index + 1].height < pool->m_items[index].height",                                      \
             p.m_items[index + 1].height < p.m_items[index].height)                                                    \
    AT_ENTRY(44, "pool->m_items[pool->m_items[index].inner.low].id == 300",                                            \
             p.m_items[p.m_items[index].inner.low].id == 300)                                                          \
    AT_ENTRY(45, "pool->m_grid[index % 4][delta & 3] == 9", p.m_grid[index % 4][delta & 3] == 9)                       \
    AT_ENTRY(46, "any(i in 0..4: any(j in 0..6: pool->m_grid[i][j] == 100 + index))",                                  \
             below(0, 4, I(below(0, 6, [&](long j) { return p.m_grid[i][j] == 100 + index; }) > 0)) > 0)               \
    AT_ENTRY(47, "all(i in 0..4: sum(j in 0..6: pool->m_grid[i][j]) < 160)",                                           \
             below(0, 4, I(sum_of(0, 6, [&](long j) { return p.m_grid[i][j]; }) < 160)) == 4)                          \
    AT_ENTRY(48, "count(i in 0..70: pool->m_bytes[i] == 0) == 68", below(0, 70, I(p.m_bytes[i] == 0)) == 68)           \
    AT_ENTRY(49, "first(i in 0..70: pool->m_bytes[i] != 0) == index", first_of(0, 70, I(p.m_bytes[i] != 0)) == index)  \
    AT_ENTRY(50, "any(i in 0..5: pool->m_pointers[i] == null)", below(0, 5, I(p.m_pointers[i] == nullptr)) > 0)        \
    AT_ENTRY(51, "count(i in 0..5: pool->m_pointers[i] != null && pool->m_pointers[i]->height > 1) == 2",              \
             below(0, 5, I(p.m_pointers[i] && p.m_pointers[i]->height > 1)) == 2)                                      \
    AT_ENTRY(52, "pool->m_owned && pool->m_owned->height == 3", p.m_owned&& p.m_owned->height == 3)                    \
    AT_ENTRY(53, "any(x in pool->m_vector: x.height == gLimit)", any_of(p.m_vector, IS(x.height == gLimit)))           \
    AT_ENTRY(54, "all(i in 5..3: pool->m_items[i].height == 999)", true)                                               \
    AT_ENTRY(55, "any(i in 5..5: pool->m_items[i].height != 999)", false)                                              \
    AT_ENTRY(56, "count(i in delta..index: i % 2 == 0) == 3", below(delta, index, I(i % 2 == 0)) == 3)                 \
    AT_ENTRY(57, "sum(i in 0..index: i * i) == 55", sum_of(0, index, I(i* i)) == 55)                                   \
    AT_ENTRY(58, "count(x in pool->m_items: x.height == -3 || x.height == 3) == 3",                                    \
             count_of(p.m_items, IS(x.height == -3 || x.height == 3)) == 3)                                            \
    AT_ENTRY(59, "count(x in pool->m_items: 3 <= x.height) + count(x in pool->m_items: -3 >= x.height) == 8",          \
             count_of(p.m_items, IS(3 <= x.height)) + count_of(p.m_items, IS(-3 >= x.height)) == 8)                    \
    AT_ENTRY(60, "count(x in pool->m_items: x.big <= 3) == 3", count_of(p.m_items, IS(x.big <= 3)) == 3)               \
    AT_ENTRY(61, "count(x in pool->m_items: x.letter < 0) != 0", count_of(p.m_items, IS(x.letter < 0)) != 0)           \
    AT_ENTRY(62, "count(x in pool->m_items: x.mode == NEGATIVE) == 4",                                                 \
             count_of(p.m_items, IS(x.mode == NEGATIVE)) == 4)                                                         \
    AT_ENTRY(63, "count(x in pool->m_items: !x.is_used) == 6", count_of(p.m_items, IS(!x.is_used)) == 6)               \
    AT_ENTRY(64, "any(x in pool->m_nodes[0..pool->m_count]: x.height == 6)",                                           \
             below(0, p.m_count, I(p.m_nodes[i].height == 6)) > 0)                                                     \
    AT_ENTRY(65, "any(x in pool->m_nodes[2..pool->m_count]: x.id < 300)",                                              \
             below(2, p.m_count, I(p.m_nodes[i].id < 300)) > 0)                                                        \
    AT_ENTRY(66, "sizeof(pool->m_items[0]) == 104", sizeof(Item) == 104)                                               \
    AT_ENTRY(67, "((Item*)pool->m_nodes)->id == 0", p.m_nodes->id == 0)                                                \
    AT_ENTRY(68, "&pool->m_items[2] == pool->m_pointers[2]", &p.m_items[2] == p.m_pointers[2])                         \
    AT_ENTRY(69, "$thread > 0 && $depth == 0", true)                                                                   \
    AT_ENTRY(70, "$threadName contains \"calc\"", true)                                                                \
    AT_ENTRY(71, "$thread == \"calculated\"", true)                                                                    \
    AT_ENTRY(                                                                                                          \
        72, "any(x in pool->m_vector: any(y in pool->m_longs: x.height == y))",                                        \
        any_of(p.m_vector, [&](const Item& x) { return any_of(p.m_longs, [&](long y) { return x.height == y; }); }))   \
    AT_ENTRY(73, "count(x in pool->m_vector: x.height > 0 ? x.id > 300 : x.id < 100) == 1",                            \
             count_of(p.m_vector, IS(x.height > 0 ? x.id > 300 : x.id < 100)) == 1)                                    \
    AT_ENTRY(74, "count(i in 0..pool->m_capacity: pool->m_items[i].height == 0) == 2",                                 \
             below(0, p.m_capacity, I(p.m_items[i].height == 0)) == 2)                                                 \
    AT_ENTRY(75, "index * 3 - delta == 12", index * 3 - delta == 12)                                                   \
    AT_ENTRY(76, "(u8)(index - 9) > 250", (uint8_t)(index - 9) > 250)                                                  \
    AT_ENTRY(77, "size(pool->m_table) == 4", p.m_table.size() == 4)                                                    \
    AT_ENTRY(78, "size(pool->m_hashed) > 3 && pool->m_hashed[3] == 33", p.m_hashed.size() > 3)                         \
    AT_ENTRY(79, "size(pool->m_table) > 1 && pool->m_table[0] == 0", p.m_table.size() > 1)                             \
    AT_ENTRY(80, "any(x in pool->m_named: x.first == \"k2\") && pool->m_named[\"k2\"].id == 200",                      \
             p.m_named.count("k2") > 0)                                                                                \
    AT_ENTRY(81, "size(pool->m_named) == 3 && pool->m_named[\"k1\"].height == pool->m_items[1].height",                \
             p.m_named.size() == 3)                                                                                    \
    AT_ENTRY(82, "all(i in 0..20: pool->m_items[i].height < 9 && pool->m_items[i].letter < 9)",                        \
             below(0, 20, I(p.m_items[i].height < 9 && p.m_items[i].letter < 9)) == 20)                                \
    AT_ENTRY(83, "any(x in pool->m_items: x.height == 8 || x.letter == -9 || 1 == x.height)",                          \
             any_of(p.m_items, IS(x.height == 8 || x.letter == -9 || x.height == 1)))                                  \
    AT_ENTRY(84, "all(x in pool->m_vector: x.height < 9 && x.letter != index && (x.mode == IDLE || x.height > -6))",   \
             all_of(p.m_vector, IS(x.height < 9 && x.letter != index && (x.mode == IDLE || x.height > -6))))           \
    AT_ENTRY(85, "any(i in 5..3: pool->m_items[i].height == 999 || pool->m_items[i].letter == 1)", false)              \
    AT_ENTRY(86, "all(i in 0..10: pool->m_items[i].height < 9 && pool->m_items[i].id >= i)",                           \
             below(0, 10, I(p.m_items[i].height < 9 && p.m_items[i].id >= i)) == 10)

// AT_RETURN(number, as Strobe takes it, as the compiler does)
#define RETURNS                                                                                                    \
    AT_RETURN(100, "$return == -1", result == -1)                                                                  \
    AT_RETURN(101, "$return < 0 || $return > 400", result < 0 || result > 400)                                     \
    AT_RETURN(102, "$return == index * 100", result == index * 100)                                                \
    AT_RETURN(103, "pool->m_count < $entry.pool->m_count", p.m_count < was.m_count)                                \
    AT_RETURN(104, "pool->m_count - $entry.pool->m_count == 2", p.m_count - was.m_count == 2)                      \
    AT_RETURN(105, "$entry(pool->m_items[index].height) != pool->m_items[index].height",                           \
              was.m_items[index].height != p.m_items[index].height)                                                \
    AT_RETURN(106, "$changed(pool->m_items[3].height)", was.m_items[3].height != p.m_items[3].height)              \
    AT_RETURN(107, "$changed(pool->m_sum) && $return != -1", was.m_sum != p.m_sum && result != -1)                 \
    AT_RETURN(108, "$entry(size(pool->m_vector)) > size(pool->m_vector)", was.m_vector.size() > p.m_vector.size()) \
    AT_RETURN(109, "$entry(count(x in pool->m_items: x.height > 0)) != count(x in pool->m_items: x.height > 0)",   \
              count_of(was.m_items, IS(x.height > 0)) != count_of(p.m_items, IS(x.height > 0)))                    \
    AT_RETURN(110, "$entry.pool->m_label == \"label3\"", was.m_label == "label3")                                  \
    AT_RETURN(111, "pool->m_label endswith \"x\" && !$entry(pool->m_label endswith \"x\")",                        \
              p.m_label.back() == 'x' && was.m_label.back() != 'x')                                                \
    AT_RETURN(112, "$return == -1 && $entry.pool->m_count > 10", result == -1 && was.m_count > 10)                 \
    AT_RETURN(113, "$entry.index == index && $entry.delta == delta && $return != 0", result != 0)                  \
    AT_RETURN(114, "all(i in 0..20: pool->m_items[i].height < 9) && $return >= 0",                                 \
              below(0, 20, I(p.m_items[i].height < 9)) == 20 && result >= 0)                                       \
    AT_RETURN(115, "$entry.pool->m_items[2].height < pool->m_items[2].height && $entry.gLimit == 5",               \
              was.m_items[2].height < p.m_items[2].height)                                                         \
    AT_RETURN(116, "$return > 0 ? $entry.pool->m_count > 9 : pool->m_count > 9",                                   \
              result > 0 ? was.m_count > 9 : p.m_count > 9)                                                        \
    AT_RETURN(117, "$return > 1000000", false)

#define PARAMETERS Pool *pool, int index, long delta
#define ARGUMENTS &pool, index, delta

static long held[200];
static volatile long kept;

static void fill(Pool& pool, long i) {
    static Item items[64];
    pool.m_count = static_cast<int>(i % 17);
    pool.m_capacity = 20;
    for (int at = 0; at < 20; at++) {
        Item& item = pool.m_items[at];
        item = {at * 100,
                static_cast<short>((at * 7 + i) % 17 - 7),
                static_cast<unsigned char>(at * 11 + i),
                static_cast<signed char>((at + i) % 20 - 10),
                at % 5 ? (at * i) : ~0UL - static_cast<unsigned long>(i * at),
                nullptr,
                (at + i) % 6 ? (at + i) % 5 ? IDLE : NEGATIVE : PLAY,
                (at + i) % 40 ? Color::Red : Color::Blue,
                static_cast<double>(at - i) / 8,
                {static_cast<short>((at * i) % 20), {at, static_cast<int>(i % 9) ? at * 99 : at * 100, at}},
                (at * i) % 3 != 1,
                static_cast<unsigned>(at + i) & 7,
                ""};
        std::snprintf(item.name, sizeof item.name, "n%ld", (at + i) % 23);
        items[at] = item;
    }
    pool.m_nodes = items;
    for (int at = 0; at < 20; at++) items[at].next = at % 5 == i % 5 ? nullptr : &items[at + 1];
    pool.m_head = i % 7 ? &items[i % 4] : nullptr;
    pool.m_vector.assign(items, items + i % 8);
    pool.m_longs.clear();
    pool.m_table.clear();
    pool.m_set.clear();
    pool.m_hashed.clear();
    pool.m_deque.clear();
    pool.m_forward.clear();
    for (long at = 0; at < i % 6; at++) {
        pool.m_longs.push_back(at);
        pool.m_table[static_cast<int>(at * i)] = at * at;
        pool.m_set.insert(static_cast<int>(at * 3));
        pool.m_hashed[static_cast<int>(at)] = static_cast<int>(at * 11);
        pool.m_deque.push_back(static_cast<int>(at));
        pool.m_deque.push_front(static_cast<int>(-at));
        pool.m_forward.push_front(static_cast<int>(at));
    }
    pool.m_list.assign(items, items + i % 5);
    pool.m_named.clear();
    for (int at = 0; at < i % 4; at++) pool.m_named["k" + std::to_string(at)] = items[at];
    pool.m_array = {1, 2, 3, 5, 8, static_cast<int>(i % 13)};
    pool.m_owned = i % 3 ? std::make_unique<Item>(pool.m_items[i % 20]) : nullptr;
    pool.m_label = "label" + std::to_string(i % 5);
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 6; column++)
            pool.m_grid[row][column] =
                row * column * static_cast<int>(i % 4) + (row == 2 && column == 5 ? 80 + static_cast<int>(i % 30) : 0);
    std::memset(pool.m_bytes, 0, sizeof pool.m_bytes);
    pool.m_bytes[i % 10] = pool.m_bytes[69] = 1;
    for (int at = 0; at < 5; at++) pool.m_pointers[at] = (at + i) % 6 ? &pool.m_items[at] : nullptr;
    pool.m_sum = i;
}

static Pool copied(const Pool& from) {
    Pool to{from.m_count,   from.m_capacity, {},           from.m_nodes, from.m_head,
            from.m_vector,  from.m_longs,    from.m_table, from.m_set,   from.m_list,
            from.m_forward, from.m_hashed,   from.m_deque, from.m_array, nullptr,
            from.m_label,   from.m_named,    {},           {},           {},
            from.m_sum};
    std::copy(std::begin(from.m_items), std::end(from.m_items), to.m_items);
    return to;
}

// What the functions do to the pool.
static long change(Pool& pool, int index, long delta) {
    pool.m_count += static_cast<int>(delta % 5) - 2;
    pool.m_items[index].height = static_cast<short>(pool.m_items[index].height + delta % 3);
    if (index == 3) pool.m_items[2].height++;
    if (delta % 2) pool.m_sum += index;
    if (!pool.m_vector.empty() && delta % 4 == 1) pool.m_vector.pop_back();
    if (delta % 3 == 1) pool.m_label += "x";
    return delta % 6 == 5 ? -1 : index * (delta % 2 ? 100 : 90);
}

#define AT_ENTRY(number, text_of_it, of_compiler) \
    TRACED long check##number(PARAMETERS) {       \
        const Pool& p = *pool;                    \
        if (of_compiler) held[number]++;          \
        kept = p.m_count + index + delta;         \
        return change(*pool, index, delta);       \
    }
#define AT_RETURN(number, text_of_it, of_compiler)       \
    TRACED long check##number(PARAMETERS) {              \
        const Pool& p = *pool;                           \
        const Pool was = copied(p);                      \
        const long result = change(*pool, index, delta); \
        kept = p.m_count + index + delta;                \
        if (of_compiler) held[number]++;                 \
        return result;                                   \
    }
ENTRIES
RETURNS
#undef AT_ENTRY
#undef AT_RETURN

int main() {
    signal(SIGUSR1, [](int) {});
    std::puts("ready");
    std::fflush(stdout);
    pause();
    for (long i = 0; i < 60; i++) {
        Pool pool{};
        const int index = static_cast<int>(i % 11);
        const long delta = i % 13;
#define AT_ENTRY(number, text_of_it, of_compiler) \
    fill(pool, i);                                \
    check##number(ARGUMENTS);
#define AT_RETURN AT_ENTRY
        ENTRIES
        RETURNS
#undef AT_ENTRY
#undef AT_RETURN
    }
#define AT_ENTRY(number, text_of_it, of_compiler) std::printf("held %d %ld\n", number, held[number]);
#define AT_RETURN AT_ENTRY
    ENTRIES
    RETURNS
}
