/* Texts of all lengths at all places in a word, so many bytes before memory that cannot be read. What lies around them
   is no zero behind, and zeros or letters before. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

#define ROOM "nop; nop; nop; nop; nop" /* for a jump */

__attribute__((noipa)) void terminated(const char* s, int length, int gap) {
    __asm__ volatile(ROOM : : "r"(s), "r"(length), "r"(gap));
}
__attribute__((noipa)) void endless(const char* s, int length) { __asm__ volatile(ROOM : : "r"(s), "r"(length)); }

int main(void) {
    char* page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE) != 0) return 1;
    for (int length = 0; length <= 72; ++length) {
        for (int gap = 0; gap < 8; ++gap) {
            char* text = page + PAGE - 1 - gap - length;
            memset(page, gap % 2 ? 0 : '#', PAGE);
            memset(text + length, '~', (size_t)gap + 1);
            for (int i = 0; i < length; ++i) text[i] = (char)('a' + (i + length) % 26);
            text[length] = 0;
            terminated(text, length, gap);
        }
        if (length > 0) {
            memset(page, 0, PAGE);
            for (int i = 0; i < length; ++i) page[PAGE - length + i] = (char)('a' + (i + length) % 26);
            endless(page + PAGE - length, length);
        }
    }
    return 0;
}
