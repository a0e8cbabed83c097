// A shared library: what it exports, what it hides, an alias.
static int inner(int x) { return x + 40; }

__attribute__((visibility("hidden"))) int hidden_entry(int x) { return inner(x); }

int library_entry(int x) { return hidden_entry(x) + 2; }

int library_entry_again(int x) __attribute__((alias("library_entry")));

static int (*chosen(void))(int) { return inner; }

int library_ifunc(int x) __attribute__((ifunc("chosen")));
