/* The smallest program; also built with -static and -static-pie, which cannot be observed from inside. */
#include <stdio.h>

__attribute__((noinline)) int greet(const char* name) { return printf("hello %s\n", name); }

int main(void) { return greet("world") < 0; }
