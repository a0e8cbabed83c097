// Five more mistakes of the kind that a debugger is asked about, each behind its name: `more_bugs slow`.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// A list whose last node is taken while another still points to it: the next walk follows a null pointer.
struct Node {
    int number;
    Node* next;
};

__attribute__((noinline)) static Node* take_last(Node* head) {
    Node* before = head;
    while (before->next->next != nullptr) before = before->next;
    Node* last = before->next;
    before->next = nullptr;
    return last;
}

static int crash() {
    Node* head = nullptr;
    for (int number = 5; number > 0; number--) head = new Node{number, head};
    int sum = 0;
    while (sum < 100) {
        Node* last = take_last(head);
        sum += last->number;
        delete last;
    }
    return sum;
}

// A table of names that falls back to looking through all of it where two names have the same hash.
struct Names {
    enum { SIZE = 4096 };
    char names[SIZE][16];
    int compared = 0;
};

__attribute__((noinline)) static unsigned hash_of(const char* name) {
    unsigned hash = 5381;
    while (*name != '\0') hash = hash * 33 + static_cast<unsigned char>(*name++);
    return hash % Names::SIZE;
}

__attribute__((noinline)) static bool has_name(Names& names, const char* name) {
    unsigned place = hash_of(name);
    for (int tried = 0; tried < Names::SIZE; tried++, place = (place + 1) % Names::SIZE) {
        names.compared++;
        if (std::strcmp(names.names[place], name) == 0) return true;
    }
    return false;
}

static int slow() {
    static Names names;
    for (int number = 0; number < Names::SIZE; number++) std::snprintf(names.names[number], 16, "-");
    for (int number = 0; number < 3000; number++) {
        char name[16];
        std::snprintf(name, sizeof name, "user%04d", number);
        std::snprintf(names.names[hash_of(name)], 16, "%s", name);
        has_name(names, number == 2718 ? "guest" : name);
    }
    return names.compared > 3000 ? 1 : 0;
}

// A fee whose case falls through to the next one.
enum Kind { CASH, CARD, VOUCHER, REFUND };

__attribute__((noinline)) static int fee_of(Kind kind, int cents) {
    int fee = 0;
    switch (kind) {
        case CARD:
            fee = cents / 50;
            break;
        case VOUCHER:
            fee = 0;
            __attribute__((fallthrough));  // forgotten
        case REFUND:
            fee = 25;  // of refunds
            break;
        default:
            break;
    }
    return fee;
}

static int branch() {
    int fees = 0;
    for (int number = 0; number < 400; number++) fees += fee_of(static_cast<Kind>(number % 3), 100 + number);
    return fees == 2 * 133 + 0 ? 0 : 1;
}

// A file whose error when it is written is lost, as what closing it returns is returned.
struct File {
    int number;
    int room;
};

__attribute__((noinline)) static int write_block(File& file, int bytes) {
    if (bytes > file.room) return -28;
    file.room -= bytes;
    return bytes;
}

__attribute__((noinline)) static int close_file(File& file) {
    file.number = -1;
    return 0;
}

__attribute__((noinline)) static int save(int number) {
    File file = {number, 64000};
    int status = 0;
    for (int block = 0; block < 16 && status >= 0; block++) status = write_block(file, number == 77 ? 4096 : 4000);
    status = close_file(file);  // closed
    return status;
}

static int swallowed() {
    int failed = 0;
    for (int number = 0; number < 100; number++) failed += save(number) < 0;
    return failed == 0 ? 1 : 0;  // one of them must have failed
}

// Two accounts that two threads lock one after the other, each in its own order.
struct Account {
    pthread_mutex_t lock;
    const char* name;
    long cents;
};

static Account gLeft = {PTHREAD_MUTEX_INITIALIZER, "left", 1000}, gRight = {PTHREAD_MUTEX_INITIALIZER, "right", 1000};
static pthread_barrier_t gBothHaveOne;

__attribute__((noinline)) static void hold(Account* account) { pthread_mutex_lock(&account->lock); }
__attribute__((noinline)) static void let_go(Account* account) { pthread_mutex_unlock(&account->lock); }

__attribute__((noinline)) static void transfer(Account* from, Account* to, long cents) {
    hold(from);
    pthread_barrier_wait(&gBothHaveOne);
    hold(to);
    from->cents -= cents;
    to->cents += cents;
    let_go(to);
    let_go(from);
}

static void* to_right(void*) {
    pthread_setname_np(pthread_self(), "to-right");
    transfer(&gLeft, &gRight, 5);
    return nullptr;
}

static void* to_left(void*) {
    pthread_setname_np(pthread_self(), "to-left");
    transfer(&gRight, &gLeft, 7);
    return nullptr;
}

static int deadlock() {
    pthread_t threads[2];
    pthread_barrier_init(&gBothHaveOne, nullptr, 2);
    pthread_create(&threads[0], nullptr, to_right, nullptr);
    pthread_create(&threads[1], nullptr, to_left, nullptr);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
    return 0;
}

int main(int argc, char** argv) {
    struct {
        const char* name;
        int (*run)();
    } mistakes[] = {
        {"crash", crash}, {"slow", slow}, {"branch", branch}, {"swallowed", swallowed}, {"deadlock", deadlock}};
    for (const auto& mistake : mistakes)
        if (argc > 1 && std::strcmp(argv[1], mistake.name) == 0) return mistake.run() != 0;
    return 2;
}
