/* The library that programs of the torture test load and unload. Built with -shared -fPIC. */
volatile long gPluggedTotal = 40;

__attribute__((noinline)) long plugged_step(long value) {
    gPluggedTotal += 2;
    return value + gPluggedTotal;
}

long plugged_run(long value);
long plugged_run(long value) { return plugged_step(value) + plugged_step(1); } /* value + 87 */
