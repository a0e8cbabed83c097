// More kinds of values in C, linked to values.c: a second unit, whose names are partly those of the first.
#include <complex.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uchar.h>
#include <wchar.h>

enum Direction { DIRECTION_NORTH = -2, DIRECTION_UP = -2, DIRECTION_SOUTH = 7, DIRECTION_FAR = 1 << 30 };
enum Wide { WIDE_LEAST = -5000000000, WIDE_MOST = 5000000000 };

struct Flexible {
    uint16_t count;
    int items[];
};

struct FlexibleText {
    int16_t id;
    char text[];
};

struct Point {
    int16_t x, y;
};

union Either {
    struct Point point;
    uint32_t whole;
    struct {
        uint8_t first, second;
    };
};

struct Tagged {
    char tag;
    union Either either;
    union {
        struct Point* place;
        uint64_t word;
    };
};

// Bit-fields that begin in one unit of their type and end in the next, where packing lets them.
struct __attribute__((packed)) Crossing {
    unsigned first : 7;
    int second : 27;
    uint64_t third : 35;
    int64_t fourth : 61;
    bool fifth : 1;
    int8_t sixth : 5;
    enum Direction seventh : 32;
};

struct Fields {
    bool yes : 1, no : 1;
    signed char small : 3;
    unsigned char byte : 6;
    int : 0;
    short negative : 9;
    unsigned short positive : 15;
    int one : 1;
    long most : 64;
    unsigned long rest : 33;
};

struct __attribute__((packed)) Packed {
    char letter;
    double real;
    int32_t number;
    struct Point* place;
    short last;
};

struct Aligned {
    char letter;
    alignas(32) int number;
    alignas(16) char text[5];
};

struct Nested {
    struct {
        struct {
            int deepest;
            union {
                float real;
                unsigned whole;
            };
        } inner[2][2];
        const char* label;
    } outer;
    int last;
};

struct Husband;
struct Wife {
    const char* name;
    struct Husband* husband;
};
struct Husband {
    struct Wife* wife;
    int age;
};

struct Selfish {
    struct Selfish* self;
    void* also;
    struct Selfish* others[2];
};

struct Empty {};

struct Table {
    const char* name;
    int (*run)(int, const char*);
    void (*end)(void);
};

struct Deep1 {
    int own;
    struct Deep2 {
        int own;
        struct Deep3 {
            int own;
            struct Deep4 {
                int own;
                struct Deep5 {
                    int own;
                    struct Deep6 {
                        int own;
                    } next;
                } next;
            } next;
        } next[2];
    } next;
};

static int run_first(int number, const char* text) { return number + text[0]; }
static int run_second(int number, const char* text) { return number - text[0]; }
static void ends(void) {}

