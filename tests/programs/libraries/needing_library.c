/* A library that `dlopens` loads, and that loads `plugin.c` in turn: linked with it. */
int plugin_helper(int value);

int plugin_run(int value);
int plugin_run(int value) { return plugin_helper(value) + 1; }
