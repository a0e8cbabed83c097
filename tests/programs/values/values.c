// One of each kind of value in C. Prints "ready" when all are set, then counts until standard input ends.
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

enum Mode { MODE_OFF, MODE_LOOP = 2, MODE_BELOW = -3 };
enum Flags { FLAG_A = 1, FLAG_B = 2, FLAG_C = 4, FLAG_D = 8 };

struct Voice {
    float freq;
    int8_t note;
    char name[8];
};

struct Node {
    int value;
    struct Node* next;
};

union Number {
    int32_t whole;
    float real;
    char bytes[4];
};

struct Bits {
    unsigned low : 3;
    signed high : 5;
    bool flag : 1;
    enum Mode mode : 4;
    uint64_t wide : 40;
};

struct State {
    struct Voice voices[4];
    const char* title;
    enum Mode mode;
    struct Bits bits;
    struct Node* head;
    union Number number;
    struct {
        int x;
        int y;
    };
    int grid[2][3];
    int (*callback)(int);
};

struct Opaque;

static int twice(int x) { return 2 * x; }

bool gTrue = true;
char gLetter = 'q';
char gZero = 0;
signed char gSmall = -5;
unsigned char gByte = 200;
short gShort = -1234;
unsigned short gWord = 54321;
int gTempo = 120;
unsigned gCount = 4000000000u;
long gLong = -9000000000000000000;
unsigned long gHuge = 18000000000000000000u;
__int128 gWide = (__int128)1 << 100;
float gFloat = 0.1f;
double gDouble = -2.5e300;
long double gExtended = 1.25L;
double complex gComplex = 1.0 + 2.0 * I;
float gInfinite = 1.0f / 0.0f;
wchar_t gLetterWide = L'\u00e4';
enum Mode gMode = MODE_LOOP;
enum Mode gBelow = MODE_BELOW;
enum Flags gFlags = FLAG_A | FLAG_C;
struct Bits gBits = {5, -9, true, MODE_LOOP, 0xABCDEF0123};
union Number gNumber = {.real = 1.5f};
struct Voice gVoice = {440.5f, -7, "abc"};
struct Node gSecond = {2, NULL};
struct Node gFirst = {1, &gSecond};
struct State gState = {.voices = {[3] = {220.25f, 12, "bass"}},
                       .title = "a \"title\"",
                       .mode = MODE_LOOP,
                       .bits = {1, 2, false, MODE_OFF, 3},
                       .head = &gFirst,
                       .number = {.whole = 77},
                       .x = 3,
                       .y = 4,
                       .grid = {{1, 2, 3}, {4, 5, 6}},
                       .callback = twice};
struct State* gStatePointer = &gState;
struct State** gStatePointerPointer = &gStatePointer;
struct Node* gNull;
struct Node* gWild = (struct Node*)0x10;
struct Opaque* gOpaque;
void* gAnything = &gTempo;
int* gElement = &gState.grid[1][1];
int (*gCallback)(int) = twice;
const char* gTitle = "hello";
const char* gTitles[3] = {"one", NULL, "three"};
struct Node* gNodes[2] = {&gFirst, &gSecond};
wchar_t gWideText[8] = L"h\u00e4 h\u00f6";
char gUnended[4] = {'f', 'u', 'l', 'l'};
int gMany[250] = {1, 2, 3};
int gHundred[100] = {7};
int gHundredOne[101] = {8};
char gLongest[1025];
char gTooLong[1026];
static volatile int gHidden = 31;
_Thread_local int gLocal = 5;
volatile int64_t gFlipping;

int counted(void) {
    static volatile int calls = 40;
    return calls = calls + 1;
}

int counted_too(void) {
    static volatile int calls = 60;
    return calls = calls + 1;
}

__attribute__((noinline)) void all_set(void) {
    puts("ready");
    fflush(stdout);
}

int main(void) {
    gSecond.next = &gFirst;
    for (unsigned i = 0; i + 1 < sizeof gLongest; i++) gLongest[i] = 'x';
    for (unsigned i = 0; i + 1 < sizeof gTooLong; i++) gTooLong[i] = 'y';
    gLocal += counted() + counted_too() + gHidden;
    all_set();
    char byte;
    while (read(0, &byte, 1) > 0) continue;
    for (;;) gFlipping = ~gFlipping;
}
