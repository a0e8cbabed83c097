/* Programs that say what each of their functions was given and gave back, in Strobe's words: one line "> f(a=1)" at the
   entry, one "< f = 2" at the return. */
#ifndef TYPED_H
#define TYPED_H

#include <stdarg.h>
#include <stdio.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

__attribute__((format(printf, 1, 2))) static inline void say(const char* form, ...) {
    va_list list;
    va_start(list, form);
    vprintf(form, list);
    va_end(list);
    putchar('\n');
}

#endif
