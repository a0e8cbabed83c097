/* Functions without parameters that return small structs as Microsoft's compilers do, and as others do. */
#include <stdio.h>

#define CODE __asm__ volatile("nop; nop; nop; nop; nop; nop")

struct real {
    double share;
};
struct two {
    long first, second;
};

__attribute__((ms_abi, noinline)) struct real foreign_real(void) {
    CODE;
    return (struct real){2.5};
}

__attribute__((ms_abi, noinline)) struct two foreign_two(void) {
    CODE;
    return (struct two){7, 8};
}

__attribute__((noinline)) struct real own_real(void) {
    CODE;
    return (struct real){3.5};
}

__attribute__((noinline)) struct two own_two(void) {
    CODE;
    return (struct two){9, 10};
}

int main(void) {
    struct two two = foreign_two(), own = own_two();
    printf("%.1f %ld %ld\n", foreign_real().share, two.first, two.second);
    printf("%.1f %ld %ld\n", own_real().share, own.first, own.second);
    return 0;
}
