/* With -DCONSTRUCTS it calls functions of its own and of the program before that one's first instruction. */
extern void called_by_library(void);
static int calls;

__attribute__((noinline)) void count_call(void) { calls++; }
int counted(void) { return calls; }

#ifdef CONSTRUCTS
__attribute__((constructor)) static void construct(void) {
    count_call();
    called_by_library();
}
#else
void later(void) {
    count_call();
    called_by_library();
}
#endif
