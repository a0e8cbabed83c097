/* Calls with small numbers in registers. */
long gAdded;

__attribute__((noipa)) long add(long number, long most) {
    gAdded += number;
    return most;
}

int main(void) {
    for (long i = 0; i < 40; i++) add(i, 20);
    return gAdded != 780;
}
