/* Built with -finstrument-functions and -rdynamic. It says who has called each function, at its entry and its exit, and
   whether that is code of the program; and one function says by itself who has called it. With -DLIBRARY the
   library alone that says it, with -DELSEWHERE the program without that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#define NOT_INSTRUMENTED __attribute__((no_instrument_function))
#define ALONE NOT_INSTRUMENTED __attribute__((noinline)) /* as from a file of its own */

#ifdef LIBRARY /* whose code lies elsewhere */
#define IS_OWN(address) ((address) != NULL)
#else
extern const char __executable_start, etext;
#define IS_OWN(address) ((const char*)(address) >= &__executable_start && (const char*)(address) < &etext)
#endif

NOT_INSTRUMENTED static const char* name_of(void* address) {
    Dl_info found;
    return dladdr(address, &found) && found.dli_sname ? found.dli_sname : "?";
}

#ifndef ELSEWHERE
NOT_INSTRUMENTED static void say(const char* what, void* function, void* site) {
    printf("%s %s from %s%s\n", what, name_of(function), name_of(site), IS_OWN(site) ? "" : ", elsewhere");
}

ALONE void __cyg_profile_func_enter(void* function, void* site) { say("enter", function, site); }
ALONE void __cyg_profile_func_exit(void* function, void* site) { say("leave", function, site); }
#endif

#ifndef LIBRARY

__attribute__((noinline)) int leaf(int number) {
    printf("called by %s\n", name_of(__builtin_return_address(0)));
    return number + 1;
}

/* by a jump */
NOT_INSTRUMENTED __attribute__((noinline)) int jumps(int number) { return leaf(2 * number); }

__attribute__((noinline)) int nested(int depth) { return depth ? nested(depth - 1) + jumps(depth) : leaf(1); }

int main(void) { return nested(2) != 10; }
#endif
