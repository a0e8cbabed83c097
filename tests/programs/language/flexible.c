/* Arrays at the end of structs that have more elements than they say: x[], x[0] and x[1]. One that ends no struct says
 * how many it has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define TRACED __attribute__((noinline))
#else
#define TRACED __attribute__((noipa))
#endif

struct open_end {
    int count;
    int item[];
};
struct none {
    short fixed[2];
    short item[0];
};
struct one {
    int count;
    char text[1];
};

TRACED int look(struct open_end* open, struct none* none, struct one* one, void* raw, int count) {
    return open->item[count - 1] + none->item[count - 1] + one->text[count - 1] + ((char*)raw)[3];
}

int main(void) {
    int sum = 0;
    for (int count = 4; count < 12; count++) {
        struct open_end* open = malloc(sizeof *open + count * sizeof(int));
        struct none* none = malloc(sizeof *none + count * sizeof(short));
        struct one* one = malloc(sizeof *one + count);
        open->count = one->count = count;
        none->fixed[0] = none->fixed[1] = -1;
        for (int i = 0; i < count; i++) {
            open->item[i] = 100 * i;
            none->item[i] = (short)(10 * i);
            one->text[i] = (char)('a' + i);
        }
        one->text[count] = '\0';
        sum += look(open, none, one, one->text, count);
        free(open);
        free(none);
        free(one);
    }
    printf("%d\n", sum);
    return 0;
}
