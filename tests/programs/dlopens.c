/* Loads the library that is named, calls it 1,000 times, unloads it; three times over. `dlopens LIBRARY` */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static long use(const char* path) {
    int (*run)(int);
    long sum = 0;
    void* library = dlopen(path, RTLD_NOW);
    if (!library) return -1;
    void* symbol = dlsym(library, "plugin_run");
    memcpy(&run, &symbol, sizeof run);
    for (int value = 0; value < 1000; value++) sum += run(value);
    dlclose(library);
    return sum;
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    for (int round = 0; round < 3; round++) printf("%ld\n", use(argv[1]));
    return 0;
}
