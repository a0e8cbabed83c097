/* A small machine with computed goto, the same with a switch, and one that jumps from handler to handler (tail calls).
 */
#include <stdio.h>

#define TRACED __attribute__((noinline))
enum { PUSH, ADD, MULTIPLY, DROP, LOOP, END };
static const int program[] = {PUSH, 3, PUSH, 4, ADD, PUSH, 5, MULTIPLY, DROP, LOOP, 200, END};

TRACED long add(long a, long b) { return a + b; }
TRACED long multiply(long a, long b) { return a * b; }

TRACED long with_labels(const int* code) {
    static const void* const labels[] = {&&push, &&add_, &&multiply_, &&drop, &&loop, &&end};
    long stack[8], *top = stack, sum = 0, rounds = 0;
    const int* at = code;
#define NEXT goto* labels[*at++]
    NEXT;
push:
    *top++ = *at++;
    NEXT;
add_:
    top--, top[-1] = add(top[-1], top[0]);
    NEXT;
multiply_:
    top--, top[-1] = multiply(top[-1], top[0]);
    NEXT;
drop:
    sum += *--top;
    NEXT;
loop:
    if (++rounds < *at++) at = code;
    NEXT;
end:
    return sum;
}
TRACED long with_switch(const int* code) {
    long stack[8], *top = stack, sum = 0, rounds = 0;
    for (const int* at = code;;) switch (*at++) {
            case PUSH:
                *top++ = *at++;
                break;
            case ADD:
                top--, top[-1] = add(top[-1], top[0]);
                break;
            case MULTIPLY:
                top--, top[-1] = multiply(top[-1], top[0]);
                break;
            case DROP:
                sum += *--top;
                break;
            case LOOP:
                if (++rounds < *at++) at = code;
                break;
            default:
                return sum;
        }
}

struct machine {
    const int *start, *at;
    long stack[8], *top, sum, rounds;
};
typedef long handler(struct machine* m);
handler do_push, do_add, do_multiply, do_drop, do_loop, do_end;
static handler* const handlers[] = {do_push, do_add, do_multiply, do_drop, do_loop, do_end};
#define DISPATCH return handlers[*m->at++](m)
TRACED long do_push(struct machine* m) {
    *m->top++ = *m->at++;
    DISPATCH;
}
TRACED long do_add(struct machine* m) {
    m->top--, m->top[-1] = add(m->top[-1], m->top[0]);
    DISPATCH;
}
TRACED long do_multiply(struct machine* m) {
    m->top--, m->top[-1] = multiply(m->top[-1], m->top[0]);
    DISPATCH;
}
TRACED long do_drop(struct machine* m) {
    m->sum += *--m->top;
    DISPATCH;
}
TRACED long do_loop(struct machine* m) {
    if (++m->rounds < *m->at++) m->at = m->start;
    DISPATCH;
}
TRACED long do_end(struct machine* m) { return m->sum; }

int main(void) {
    struct machine m = {.start = program, .at = program};
    m.top = m.stack;
    printf("%ld %ld %ld\n", with_labels(program), with_switch(program), handlers[*m.at++](&m));
    return 0;
}
