/* A library with variables of its own, which `moves_library` loads and unloads. Built with -shared -fPIC. */
struct plugin_shape {
    int sides;
    const char* name;
};

int plugin_level;
struct plugin_shape plugin_shape = {3, "triangle"};
struct plugin_shape* plugin_chosen = &plugin_shape;

int plugin_run(int value);
__attribute__((noinline)) int plugin_run(int value) {
    plugin_level = value;
    plugin_shape.sides = value + 1;
    return value;
}
