// The guard that the portable form's trampolines lead to: what the function gets, and the account of who is inside.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>

#include "check.h"

extern "C" {
#include "recorder/recorder.h"

uint64_t strobe_call_script(strobe_script_function* script, uint64_t number, const uint64_t* registers,
                            const uint64_t* slot, void* out) {
    return script(number, registers, slot, out);
}
}

namespace {

constexpr std::size_t kPage = 4096;
constexpr uint32_t kFunction = 4711;
constexpr long kDeep = 3000;  // more than there are places
// push rax; lea rax, [behind the jump]; jmp [8 bytes behind the function]; then the sum of six arguments
constexpr uint8_t kTrampoline[] = {0x50, 0x48, 0x8d, 0x05, 6, 0, 0, 0, 0xff, 0x25, 24, 0, 0, 0};
constexpr uint8_t kFunctionCode[] = {0x48, 0x8d, 0x04, 0x37, 0x48, 0x01, 0xd0, 0x48, 0x01,
                                     0xc8, 0x4c, 0x01, 0xc0, 0x4c, 0x01, 0xc8, 0xc3};

using Sum = long (*)(long, long, long, long, long, long);

uint8_t* pages(std::size_t bytes, int protection) {
    void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return static_cast<uint8_t*>(memory);
}

struct strobe_recorder own;
strobe_control control;
Sum sum;
long calls, deepest, counted;
bool leaves;
std::jmp_buf back;

std::span<const uint64_t> places() { return {own.inside, STROBE_INSIDE_BYTES / 8}; }
long taken() {
    return std::ranges::count_if(places(), [](uint64_t place) { return place != 0; });
}

uint64_t enter(struct strobe_recorder* given, uint32_t function, uint64_t* slot, const uint64_t* registers,
               uint64_t resume) {
    const auto depth = static_cast<long>(registers[0]);
    CHECK(given == &own && resume == 0 && slot != nullptr);
    CHECK_EQUAL(function, kFunction);
    for (uint64_t index = 1; index < 6; index++) CHECK_EQUAL(registers[index], index);
    calls++;
    deepest = std::max(deepest, taken());
    counted = std::max(counted, static_cast<long>(control.agent_calls));
    if (leaves) std::longjmp(back, 1);
    if (depth > 0) CHECK_EQUAL(sum(depth - 1, 1, 2, 3, 4, 5), depth + 14);
    return 0;
}

void prepare() {
    own.control = &control;
    own.inside = reinterpret_cast<uint64_t*>(pages(STROBE_INSIDE_BYTES, PROT_READ | PROT_WRITE));
    control.has_agent = 1;
    uint8_t* code = pages(2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
    CHECK(strobe_entry_guard_write(&own, code + kPage, reinterpret_cast<uint64_t>(&enter), 0) <= kPage);
    uint8_t* function = code + 16;
    std::memcpy(function - 4, &kFunction, 4);
    std::memcpy(function, kTrampoline, sizeof kTrampoline);
    std::memcpy(function + sizeof kTrampoline, kFunctionCode, sizeof kFunctionCode);
    const auto guard = reinterpret_cast<uint64_t>(code + kPage);
    std::memcpy(function + sizeof kTrampoline + 24, &guard, 8);
    sum = reinterpret_cast<Sum>(function);
}

void whoever_is_inside_is_known() {
    CHECK_EQUAL(sum(0, 1, 2, 3, 4, 5), 15);
    CHECK_EQUAL(calls, 1);
    CHECK_EQUAL(deepest, 1);
    CHECK_EQUAL(taken(), 0);
    CHECK_EQUAL(sum(kDeep, 1, 2, 3, 4, 5), kDeep + 15);
    CHECK_EQUAL(calls, kDeep + 2);
    CHECK_EQUAL(deepest, static_cast<long>(places().size()));
    CHECK_EQUAL(deepest + counted, kDeep + 1);  // those for whom there is no place
    CHECK_EQUAL(taken(), 0);
    CHECK_EQUAL(control.agent_calls, 0u);
}

// As the next one has its word at the same place of the stack.
void a_call_that_was_left_gives_its_place_to_the_next() {
    static int turn;  // kept by longjmp
    for (turn = 0; turn < 20; turn++) {
        leaves = turn < 19;
        if (setjmp(back) == 0) sum(0, 1, 2, 3, 4, 5);
        CHECK_EQUAL(taken(), leaves ? 1 : 0);
    }
    CHECK_EQUAL(control.agent_calls, 0u);
}

void nobody_goes_in_without_an_agent() {
    control.has_agent = 0;
    calls = 0;
    CHECK_EQUAL(sum(0, 1, 2, 3, 4, 5), 15);
    CHECK_EQUAL(calls, 0);
}

// What the hook in front of which the other guard stands has seen, and the mask before it.
char* hook_stack;
sigset_t hook_mask;
uint64_t hook_thread;

void hook() {
    char here = 0;
    hook_stack = &here;
    pthread_sigmask(SIG_BLOCK, nullptr, &hook_mask);
    hook_thread = control.loading_thread;
    calls++;
}

bool is_blocked(int number) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, number) == 1;
}