static volatile int gHidden = 32;
struct Flexible gFlexible = {3, {10, -20, 30}};
struct FlexibleText gFlexibleText = {7, {"as long as it is"}};
struct {
    int none[0];
    char last[];
} gNoLength = {{}, {""}};
struct Point gPoints[2][3] = {{{1, -1}, {2, -2}, {3, -3}}, {{4, -4}, {5, -5}, {6, -6}}};
struct Tagged gTagged[3] = {{'a', {.point = {-1, 2}}, {.word = 1}}, {'\0', {.whole = 0xdeadbeef}, {.word = 4097}}};
struct Crossing gCrossing = {99, -60000000, 0x5aaaaaaaa, -(1ll << 59), true, -16, DIRECTION_NORTH};
struct Fields gFields = {true, false, -4, 63, -256, 32767, -1, INT64_MIN, 0x1ffffffff};
struct Packed gPacked = {'p', 1e-310, -2, &gPoints[0][1], 3};
struct Packed gPackedRow[2] = {{'q', -0.0, 5, NULL, -6}, {'r', 1.0 / 3, 7, NULL, -8}};
struct Aligned gAligned = {'a', 77, "text"};
struct Nested gNested = {{{{{1, {1.5f}}, {2, {2.5f}}}, {{3, {3.5f}}, {4, {-4.5f}}}}, "label"}, 9};
struct Husband gHusband;
struct Wife gWife = {"wife", &gHusband};
struct Husband gHusband = {&gWife, 40};
struct Selfish gSelfish = {&gSelfish, &gSelfish, {NULL, &gSelfish}};
struct Empty gEmpty;
struct Deep1 gDeep = {1, {2, {{3, {4, {5, {6}}}}, {31, {41, {51, {61}}}}}}};
struct Table gTable = {"table", run_first, NULL};
struct Table gTables[2] = {{"first", run_first, ends}, {"second", run_second, ends}};
int (*gRunners[3])(int, const char*) = {run_first, NULL, run_second};
int (**gRunnerPlace)(int, const char*) = &gRunners[2];
int (*gRow)[3] = NULL;
struct Point (*gPointRow)[3] = &gPoints[1];
struct Point* gPointPlace = &gPoints[0][2];
enum Direction gDirection = DIRECTION_UP;
enum Direction gFar = DIRECTION_FAR;
enum Direction gNowhere = (enum Direction)12345;
enum Wide gWideEnum = WIDE_LEAST;
enum Wide gWideEnums[2] = {WIDE_MOST, 3};
enum { UNNAMED_ONE = 1, UNNAMED_TWO } gUnnamedEnum = UNNAMED_TWO;
struct {
    int a;
    struct {
        char b;
    } c;
} gUnnamed = {5, {'c'}};
const int gConstant = -77;
volatile short gVolatile = -78;
const volatile struct Point gConstVolatile = {7, 8};
const char* const gConstText = "constant";
_Atomic int gAtomic = 79;
_Atomic uint64_t gAtomicWide = UINT64_MAX;
atomic_bool gAtomicFlag = true;
_Atomic(struct Point*) gAtomicPointer = &gPoints[0][0];
unsigned __int128 gHugest = ~(unsigned __int128)0;
__int128 gLeast = (__int128)1 << 127;
long double gTiny = 3.6e-4951L;
long double gBeyond = -1.5e4000L;
long double gBeyondToo = 0x1p-16444L;
long double gThird = 1.0L / 3;
float complex gFloatComplex = 0.1f - 2.5f * I;
long double complex gExtendedComplex = -0.5L + 1e300L * I;
float gNegativeZero = -0.0f;
double gNotANumber;
double gSubnormal = 4.9e-324;
float gFloats[3] = {16777216.0f, 3.4028235e38f, -1.1754944e-38f};
bool gBools[3] = {true, false, true};
_Bool* gBoolPlace = &gBools[1];
size_t gSize = SIZE_MAX;
ptrdiff_t gDifference = PTRDIFF_MIN;
signed char gBytes[4] = {-128, -1, 0, 127};
uint8_t gOctets[3] = {0, 128, 255};
char gEscapes[] = "\a\b\t\n\v\f\r\"'\\\?\x1b\x7f!";
char gBroken[] = "\xc3(\xff\xfe ok";
char gInner[] = "be\0hind";
char gEmptyText[4];
char gRows[3][4] = {"one", "two", {'f', 'o', 'u', 'r'}};
const char* gEmptyString = "";
const char* gPoem = "gr\u00fc\u00dfe \u65e5\u672c \U0001f600";
char16_t gText16[] = u"gr\u00fcn \U0001f600";
char32_t gText32[] = U"gr\u00fcn \U0001f600";
wchar_t* gWidePlace = L"\u00e4\u00f6 \U0001f600";
const char16_t* gPlace16 = u"\u65e5\u672c";
char16_t gLetter16 = u'\u65e5';
char32_t gLetter32 = U'\U0001f600';
char gLetters[3][2] = {"a", "", "c"};
int gNinetyNine[99] = {[98] = 98};
short gHundredAgain[100] = {[99] = 99};
long gHundredAndOne[101] = {[99] = 99, [100] = 100};
struct Point gHundredPoints[101] = {[99] = {1, 2}, [100] = {3, 4}};
char gText1023[2000];
char gText1024[2000];
char gText1025[2000];
char* gLongPlace = gText1025;
void** gSelfPlace = (void**)&gSelfPlace;
#ifdef __FLT16_MANT_DIG__
_Float16 gHalf = (_Float16)-1.5f;
#endif
#if defined(__GNUC__) && !defined(__clang__)
_Float128 gQuadruple = 1.25f128;
_Float128 gQuadruples[4] = {-1.0f128 / 3, 1e-4940f128, 1e4900f128, -0.0f128};
#endif
typedef int Vector __attribute__((vector_size(16)));
Vector gVector = {1, -2, 3, -4};

int counted_here(int by) {
    static volatile int calls = 5;
    static volatile struct Point last = {1, 2};
    {
        static volatile int inner_calls = 6;
        inner_calls += by;
        last.y += inner_calls;
    }
    last.x += calls;
    return calls += by;
}

// A pointer to rows whose length is known at run time alone.
int measure(int length) {
    static int (*volatile rows)[];
    int (*typed)[length] = (int (*)[length])gNinetyNine;
    rows = (int (*)[])typed;
    return (*rows)[0] + (*typed)[1];
}

__attribute__((constructor)) static void set(void) {
    gNotANumber = __builtin_nan("");
    gNested.last += run_second(gHidden, "") - 32;
    for (int i = 0; i < 1025; i++) {
        if (i < 1023) gText1023[i] = 'a';
        if (i < 1024) gText1024[i] = 'b';
        gText1025[i] = 'c';
    }
    counted_here(2);
    measure(7);
}
