// Texts of C++ that lead to a page that nobody may touch, passed in handlers on an alternate stack of the least size
// that there may be, and in coroutines of 8 KiB.
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <string>
#include <string_view>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static constexpr std::size_t kPage = 4096;
static constexpr std::size_t kCoroutine = 8192;
static volatile int sum;
static char* bad;
static ucontext_t caller, coroutine;

__attribute__((noinline)) static int view(std::string_view text) {
    sum = sum + static_cast<int>(text.size());
    return sum;
}

__attribute__((noinline)) static int object(const std::string& text) {
    sum = sum + (&text == reinterpret_cast<std::string*>(bad));
    return sum;
}

static void pass_on() {
    for (int time = 0; time < 10; time++) {
        view(std::string_view(bad, 8));
        object(*reinterpret_cast<std::string*>(bad));
    }
}

static char* stack_of(std::size_t bytes) {
    void* pages = mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages, kPage, PROT_NONE);
    return static_cast<char*>(pages) + kPage;
}

int main() {
    bad = static_cast<char*>(mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    stack_t stack = {};
    // what the kernel puts there, which is much where the CPU's registers are large, and 1 KiB for the handler
    stack.ss_size = getauxval(AT_MINSIGSTKSZ) + 1024;
    stack.ss_sp = stack_of(stack.ss_size);
    struct sigaction action = {};
    action.sa_flags = SA_ONSTACK;
    action.sa_handler = [](int) { pass_on(); };
    if (sigaltstack(&stack, nullptr) != 0 || sigaction(SIGUSR1, &action, nullptr) != 0) return 1;
    for (int time = 0; time < 100; time++) raise(SIGUSR1);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack_of(kCoroutine);
    coroutine.uc_stack.ss_size = kCoroutine;
    coroutine.uc_link = &caller;
    makecontext(&coroutine, pass_on, 0);
    swapcontext(&caller, &coroutine);
    std::printf("sum %d\n", sum);
    return 0;
}