// Has registers that the callee may change, and those that it must not, go through a call: whether they came back.
bool keeps_registers(const uint8_t* code) {
    uint64_t sum_of_all = 0;
    __asm__ volatile(
        "movl $1, %%eax; movl $2, %%ecx; movl $4, %%edx; movl $8, %%esi; movl $16, %%edi\n\t"
        "movl $32, %%r8d; movl $64, %%r9d; movl $128, %%r10d; movl $256, %%r11d; movl $512, %%ebx\n\t"
        "movq %%rbx, %%xmm5\n\t"
        "leaq -128(%%rsp), %%rsp\n\t"
        "stc\n\t"
        "call *%1\n\t"
        "leaq 128(%%rsp), %%rsp\n\t"
        "adcq %%rcx, %%rax\n\t"
        "addq %%rdx, %%rax; addq %%rsi, %%rax; addq %%rdi, %%rax; addq %%r8, %%rax; addq %%r9, %%rax\n\t"
        "addq %%r10, %%rax; addq %%r11, %%rax; addq %%rbx, %%rax\n\t"
        "movq %%xmm5, %%rbx; addq %%rbx, %%rax"
        : "=&a"(sum_of_all)
        : "r"(code)
        : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm5", "cc", "memory");
    return sum_of_all == 1023 + 512 + 1;
}

void the_agent_is_called_on_a_stack_of_its_own() {
    // changes no register, as Frida's hook: all that the compiler may use is kept around it
    constexpr uint8_t kPushes[] = {0x50, 0x51, 0x52, 0x56, 0x57, 0x41, 0x50, 0x41,
                                   0x51, 0x41, 0x52, 0x41, 0x53, 0x48, 0xb8};
    constexpr uint8_t kPops[] = {0xff, 0xd0, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59,
                                 0x41, 0x58, 0x5f, 0x5e, 0x5a, 0x59, 0x58, 0xc3};
    uint8_t* code = pages(2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
    const auto address = reinterpret_cast<uint64_t>(&hook);
    std::memcpy(code, kPushes, sizeof kPushes);
    std::memcpy(code + sizeof kPushes, &address, 8);
    std::memcpy(code + sizeof kPushes + 8, kPops, sizeof kPops);
    CHECK(strobe_loader_guard_write(&own, code + kPage, reinterpret_cast<uint64_t>(code)) <= kPage);
    const auto* here = static_cast<char*>(__builtin_frame_address(0));
    calls = 0;
    own.may_call_kernel = 1;
    control.has_agent = 1;
    CHECK(keeps_registers(code + kPage));
    CHECK_EQUAL(calls, 1);
    CHECK(hook_stack < here - (1 << 20) || hook_stack > here);
    CHECK(sigismember(&hook_mask, SIGTERM) == 1 && sigismember(&hook_mask, SIGSEGV) == 0);
    CHECK(!is_blocked(SIGTERM));
    CHECK(hook_thread != 0);
    CHECK_EQUAL(control.loading_thread, 0u);
    CHECK_EQUAL(control.agent_calls, 0u);

    own.may_call_kernel = 0;  // the stack that was made before is there
    CHECK(keeps_registers(code + kPage));
    CHECK_EQUAL(calls, 2);
    CHECK(hook_stack < here - (1 << 20) || hook_stack > here);
    CHECK(sigismember(&hook_mask, SIGTERM) == 0);

    const uint64_t kept = own.kept_stack;
    own.kept_stack = 0;
    CHECK(keeps_registers(code + kPage));
    CHECK_EQUAL(calls, 3);
    CHECK(hook_stack < here && hook_stack > here - (1 << 20));
    own.kept_stack = kept;

    own.may_call_kernel = 1;
    control.has_agent = 0;
    CHECK(keeps_registers(code + kPage));
    CHECK_EQUAL(calls, 3);
    CHECK(!is_blocked(SIGTERM));
    CHECK_EQUAL(control.agent_calls, 0u);
}

}  // namespace

int main() {
    prepare();
    whoever_is_inside_is_known();
    a_call_that_was_left_gives_its_place_to_the_next();
    nobody_goes_in_without_an_agent();
    the_agent_is_called_on_a_stack_of_its_own();
    return strobe::test::failures == 0 ? 0 : 1;
}
