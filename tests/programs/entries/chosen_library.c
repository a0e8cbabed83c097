/* One function for each of two kinds of CPU, and what chooses one. */
__attribute__((target_clones("avx2", "default"))) int scaled(const int* values, int count) {
    int sum = 0;
    for (int index = 0; index < count; index++) sum += values[index] * index;
    return sum;
}
