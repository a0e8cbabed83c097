// Ends by a signal while a pointer leads into memory that was freed. `member`: a method of an object that another
// thread has deleted; `field`: a pointer in a struct on the stack, 16 bytes into a block; `unmapped`: a block that is
// no more in memory; `grown`: one that realloc has moved; `twice`: freed a second time. `again`: the block was handed
// out again, so that it is none of the freed ones; `alive`: nothing was freed; `placed`: as `field`, where a block was
// allocated whose address no result has. `null`: no pointer at all. `range`: two pointers into one
// block; `smaller`: two blocks of the same start, the newer one smaller, into each of which one leads. `evicted`: the
// block is in use again, by a call that is known no more.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

struct Item {
    Item* next;
    long filler[2];
    volatile Item* volatile other;
    long number;

    __attribute__((noinline)) long sum() { return number + const_cast<Item*>(other)->number; }
};

struct Range {
    char* begin;
    char* end;
};

static Item* volatile shared;
static int* volatile nowhere;
static void* volatile kept;

__attribute__((noinline)) static Item* make_item(long number) {
    Item* item = new Item{};  // made
    item->number = number;
    item->other = item;
    return item;
}

__attribute__((noinline)) static void drop_item(Item* item) {
    item->other = reinterpret_cast<Item*>(0xdddddddddddddddd);  // as a destructor would
    delete item;                                                // dropped
}

__attribute__((noinline)) static long member() {
    Item* item = make_item(7);
    shared = item;
    std::thread([] { drop_item(shared); }).join();
    return item->sum();
}

__attribute__((noinline)) static long fail(Range* range) { return *nowhere + (range->end - range->begin); }

__attribute__((noinline)) static char* make_text() { return static_cast<char*>(std::malloc(48)); }

__attribute__((noinline)) static void drop_text(void* text) { std::free(text); }

__attribute__((noinline)) static long field() {
    char* text = make_text();
    Range range = {text + 16, nullptr};
    kept = text;
    text = nullptr;
    drop_text(kept);
    return fail(&range) + (text != nullptr);
}

__attribute__((noinline)) static long range() {
    char* text = make_text();
    Range range = {text + 16, text + 40};
    kept = text;
    text = nullptr;
    drop_text(kept);
    return fail(&range) + (text != nullptr);
}

__attribute__((noinline)) static long smaller() {
    char* text = static_cast<char*>(std::malloc(3000));
    Range range = {text + 2900, nullptr};
    kept = text;
    text = nullptr;
    drop_text(kept);
    kept = std::malloc(1500);
    range.end = static_cast<char*>(kept) + 100;
    drop_text(kept);
    return fail(&range) + (text != nullptr);
}

__attribute__((noinline)) static long placed() {
    void* block = nullptr;
    return posix_memalign(&block, 64, 100) == 0 ? field() + (block != nullptr) : 0;
}

__attribute__((noinline)) static long again() {
    char* text = make_text();
    Range range = {text + 16, nullptr};
    drop_text(text);
    char* other = make_text();
    std::printf("%s\n", other == text ? "the same" : "another");
    return fail(&range) + other[0];
}

__attribute__((noinline)) static long alive() {
    char* text = make_text();
    Range range = {text, text + 16};
    drop_text(make_text());
    return fail(&range);
}

__attribute__((noinline)) static long unmapped() {
    char* text = static_cast<char*>(std::malloc(1 << 20));
    std::memset(text, 'x', 1 << 20);
    drop_text(text);
    return text[4096];
}

// The block is another thread's again, which allocates so much then that nobody knows that any more.
__attribute__((noinline)) static long evicted() {
    mallopt(M_ARENA_MAX, 1);
    char* text = static_cast<char*>(std::malloc(30000));
    drop_text(text);
    std::thread([text] {
        char* other = static_cast<char*>(std::malloc(30000));
        std::printf("%s\n", other == text ? "the same" : "another");
        for (int count = 0; count < 30000; count++) std::free(std::malloc(16));
        Range range = {other, nullptr};
        fail(&range);
    }).join();
    return 0;
}

__attribute__((noinline)) static long grown() {
    kept = make_text();
    Range range = {static_cast<char*>(kept), nullptr};
    void* wall = make_text();
    void* moved = std::realloc(kept, 4000);
    kept = wall;
    return fail(&range) + (moved != nullptr);
}

__attribute__((noinline)) static long twice() {
    void* block = std::malloc(2000);
    kept = std::malloc(2000);
    drop_text(block);  // first
    drop_text(block);
    return 0;
}

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    const char* asked = argc > 1 ? argv[1] : "";
    const long more = argc > 2 ? std::atol(argv[2]) : 0;
    for (long count = 0; count < more; count++) drop_item(make_item(count));
    if (std::strcmp(asked, "member") == 0) return static_cast<int>(member());
    if (std::strcmp(asked, "field") == 0) return static_cast<int>(field());
    if (std::strcmp(asked, "range") == 0) return static_cast<int>(range());
    if (std::strcmp(asked, "smaller") == 0) return static_cast<int>(smaller());
    if (std::strcmp(asked, "again") == 0) return static_cast<int>(again());
    if (std::strcmp(asked, "alive") == 0) return static_cast<int>(alive());
    if (std::strcmp(asked, "unmapped") == 0) return static_cast<int>(unmapped());
    if (std::strcmp(asked, "evicted") == 0) return static_cast<int>(evicted());
    if (std::strcmp(asked, "grown") == 0) return static_cast<int>(grown());
    if (std::strcmp(asked, "placed") == 0) return static_cast<int>(placed());
    if (std::strcmp(asked, "null") == 0) return *nowhere;
    if (std::strcmp(asked, "twice") == 0) return static_cast<int>(twice());
    return 2;
}
