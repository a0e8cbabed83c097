/* A library that `dlopens` loads, with a function that nobody calls. Built with -shared -fPIC. */
int plugin_run(int value);
__attribute__((noinline)) int plugin_run(int value) { return value * 2 + 1; }

int plugin_spare(int value);
__attribute__((noinline)) int plugin_spare(int value) { return value * 3 + 1; }
