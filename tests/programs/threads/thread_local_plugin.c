// A library with a value for each thread that uses it.
__thread int plugin_local = 7;
__thread char plugin_room[4096];

int use_local(int number) {
    plugin_room[0] = 'x';
    return plugin_local = number;
}
