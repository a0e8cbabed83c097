/* Arrays of one element that end their struct: of what a pointer leads to they may have more; of a variable, of an
 * element and of a struct with something behind it they have one.
 */
#include <stdlib.h>

struct list {
    int count;
    int item[1];
};
struct row {
    struct list inner;
    int behind;
};
struct last {
    int before;
    struct list inner;
};

struct list counted = {1, {7}};
struct list many[2] = {{1, {8}}, {1, {9}}};
struct row row = {{1, {5}}, 6};

__attribute__((noinline)) static int look(struct list* list, struct row* row, struct last* last, int number) {
    struct list copy = {1, {number}};
    return copy.item[0] + list->item[3] + row->behind + last->before + counted.count + many[1].count;
}

int main(void) {
    struct list* list = malloc(sizeof *list + 8 * sizeof(int));
    list->count = 8;
    for (int i = 0; i < 8; i++) list->item[i] = 10 + i;
    return look(list, &row, (struct last*)((char*)list), 1) == 0;
}
