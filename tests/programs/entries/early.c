/* Its functions are called before its first instruction: by a library's constructor, by .preinit_array (-DPREINIT),
   and to choose an implementation (-DCHOOSES). */
#include <stdio.h>

extern int counted(void);
int calls;

__attribute__((noinline)) void called_by_library(void) { calls += 1; }
__attribute__((noinline)) void called_early(void) { calls += 10; }
__attribute__((noinline)) void never_called(void) { calls += 100; }

#ifdef PREINIT
static void preinit(void) { called_early(); }
__attribute__((section(".preinit_array"), used)) static void (*first)(void) = preinit;
#endif

#ifdef CHOOSES
static int chosen_one(void) { return 1000; }
static int (*choose(void))(void) {
    called_early();
    return chosen_one;
}
int chosen(void) __attribute__((ifunc("choose")));
#endif

int main(int count, char** arguments) {
    (void)arguments;
    if (count > 5) {
        called_early();
        never_called();
    }
#ifdef CHOOSES
    calls += chosen();
#endif
    printf("%d %d\n", calls, counted());
    return 0;
}
