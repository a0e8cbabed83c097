// One of each kind of value that C++ adds. Prints "ready" when all are set, then waits for the end of standard input.
#include <unistd.h>

#include <cstdint>
#include <cstdio>

enum class Colour : std::uint8_t { kRed = 1, kGreen = 2, kBlue = 3 };

namespace shop {

struct Base {
    int base_number = 11;
};

struct Named {
    const char* name = "named";
    char initial = 'n';
};

struct Plain : Base, Named {
    Colour colour = Colour::kGreen;
    bool is_new = true;
};

class Animal {
  public:
    virtual ~Animal() = default;
    virtual int legs() const;

  protected:
    int legs_ = 4;
};

class Dog : public Animal {
  public:
    int legs() const override;
    const char* sound() const { return sound_; }
    static int count;
    static constexpr int kMost = 9;

  private:
    const char* sound_ = "woof";
};

int Animal::legs() const { return legs_; }
int Dog::legs() const { return legs_ - 1; }
int Dog::count = 2;

struct Root {
    virtual ~Root() = default;
    int root = 1;
};
struct Left : virtual Root {
    int left = 2;
};
struct Right : virtual Root {
    int right = 3;
};
struct Diamond : Left, Right {
    int own = 4;
};

template <typename T>
struct Box {
    T content;
    static T last;
};
template <typename T>
T Box<T>::last = T{8};

struct Outer {
    struct Inner {
        int deep[2];
    } inner;
    union {
        int as_int;
        unsigned char as_bytes[4];
    };
    Outer* up;
};

int price = 250;

}  // namespace shop

namespace {
volatile int hidden = 41;
}

struct Level5 {
    int last = 5;
};
struct Level4 {
    Level5 five;
};
struct Level3 {
    Level4 four;
};
struct Level2 {
    Level3 three;
};
struct Level1 {
    Level2 two;
} gLevels;

shop::Plain gPlain;
shop::Dog gDog;
shop::Diamond gDiamond;
shop::Animal* gAnimal = &gDog;
shop::Box<int> gBox{7};
shop::Box<double> gBoxOfDouble{7.5};
shop::Outer gOuter{{{1, 2}}, {3}, &gOuter};
int& gPriceReference = shop::price;
shop::Plain& gPlainReference = gPlain;
Colour gColour = Colour::kBlue;
Colour gNoColour = static_cast<Colour>(77);
int shop::Base::* gMember = &shop::Base::base_number;
std::nullptr_t gNothing = nullptr;
char16_t gWideText[] = u"w\u00efde";
char8_t gUtf8[] = u8"gr\u00fcn";

__attribute__((noinline)) void all_set() {
    std::puts("ready");
    std::fflush(stdout);
}

int main() {
    hidden = hidden + shop::Box<int>::last;
    all_set();
    char byte;
    while (read(0, &byte, 1) > 0) continue;
    for (;;) pause();
}
