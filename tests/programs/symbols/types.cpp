// One of each kind of type in C++.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace zoo {

struct Plain {
    int x = 1;
    char8_t text[4] = {};
};
struct Empty {};
class Animal {
  public:
    virtual ~Animal() = default;
    virtual int legs() const { return 4; }
    bool calm() const { return !asleep_ && mood_ == born + fed; }
    static const int kCount = 7;
    static unsigned born;
    static inline unsigned fed = 3;
    static constexpr double kWeight = 1.5;

  protected:
    int age_ = 0;

  private:
    bool asleep_ : 1 = false;
    unsigned mood_ : 5 = 0;
};
unsigned Animal::born = 0;
class Swimmer : public virtual Animal {
  public:
    int depth = 1;
};
class Flyer : protected virtual Animal {
  public:
    int height = 1;
};
class Duck final : public Swimmer, private Flyer, public Empty {
  public:
    enum class Mood : int8_t { Angry = -1, Calm, Happy = 100 };
    Mood mood = Mood::Calm;
    std::string name = "duck";
};
class Two : public Plain, public Animal {
  public:
    long get() const { return own; }

  private:
    long own = 0;
};
template <typename T, int N, bool Flag = true>
struct Box {
    T items[N];
    using Item = T;
    Item* first() { return items; }
};
template <typename... Parts>
struct Pack {
    int n = sizeof...(Parts);
};
template <template <typename> class Holder, typename T>
struct Wrap {
    Holder<T> inside;
};
template <typename T>
struct Cell {
    T value;
};
enum Old { kOld = -3, kNew = 3 };
enum Unsigned : uint64_t { kZero = 0, kTop = UINT64_MAX };
union Either {
    int number;
    float real;
    Plain plain;
};
struct Members {
    int Plain::* field = &Plain::x;
    int (Animal::*method)() const = &Animal::legs;
    int& reference;
    int&& moved;
    const Plain* const fixed = nullptr;
    decltype(nullptr) null = nullptr;
    int (&row)[3];
    void (*callback)(const Plain&, int (*)[2]) = nullptr;
    struct Nested {
        int deep = 0;
        union {
            int a;
            float b;
        };
    } nested;
    mutable int changed = 0;
};
namespace {
struct Hidden {
    int secret = 1;
};
}  // namespace
struct alignas(64) Line {
    char bytes[3] = {};
};
struct Incomplete;
struct KnowsIncomplete {
    Incomplete* pointer = nullptr;
};

}  // namespace zoo

static int numbers[3];
zoo::Duck duck;
zoo::Two two;
zoo::Box<int, 3> box;
zoo::Box<const char*, 2, false> names;
zoo::Pack<int, char, zoo::Plain> pack;
zoo::Wrap<zoo::Cell, long> wrap;
zoo::Either either{};
zoo::Old old = zoo::kNew;
zoo::Unsigned top = zoo::kTop;
zoo::Members members{
    .reference = numbers[0], .moved = static_cast<int&&>(numbers[1]), .row = numbers, .nested = {{}, {}}};
static zoo::Hidden hidden;
zoo::Line line;
zoo::KnowsIncomplete knows;
std::vector<int> vector{1, 2};
std::map<std::string, int> map{{"a", 1}};
std::unique_ptr<zoo::Plain> unique;
std::shared_ptr<zoo::Plain> shared;
std::optional<long> optional;
std::variant<int, double> variant;

int main() {
    auto lambda = [&](int add) { return add + hidden.secret + numbers[0] + static_cast<int>(duck.name.size()); };
    std::printf("%d %p %p %p %p\n", lambda(1), (void*)&two, (void*)&box, (void*)&names, (void*)&pack);
    std::printf("%p %p %d %lu %p\n", (void*)&wrap, (void*)&either, old, (unsigned long)top, (void*)&members);
    std::printf("%p %p %zu %zu\n", (void*)&line, (void*)&knows, vector.size(), map.size());
    return (unique != nullptr) + (shared != nullptr) + optional.has_value() + static_cast<int>(variant.index());
}
