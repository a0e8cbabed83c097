/* Functions that jump to the loader's: it asks whose code calls it. Compiled with -O2. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

__attribute__((noinline)) void* next(const char* name) { return dlsym(RTLD_NEXT, name); }
__attribute__((noinline)) void* next_of_version(const char* name) { return dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5"); }
__attribute__((noinline)) void* opened(const char* name) { return dlopen(name, RTLD_NOW); }
__attribute__((noinline)) void* opened_apart(const char* name) { return dlmopen(LM_ID_BASE, name, RTLD_NOW); }

__attribute__((noinline)) int right(void) {
    int found = 0;
    for (int round = 0; round < 10; round++) {
        found += next("puts") != NULL && next_of_version("puts") != NULL;
        found += opened("libm.so.6") != NULL && opened_apart("libm.so.6") != NULL;
    }
    return found;
}

int main(void) {
    printf("%d right\n", right());
    return 0;
}
