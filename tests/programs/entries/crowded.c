/* Functions that lie without a gap. Behind `returns_only`, a byte long, begins one with what others are padded with;
   `outer` goes on into `inner`, which is called by itself as well; `alone` has real padding behind it. */
#include <stdio.h>

__asm__(
    ".text\n"
    ".globl returns_only, padded, outer, inner, alone\n"
    ".type returns_only, @function\n"
    ".type padded, @function\n"
    ".type outer, @function\n"
    ".type inner, @function\n"
    ".type alone, @function\n"
    "returns_only: ret\n"
    ".size returns_only, .-returns_only\n"
    "padded: nop; nop; nop; nop; lea 1(%rdi), %eax; ret\n"
    ".size padded, .-padded\n"
    "outer: xor %eax, %eax\n"
    "inner: lea 3(%rdi), %eax; nop; ret\n"
    ".size inner, .-inner\n"
    ".size outer, .-outer\n"
    ".p2align 4\n"
    "alone: ret\n"
    ".size alone, .-alone\n"
    ".p2align 4, 0x90\n");

void returns_only(void);
int padded(int value);
int outer(int value);
int inner(int value);
void alone(void);

int main(void) {
    int sum = 0;
    for (int value = 0; value < 1000; value++) {
        returns_only();
        alone();
        sum += padded(value) + outer(value) + inner(value);
    }
    printf("%d\n", sum);
    return 0;
}
