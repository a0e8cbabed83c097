/* Until 2.34 a program called its own constructors, by a function that it handed to __libc_start_main; since then the C
   library does, and startup files of today hand none. A newer library that is handed one leaves them to it. */

typedef void initializer(int, char**, char**);
typedef int starter(int (*)(int, char**, char**), int, char**, initializer*, void (*)(void), void (*)(void), void*);

extern initializer* __init_array_start[] __attribute__((visibility("hidden")));
extern initializer* __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void) __attribute__((visibility("hidden")));

extern starter strobe_libc_start_main;
__asm__(".symver strobe_libc_start_main, __libc_start_main@GLIBC_2.2.5");
starter __wrap___libc_start_main; /* what _start calls, by the linker's option --wrap */

static void initialize(int argc, char** argv, char** environment) {
    _init();
    for (initializer** each = __init_array_start; each < __init_array_end; each++) (*each)(argc, argv, environment);
}

int __wrap___libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, initializer* init,
                             void (*fini)(void), void (*loader_fini)(void), void* stack_end) {
    return strobe_libc_start_main(main, argc, argv, init ? init : initialize, fini, loader_fini, stack_end);
}
