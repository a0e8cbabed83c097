// What can be written, and what cannot. Prints "ready", then what it has whenever gAsked changes.
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

enum class Colour : std::uint8_t { kRed = 1, kGreen = 2, kBlue = 3 };
enum Flags : unsigned { kA = 1, kB = 2, kC = 4 };

struct Base {
    int base_number = 1;
};

struct Voice : Base {
    float freq = 440.5f;
    std::int8_t note = -7;
    char name[8] = "abc";
    const int fixed = 9;
    unsigned low : 3 = 5;
    int high : 5 = -9;
    bool flag : 1 = true;
    Colour colour : 2 = Colour::kRed;
};

struct Node {
    int value = 0;
    Node* next = nullptr;
};
struct Leaf : Node {
    int more = 2;
};

union Number {
    std::int32_t whole;
    float real;
};

struct Overlaid {
    int first = 1;
    union {
        int left;
        int right;
    };
    int last = 3;
};

std::int8_t gSmall = -5;
std::uint8_t gByte = 200;
std::uint64_t gHuge = 1;
int gTempo = 120;
double gDouble = 2.5;
long double gExtended = 1.25L;
bool gFlag = true;
char gLetter = 'q';
char32_t gWide = U'w';
Colour gColour = Colour::kGreen;
Flags gFlags = static_cast<Flags>(kA | kC);
Voice gVoice;
Voice gVoices[2];
Number gNumber{7};
Overlaid gOverlaid{};
Node gFirst{1, nullptr};
Leaf gLeaf;
Node* gNode = nullptr;
void* gAnything = nullptr;
int (*gCallback)(int) = nullptr;
int gGrid[2][3] = {{1, 2, 3}, {4, 5, 6}};
int& gReference = gTempo;
char gBuffer[16] = "in a buffer";
char* gText = gBuffer;
const char* gConstantText = "a constant";
char* gNoText = nullptr;
wchar_t gWideText[4] = L"abc";
std::string gShort = "short";
std::string gLong(40, 'x');
std::u16string gUtf16 = u"utf";
std::string_view gView = gShort;
std::atomic<int> gAtomic{4};
std::array<int, 2> gRow{1, 2};
std::vector<int> gNumbers{1, 2, 3};
std::chrono::seconds gDuration{5};
volatile int gAsked = 0;
extern const int gConstant;
const int gConstant = 3;
extern const volatile int gLate;
const volatile int gLate = std::getenv("HOME") != nullptr;  // it has a value when the program runs only

int twice(int number) { return 2 * number; }

void print() {
    std::cout << gTempo << ' ' << gShort << ' ' << gShort.size() << ' ' << gLong.size() << ' ' << gBuffer << ' '
              << gAtomic << ' ' << gVoice.freq << ' ' << gVoice.name << ' ' << gVoice.low << gVoice.high << gVoice.flag
              << ' ' << (gNode == &gFirst) << ' ' << (gCallback ? gCallback(21) : 0) << ' ' << gExtended << std::endl;
}

int main() {
    print();
    std::cout << "ready " << gConstant << gLate << gConstantText << (gNoText ? gNoText : "") << gView.size()
              << std::endl;
    for (int seen = 0;; usleep(1000))
        if (gAsked != seen) {
            seen = gAsked;
            print();
        }
}
