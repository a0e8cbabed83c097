/* Pointers to functions: alone, in a struct, as a result; one that is traced, one that is not, none. */
#include "typed.h"

struct ops {
    int (*open)(int);
    void (*close)(void);
};
typedef int (*opener)(int);

APART int on_note(int n) { return n + 1; }
APART void unseen(void) { __asm__ volatile(""); }

APART int t_each(int n, int (*cb)(int), void (*none)(void)) {
    say("> t_each(n=%d, cb=&on_note, none=0x0)", n);
    return none ? 0 : cb(n);
}
APART int t_table(struct ops o) {
    say("> t_table(o={open=&on_note, close=%p})", (void*)(long)o.close);
    o.close();
    return o.open(3);
}
APART opener t_pick(int n) {
    say("> t_pick(n=%d)", n);
    return n ? on_note : 0;
}

int main(void) {
    say("< t_each = %d", t_each(3, on_note, 0));
    say("< t_table = %d", t_table((struct ops){on_note, unseen}));
    t_pick(1);
    say("< t_pick = &on_note");
    t_pick(0);
    say("< t_pick = 0x0");
    return 0;
}
