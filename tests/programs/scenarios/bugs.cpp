// Six mistakes of the kind that a debugger is asked about, each behind its name: `bugs payments`.
#include <pthread.h>
#include <semaphore.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

// A table that is shrunk by what its base was when it was made.
struct Table {
    int base = 0;
    int size = 8;
    int shrinks = 0;

    void rebase(int by) { base += by; }
    __attribute__((noinline)) void shrink(int to) {
        size = to - base;
        shrinks++;
    }
};

static int table() {
    Table one;
    one.shrink(7);
    one.rebase(4);
    one.shrink(6);
    return one.size == 6 ? 0 : 1;
}

// A collector that frees an object which a closure still refers to, as the closing did not colour it.
enum Colour { WHITE, GRAY, BLACK };
struct Object {
    int number;
    Colour colour;
    int references;
};

__attribute__((noinline)) static void close_over(Object* object, bool is_sweeping) {
    object->references++;
    if (!is_sweeping || object->number % 1999 != 0) object->colour = GRAY;
    object->number += 0;  // closed
}

__attribute__((noinline)) static int release(Object* object) {
    const int lost = object->references;
    delete object;  // released
    return lost;
}

static int collector() {
    int lost = 0;
    for (int number = 1; number <= 2000; number++) {
        Object* object = new Object{number, WHITE, 0};
        close_over(object, true);
        if (object->colour == WHITE)
            lost += release(object);
        else
            delete object;
    }
    return lost;
}

// A cache whose entries are put under one key and asked for under another.
static std::map<std::string, int> gCache;

__attribute__((noinline)) static bool cache_get(const char* key) { return gCache.count(key) > 0; }
__attribute__((noinline)) static void cache_put(const char* key, int value) { gCache[key] = value; }

static int cache() {
    int hits = 0;
    for (int block = 0; block < 40; block++) {
        char asked[32], kept[32];
        std::snprintf(asked, sizeof asked, "file:%d", block % 4);
        std::snprintf(kept, sizeof kept, "file:%d:%d", block % 4, block / 4 * 4096);
        if (cache_get(asked)) {
            hits++;
        } else {
            cache_put(kept, block);
        }
    }
    return hits ? 0 : 1;
}

// One of 100,000 payments is negative.
__attribute__((noinline)) static long post(int article, long cents) {
    static long sum;
    sum += cents * (article > 0);
    return sum;
}

static int payments() {
    long sum = 0, owed = 0;
    for (int i = 0; i < 100000; i++) {
        sum = post(i % 7 + 1, i == 61234 ? -28523 : i % 900 + 100);
        owed += i % 900 + 100;
    }
    return sum == owed ? 0 : 1;
}

// Handles that are opened and closed, but for one whose use fails.
static int gOpen;

__attribute__((noinline)) static void open_handle(int handle) { gOpen += handle > 0; }
__attribute__((noinline)) static void close_handle(int handle) { gOpen -= handle > 0; }

static int leak() {
    for (int handle = 1; handle <= 25; handle++) {
        open_handle(handle);
        if (handle % 17 == 0) continue;  // the error path
        close_handle(handle);
    }
    return gOpen;
}

// Two threads that both read before either of them writes.
static long gBalance = 100;
static sem_t gRead[2], gWritten[2];

__attribute__((noinline)) static void deposit(int thread, long amount) {
    const long before = gBalance;
    sem_post(&gRead[thread]);  // read
    sem_wait(&gRead[1 - thread]);
    if (thread == 1) sem_wait(&gWritten[0]);
    gBalance = before + amount;
    sem_post(&gWritten[thread]);  // written
}

static void* first(void*) {
    pthread_setname_np(pthread_self(), "first");
    deposit(0, 10);
    return nullptr;
}

static void* second(void*) {
    pthread_setname_np(pthread_self(), "second");
    deposit(1, 20);
    return nullptr;
}

static int updates() {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) sem_init(&gRead[i], 0, 0), sem_init(&gWritten[i], 0, 0);
    pthread_create(&threads[0], nullptr, first, nullptr);
    pthread_create(&threads[1], nullptr, second, nullptr);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
    return gBalance == 130 ? 0 : 1;
}

int main(int argc, char** argv) {
    const std::map<std::string, int (*)()> all = {{"table", table}, {"collector", collector},
                                                  {"cache", cache}, {"payments", payments},
                                                  {"leak", leak},   {"updates", updates}};
    const auto found = all.find(argc > 1 ? argv[1] : "");
    const int wrong = found == all.end() ? 2 : found->second();
    std::printf("%s\n", wrong ? "wrong" : "right");
    return wrong ? 1 : 0;
}
