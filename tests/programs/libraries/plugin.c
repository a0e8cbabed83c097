/* A library that `dlopens` loads while it runs. Built with -shared -fPIC. */
int plugin_rounds = 5;

__attribute__((noinline)) int plugin_helper(int value) {
    __asm__ volatile("" : "+r"(value));
    return value * 2;
}

int plugin_run(int value);
int plugin_run(int value) { return plugin_helper(value) + 1; }
