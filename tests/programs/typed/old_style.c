/* A definition without prototype: its callers pass a double for the float, whatever debug information says. */
#include "typed.h"

APART double t_old(f, d, n)
float f;
double d;
int n;
{
    say("> t_old(f=%.1f, d=%.1f, n=%d)", f, d, n);
    return f + d;
}

int main(void) {
    say("< t_old = %.1f", t_old(1.5f, 2.5, 3));
    return 0;
}
