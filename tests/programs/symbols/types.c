// One of each kind of type in C, all described in debug information because a variable has it.
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <uchar.h>
#include <wchar.h>

struct node {
    struct node* next;
    struct node* kids[2];
    const char* name;
};
struct bits {
    unsigned a : 3;
    int b : 5;
    unsigned long c : 40;
    unsigned : 4;
    unsigned d : 1;
    _Bool e : 1;
    signed char f : 7;
    unsigned short g : 9;
};
struct __attribute__((packed)) tight {
    char a;
    int b;
    unsigned c : 13;
    unsigned long d : 60;
    double e;
};
struct holes {
    char a;
    double b;
    char c;
    _Alignas(32) int d;
    short e;
};
struct flexible {
    int count;
    short tail[];
};
struct nothing_last {
    int count;
    int none[0];
};
struct anonymous {
    int kind;
    union {
        int whole;
        struct {
            short low, high;
        };
        float real;
    };
    struct {
        int x, y;
    } place;
};
union number {
    uint64_t u;
    double d;
    char bytes[8];
    struct {
        unsigned sign : 1, exponent : 11;
    } parts;
};
typedef int (*callback)(struct node*, const char*, ...);
typedef struct {
    callback call;
    int (*table[3])(void);
    int (*rows)[4];
    char* const* names;
    const volatile int* both;
    void (*const fixed)(int);
} functions;
typedef int matrix[3][5];
typedef float four __attribute__((vector_size(16)));
struct numbers {
    _Bool flag;
    signed char sc;
    unsigned char uc;
    short s;
    unsigned u;
    long long ll;
    __int128 wide;
    unsigned __int128 uwide;
    float f;
    double d;
    long double ld;
    __float128 quad;
    double complex z;
    wchar_t w;
    char16_t c16;
    char32_t c32;
    _Atomic int atomic;
    four vector;
    matrix m;
#ifdef __clang__
    _BitInt(37) odd;
#else
    _Decimal64 money;
#endif
};
enum colour { RED, GREEN = 200, BLUE };
enum below { NONE = -1, LEAST = -2147483647 - 1, MOST = 2147483647 };
enum huge { SMALL = 1, LARGEST = 0xffffffffffffffff };
enum wide_below { FAR_BELOW = -5000000000, FAR_ABOVE = 5000000000 };
enum permissions { READ = 1, WRITE = 2, EXECUTE = 4, ALL = 7 };
enum __attribute__((packed)) tiny { ONE = 1, TOP = 255 };
struct opaque;
struct holder {
    struct opaque* hidden;
    enum colour colour : 9;
    enum permissions permissions;
    enum below below;
};

struct node node;
struct bits bits;
struct tight tight;
struct holes holes;
struct flexible flexible;
struct nothing_last nothing_last;
struct anonymous anonymous;
union number number;
functions function_table = {0};
struct numbers numbers;
struct holder holder;
enum huge huge;
enum wide_below wide_below;
enum tiny tiny;
const char* restrict restricted;

int sum(int n, int values[n]) {
    int copy[n];
    int total = 0;
    for (int i = 0; i < n; i++) {
        copy[i] = values[i];
        total += copy[i];
    }
    return total;
}

int main(void) {
    int values[3] = {1, 2, 3};
    printf("%d %p %p\n", sum(3, values), (void*)&node, (void*)&restricted);
    printf("%p %p %p %p %p\n", (void*)&bits, (void*)&tight, (void*)&holes, (void*)&flexible, (void*)&nothing_last);
    printf("%p %p %p %p\n", (void*)&anonymous, (void*)&number, (void*)&function_table, (void*)&numbers);
    printf("%p %p %p %p\n", (void*)&holder, (void*)&huge, (void*)&wide_below, (void*)&tiny);
    return 0;
}
