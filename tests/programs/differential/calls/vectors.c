/* Floating point and vectors as arguments and results, kept by callers across calls. 256 bits where the CPU has AVX. */
#include <immintrin.h>
#include <stdio.h>

#define TRACED __attribute__((noinline))
#define AVX __attribute__((target("avx")))

TRACED float singles(float a, float b, float c) { return a * b + c; }
TRACED __m128 four(__m128 a, __m128 b, __m128 c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
TRACED __m128d two(__m128d a, double b, __m128d c) { return _mm_sub_pd(_mm_mul_pd(a, _mm_set1_pd(b)), c); }
TRACED __m128i bits(__m128i a, __m128i b) { return _mm_xor_si128(_mm_add_epi32(a, b), b); }
TRACED __m64 half(__m64 a, __m64 b) { return (__m64)((long long)a ^ (long long)b); }
TRACED __float128 quadruple(__float128 a, __float128 b) { return a * b; }
TRACED AVX __m256d wide(__m256d a, __m256d b) { return _mm256_add_pd(_mm256_mul_pd(a, b), b); }
TRACED AVX __m256 nine(__m256 a, __m256 b, __m256 c, __m256 d, __m256 e, __m256 f, __m256 g, __m256 h, __m256 i) {
    return _mm256_add_ps(_mm256_sub_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)),
                         _mm256_sub_ps(_mm256_add_ps(e, f), _mm256_add_ps(_mm256_mul_ps(g, h), i)));
}
__attribute__((ms_abi, noinline)) double foreign(int a, double b, long c, float d, double e) {
    return a + b * (double)c + d * e;
}

TRACED AVX void show_wide(int n) {
    double cells[4];
    float more[8];
    __m256d kept = _mm256_set_pd(n, n + 1, n + 2, n + 3);
    __m256d sum = wide(kept, _mm256_set1_pd(n));
    _mm256_storeu_pd(cells, _mm256_add_pd(kept, wide(sum, kept)));
    __m256 v = _mm256_set1_ps((float)n);
    _mm256_storeu_ps(more, nine(v, v, v, v, v, v, v, v, _mm256_set_ps(1, 2, 3, 4, 5, 6, 7, 8)));
    printf("%g %g %g %g %g %g\n", cells[0], cells[1], cells[2], cells[3], (double)more[0], (double)more[7]);
}
TRACED void show(int n) {
    float cells[4];
    double pair[2];
    int numbers[4];
    __m128 v = _mm_set_ps((float)n, 1, 2, 3);
    _mm_storeu_ps(cells, four(v, four(v, v, v), v));
    _mm_storeu_pd(pair, two(_mm_set_pd(n, 2), n, _mm_set1_pd(.5)));
    _mm_storeu_si128((__m128i*)numbers, bits(_mm_set1_epi32(n), _mm_set_epi32(1, 2, 3, 4)));
    long long mmx = (long long)half((__m64)(long long)n, (__m64)0x123456789ll);
    _mm_empty();
    printf("%g %g %g %g %g %d %d %llx %g %g\n", (double)singles((float)n, 2, 3), (double)cells[0], (double)cells[3],
           pair[0], pair[1], numbers[0], numbers[3], mmx, (double)quadruple((__float128)n, (__float128)1.5),
           foreign(n, 1.5, 2, 2.5f, 3));
}

int main(void) {
    __builtin_cpu_init();
    for (int n = 0; n < 100; n++) {
        show(n);
        if (__builtin_cpu_supports("avx")) show_wide(n);
    }
    return 0;
}
