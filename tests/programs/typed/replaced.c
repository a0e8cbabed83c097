/* Functions that only this file can call, and that assign over what they are given: a compiler may pass them something
   else in the place of a parameter. They say what they are given and give back. */
#include <stdio.h>

#define LOCAL __attribute__((noinline)) static

struct node {
    struct node* next;
    long value;
};
struct pair {
    int first, second;
};

__attribute__((noinline)) void use(const void* address) { __asm__ volatile("" : : "r"(address) : "memory"); }

LOCAL long behind(struct node* node) {
    node = node->next;
    __asm__ volatile("nop # behind" : : "r"(node));
    return (long)node;
}

LOCAL long behind_kept(struct node* node) {
    node = node->next;
    use(&node);
    return node->value;
}

LOCAL long behind_twice(struct node* node, long more) {
    node = node->next;
    use(node);
    use(node);
    more += 1;
    use((void*)more);
    return (long)node + more;
}

LOCAL long value_of(long value, struct node* node) {
    value = node->value;
    use((void*)value);
    use(&value);
    return value;
}

LOCAL long other(long left, long right) {
    left = right;
    right = 7;
    use(&left);
    use(&right);
    return left;
}

LOCAL long sum(struct pair* pair, long more) {
    use(pair);
    return pair->first + pair->second + more;
}

int main(int count, char** arguments) {
    (void)arguments;
    struct node last = {NULL, 5 + count}, first = {&last, 4 + count};
    struct pair pair = {count, 3};
    const long value = count + 100;
    printf("> behind(node=%p)\n", (void*)&first);
    printf("< behind = %ld\n", behind(&first));
    printf("> behind_kept(node=%p)\n", (void*)&first);
    printf("< behind_kept = %ld\n", behind_kept(&first));
    printf("> behind_twice(node=%p, more=%ld)\n", (void*)&first, value);
    printf("< behind_twice = %ld\n", behind_twice(&first, value));
    printf("> value_of(value=%ld, node=%p)\n", value, (void*)&first);
    printf("< value_of = %ld\n", value_of(value, &first));
    printf("> other(left=%ld, right=%ld)\n", value, 2 * value);
    printf("< other = %ld\n", other(value, 2 * value));
    printf("> sum(pair=%p, more=%ld)\n", (void*)&pair, value);
    printf("< sum = %ld\n", sum(&pair, value));
    return 0;
}
