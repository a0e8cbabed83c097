// `holds reserve`: operator new, which has no memory to give, frees a reserve. `holds coroutine`: allocates on a stack
// of its own. `holds throws`: operator new throws, with a block that it never frees, and more is allocated further
// down. `holds waits`: allocates, and frees once it has read a line. Nothing is held in the end but of `coroutine` and
// `throws`.
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static void* reserve;
static void* kept[10];
static ucontext_t home, other;
alignas(16) static char room[1 << 17];

__attribute__((noinline)) void give_up_reserve() {
    std::free(reserve);
    reserve = nullptr;
}

void* operator new(std::size_t size) {
    if (size == 4711 && reserve != nullptr) give_up_reserve();
    void* given = std::malloc(size);
    if (given == nullptr || size == 4712) throw std::bad_alloc();
    return given;
}
void operator delete(void* given) noexcept { std::free(given); }
void operator delete(void* given, std::size_t) noexcept { std::free(given); }

__attribute__((noinline)) void allocate() {
    for (void*& one : kept) one = std::malloc(2222);
}

__attribute__((noinline)) void allocate_further_down(int calls) {
    if (calls > 0) return allocate_further_down(calls - 1);
    allocate();
}

int main(int, char** argv) {
    if (!std::strcmp(argv[1], "reserve")) {
        reserve = std::malloc(100000);
        operator delete(operator new(4711));
    } else if (!std::strcmp(argv[1], "coroutine")) {
        getcontext(&other);
        other.uc_stack.ss_sp = room;
        other.uc_stack.ss_size = sizeof room;
        other.uc_link = &home;
        makecontext(&other, allocate, 0);
        swapcontext(&home, &other);
    } else if (!std::strcmp(argv[1], "throws")) {
        try {
            operator delete(operator new(4712));
        } catch (const std::bad_alloc&) {
            allocate_further_down(3);
        }
    } else {
        allocate();
        if (std::getchar() == EOF) sleep(30);  // it is stopped there
        for (void* one : kept) std::free(one);
    }
    return 0;
}
