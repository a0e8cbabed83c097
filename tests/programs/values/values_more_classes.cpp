// More kinds of values in C++, linked to values_classes.cpp: a second unit, whose names are partly those of the first.
#include <cstddef>
#include <cstdint>

enum class Small : std::int8_t { kBelow = -128, kAbove = 127 };
enum class Long : std::uint64_t { kNone, kAll = UINT64_MAX };
enum class Truth : bool { kNo, kYes };
enum class Sign : char { kPlus = '+', kMinus = '-' };
enum Plain { kFirst, kSecond = 1, kAlsoSecond = 1, kThird };
enum Based : unsigned short { kLow = 1, kHigh = 0x8000 };

namespace shop {
int price_more = 251;
namespace inner {
inline namespace v2 {
struct Item {
    long id = 6;
    static inline int made = 3;
    static constexpr short kLimit = -12;
    static const int kOld;
};
const int Item::kOld = 13;
Item item;
int version = 2;
}  // namespace v2
namespace {
volatile int concealed = 17;
struct Local {
    volatile int value = 18;
} local;
}  // namespace
}  // namespace inner
}  // namespace shop

namespace {
volatile int hidden = 42;
}

namespace kinds {

struct First {
    int number = 1;
    virtual ~First() = default;
    virtual int speak(int x) { return x; }
};
struct Second {
    int number = 2;
    virtual ~Second() = default;
    virtual int sing() { return number; }
};
struct Both : First, Second {
    int number = 3;
    int sing() override { return number; }
    int plain(int x) const { return x + number; }
};
struct Top {
    virtual ~Top() = default;
    short top = 10;
};
struct MiddleOne : virtual Top {
    short one = 11;
};
struct MiddleTwo : virtual Top, Second {
    short two = 12;
};
struct Bottom : MiddleOne, MiddleTwo {
    short bottom = 13;
};
struct BelowBottom final : Bottom, private First {
    char last = 'z';
};
struct Nothing {};
struct FromNothing : Nothing {
    int value = 5;
    [[no_unique_address]] Nothing nothing;
};

template <typename T, int count, bool flag>
struct Counted {
    T items[count] = {};
    static constexpr bool is_flagged = flag;
    struct Inside {
        T one;
    } inside{};
};
template <auto value>
struct Fixed {
    decltype(value) content = value;
};
template <typename... Parts>
struct Pack;
template <>
struct Pack<> {};
template <typename Head, typename... Rest>
struct Pack<Head, Rest...> : Pack<Rest...> {
    Head head{};
};
template <template <typename, int, bool> class Holder>
struct Held {
    Holder<short, 2, false> held;
};
template <typename T>
T variable_of = T(4);

class Hidden {
  public:
    explicit Hidden(int value) : secret_(value), text_("hidden") {}
    int secret() const { return text_ == nullptr ? secret_ : always_ + self_; }

  protected:
    mutable int secret_;

  private:
    const char* text_;
    const int always_ = 6;
    int& self_ = secret_;
};

struct Referring {
    int& number;
    const Hidden& hidden;
    int (&row)[3];
    int&& moved;
    int (&call)(int);
};

struct Bits {
    Small small : 8;
    Based based : 16;
    Truth truth : 1;
    Sign sign : 8;
    Plain plain : 3;
    bool flag : 1;
    std::int64_t number : 50;
    char16_t letter : 16;
};

union Shape {
    struct {
        float radius;
    } circle;
    struct {
        std::uint16_t width, height;
    };
    const void* none;
    Shape() : circle{2.0f} {}
};

struct Chain {
    Chain* next;
    Chain& self;
    const Chain* const* last;
};

int tripled(int x) { return 3 * x; }

}  // namespace kinds

kinds::Both gBoth;
kinds::Bottom gBottom;
kinds::BelowBottom gBelowBottom;
kinds::FromNothing gFromNothing;
kinds::Nothing gNothingAtAll;
kinds::Counted<short, 3, true> gCounted{{1, -2, 3}, {4}};
kinds::Counted<kinds::Counted<char, 2, false>, 1, true> gCountedTwice{{{{'o', 'k'}, {'!'}}}, {{{'n', 'o'}, {'?'}}}};
kinds::Fixed<-5> gFixed;
kinds::Fixed<'x'> gFixedLetter;
kinds::Fixed<Small::kBelow> gFixedEnum;
kinds::Pack<int, double, char> gPack{};
kinds::Held<kinds::Counted> gHeld{{{8, 9}, {10}}};
kinds::Hidden gHidden(61);
int gRow[3] = {71, 72, 73};
int gMoved = 74;
kinds::Referring gReferring{gRow[1], gHidden, gRow, static_cast<int&&>(gMoved), kinds::tripled};
int (&gRowReference)[3] = gRow;
kinds::Both& gBothReference = gBoth;
const int& gConstReference = 75;
kinds::First* gFirstBase = &gBoth;
kinds::Second* gSecondBase = &gBoth;
kinds::Top* gTopBase = &gBottom;
kinds::Both* gBothPlaces[2] = {&gBoth, nullptr};
kinds::Bits gBits{Small::kBelow, kHigh, Truth::kYes, Sign::kMinus, kThird, true, -(1ll << 49), u'\u00e4'};
kinds::Shape gShape;
kinds::Chain gChain{&gChain, gChain, &gChain.next};
Small gSmall = Small::kAbove;
Long gLong = Long::kAll;
Truth gTruth = Truth::kYes;
Sign gSign = Sign::kMinus;
Plain gPlainEnum = kAlsoSecond;
Based gBased = kHigh;
Small gSmalls[3] = {Small::kBelow, Small::kAbove, Small(5)};
int kinds::Both::* gMemberPointer = &kinds::Both::number;
int kinds::Both::* gNoMember = nullptr;
int (kinds::Both::*gMethod)(int) const = &kinds::Both::plain;
int (kinds::Second::*gVirtualMethod)() = &kinds::Second::sing;
int (*gFunction)(int) = kinds::tripled;
int (*gFunctions[2])(int) = {kinds::tripled, nullptr};
int (&gFunctionReference)(int) = kinds::tripled;
char8_t gLetter8 = u8'a';
const char8_t* gPlace8 = u8"gr\u00fcn";
char32_t gLetter32 = U'\U0001f600';
std::byte gByte{0xab};
bool gFlags[2][2] = {{true, false}, {false, true}};
constexpr double kHalf = 0.5;
const double* gHalfPlace = &kHalf;
extern "C" {
int gPlainC = 81;
struct CPoint {
    int x, y;
} gPointC{82, 83};
int called_by_c(void) {
    static volatile int calls = 84;
    calls = calls + 1;
    return calls;
}
}

struct Caller {
    [[gnu::noinline]] int call(int by) {
        static volatile int calls = 90;
        calls = calls + by;
        return calls;
    }
    [[gnu::noinline]] int call(long by) {
        static volatile int longer_calls = 95;
        longer_calls = longer_calls + static_cast<int>(by);
        return longer_calls;
    }
};

__attribute__((constructor)) static void set() {
    Caller caller;
    gFlags[1][0] = caller.call(1) + caller.call(2L) + called_by_c() == 0;
    hidden = hidden + 1;
    shop::inner::concealed = shop::inner::concealed + shop::inner::local.value - 18;
    gMoved += kinds::variable_of<int> - 4;
    gMoved += static_cast<int>(kinds::variable_of<double>) - 4 + shop::inner::Item::made - 3;
}
