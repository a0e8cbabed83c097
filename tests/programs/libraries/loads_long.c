/* The main thread loads a library whose constructor waits for SIGUSR1. Built with -DLIBRARY -shared -fPIC: the library.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "told.h"

#ifdef LIBRARY
__attribute__((constructor)) static void load(void) {
    run_until_told();
    puts("loading");
    fflush(stdout);
    while (!told) usleep(1000);
}
#else
int main(int count, char** arguments) {
    void* library = dlopen(arguments[count - 1], RTLD_NOW);
    puts(library ? "loaded" : dlerror());
    return library ? 5 : 1;
}
#endif
