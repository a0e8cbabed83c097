#include "patch/injection/way_back.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "patch/injection/safe_point.h"
#include "patch/target/exports.h"
#include "patch/target/process_memory.h"
#include "patch/target/task_state.h"
#include "patch/target/tracer.h"

namespace strobe {

namespace {

constexpr auto kLongestOwnCall = std::chrono::seconds(20);  // it has only to be given a processor
constexpr auto kBetweenLooks = std::chrono::milliseconds(2);

// struct rt_sigframe of x86-64 (arch/x86/include/asm/sigframe.h), in words from where rt_sigreturn's caller was called.
enum Word : std::size_t {
    kReturn,
    kFlags,
    kLink,
    kStack,
    kStackFlags,
    kStackSize,
    kR8,
    kR9,
    kR10,
    kR11,
    kR12,
    kR13,
    kR14,
    kR15,
    kRdi,
    kRsi,
    kRbp,
    kRbx,
    kRdx,
    kRax,
    kRcx,
    kRsp,
    kRip,
    kEflags,
    kSegments,
    kFloats = 29,
    kMask = 38,
    kWords = 55
};
constexpr std::uint64_t kFrameFlags = 1 | 2 | 4;  // UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
constexpr std::uint64_t kNoStack = 7;             // no flags of sigaltstack(2): the alternate stack stays as it is
// Of XSAVE's area: struct _fpx_sw_bytes (arch/x86/include/uapi/asm/sigcontext.h), where PTRACE_GETREGSET has the
// features that the kernel knows, and the header, which says which of them are in use.
constexpr std::size_t kSoftware = 464, kInUse = 512, kLeast = 576, kAlignment = 64;
constexpr std::uint32_t kMagic1 = 0x46505853, kMagic2 = 0x46505845;
constexpr std::uint64_t kTiles = 1 << 18;  // a feature for which a thread gets the memory when it first uses it
constexpr std::size_t kMostFeatures = 63;
struct Software {
    std::uint32_t magic, extended_bytes;
    std::uint64_t features;
    std::uint32_t bytes;
    std::array<std::uint32_t, 7> unused;
};

constexpr std::uint64_t kRedZone = 128;
constexpr std::uint64_t kScratch = 256;      // below the red zone
constexpr std::size_t kCodeBytes = 1 << 16;  // that are read at a time
constexpr std::array<unsigned char, 9> kRestorer{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr std::array<const char*, 3> kSystemCalls{"mmap", "munmap", "prctl"};  // and nothing else
constexpr std::uint64_t kNoCall = ~std::uint64_t{0};                           // orig_rax outside of system calls
constexpr int kStopped = 0x7f;                                                 // in the low byte of a status of wait(2)
constexpr int kSystemCallStop = (SIGTRAP | 0x80) << 8 | kStopped;
constexpr int kSyscallBytes = 2;
constexpr std::int64_t kRestarts[] = {-512, -513, -514, -516};  // linux/errno.h
constexpr std::int64_t kLastError = -4095;                      // of what a system call returns; the first is -1

// mov [rip + 9], rax (the word behind); mov eax, 15; syscall
constexpr std::array<unsigned char, 16> kKeeper{0x48, 0x89, 0x05, 0x09, 0, 0, 0, 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
constexpr std::uint64_t kKept = kKeeper.size();
constexpr std::uint64_t kOwnStack = 1 << 16;  // at the end of the memory that Frida maps

// Of the state that a thread has whether or not it uses it: the kernel takes no more from a signal's frame.
std::size_t bytes_of_state(const std::vector<char>& vectors) {
    std::uint64_t known = 0;
    std::uint64_t used = 0;
    std::memcpy(&known, vectors.data() + kSoftware, sizeof known);
    std::memcpy(&used, vectors.data() + kInUse, sizeof used);
    std::size_t end = kLeast;
    for (unsigned feature = 2; feature < kMostFeatures; feature++) {
        const std::uint64_t mask = std::uint64_t{1} << feature;
        if ((known & mask) == 0 || (mask == kTiles && (used & mask) == 0)) continue;
        unsigned size = 0, offset = 0, flags = 0, unused = 0;
        __cpuid_count(0xd, feature, size, offset, flags, unused);
        end = std::max<std::size_t>(end, offset + size);
    }
    return std::min(end, vectors.size());
}

// The registers with which a thread goes on that stands in a system call to be made again, or elsewhere. The kernel
// does not make it again after rt_sigreturn; a wait begins anew, with its whole time.
user_regs_struct going_on(user_regs_struct own) {
    const auto result = static_cast<std::int64_t>(own.rax);
    if (static_cast<std::int64_t>(own.orig_rax) >= 0 && std::ranges::find(kRestarts, result) != std::end(kRestarts)) {
        own.rax = own.orig_rax;
        own.rip -= kSyscallBytes;
    }
    return own;
}

std::array<std::uint64_t, kWords> frame_words(const user_regs_struct& own, std::uint64_t blocked) {
    std::array<std::uint64_t, kWords> words{};
    words[kFlags] = kFrameFlags;
    words[kStackFlags] = kNoStack;
    const std::array<std::uint64_t, 19> registers{own.r8,
                                                  own.r9,
                                                  own.r10,
                                                  own.r11,
                                                  own.r12,
                                                  own.r13,
                                                  own.r14,
                                                  own.r15,
                                                  own.rdi,
                                                  own.rsi,
                                                  own.rbp,
                                                  own.rbx,
                                                  own.rdx,
                                                  own.rax,
                                                  own.rcx,
                                                  own.rsp,
                                                  own.rip,
                                                  own.eflags,
                                                  own.cs | own.ss << 48};
    std::ranges::copy(registers, &words[kR8]);
    words[kMask] = blocked;
    return words;
}

}  // namespace

std::unique_ptr<WayBack> WayBack::to(SavedState& saved) {
    if (saved.vectors().size() < kLeast) return nullptr;
    std::unique_ptr<WayBack> way(new WayBack(saved));
    __ptrace_syscall_info call{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, saved.thread(), sizeof call, &call) <= 0) return nullptr;
    try {
        return way->is_on_own_stack() && way->find_library() ? std::move(way) : nullptr;
    } catch (const std::system_error&) {
        return nullptr;
    }
}

// Of the main thread, which grows. Below a coroutine's stack there is other memory, and not always room for a frame.
bool WayBack::is_on_own_stack() const {
    std::ifstream file("/proc/" + std::to_string(thread_) + "/maps");
    for (std::string line; std::getline(file, line);) {
        std::uint64_t start = 0, end = 0;
        if (line.ends_with("[stack]") && std::sscanf(line.c_str(), "%lx-%lx", &start, &end) == 2)
            return saved_.registers().rsp >= start && saved_.registers().rsp < end;
    }
    return false;
}

bool WayBack::find_library() {
    const ProcessMemory memory(thread_);
    std::ifstream file("/proc/" + std::to_string(thread_) + "/maps");
    for (std::string line; std::getline(file, line) && restorer_ == 0;) {
        std::uint64_t start = 0, end = 0, offset = 0;
        std::array<char, 5> access{};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx", &start, &end, access.data(), &offset) != 4) continue;
        const bool is_file = line.find('/') != std::string::npos;
        if (is_file && offset == 0) {
            const Exports exports(memory, start);
            library_ = exports.are_readable() && exports.has("__libc_start_main") ? start : 0;
        }
        if (!is_file || library_ == 0 || access[2] != 'x') continue;
        std::vector<unsigned char> code(kCodeBytes + kRestorer.size());
        for (std::uint64_t at = start; at < end && restorer_ == 0; at += kCodeBytes) {
            const std::size_t wanted = std::min<std::uint64_t>(code.size(), end - at);
            const auto last = code.begin() + static_cast<std::ptrdiff_t>(memory.read(at, code.data(), wanted));
            const auto found = std::search(code.begin(), last, kRestorer.begin(), kRestorer.end());
            if (found != last) restorer_ = at + static_cast<std::uint64_t>(found - code.begin());
        }
    }
    return restorer_ != 0;
}

bool WayBack::is_system_call(std::uint64_t function) const {
    const ProcessMemory memory(thread_);
    const Exports exports(memory, library_);
    return std::ranges::any_of(kSystemCalls, [&](const char* name) {
        const std::optional<Export> found = exports.find(name);
        return found && found->address == function;
    });
}

// Where the function is to return to; 0: unknown. The C library's code overwrites the function's result, which the
// tracer knows where that was a system call's; of what Frida has written into memory of its own it is not.
std::uint64_t WayBack::restorer_for(const user_regs_struct& call) {
    keeper_ = 0;
    if (call.rip < memory_ || call.rip >= memory_end_) return is_system_call(call.rip) ? restorer_ : 0;
    const std::uint64_t place = memory_end_ - kOwnStack;  // where its stack ends
    const ProcessMemory memory(thread_);
    std::array<unsigned char, kKeeper.size()> there{};
    constexpr std::array<unsigned char, kKeeper.size()> kUnused{};
    if (memory.read(place, there.data(), there.size()) != there.size()) return 0;
    if (there != kUnused && there != kKeeper) return 0;
    memory.write(place, kKeeper.data(), kKeeper.size());
    keeper_ = place;
    return place;
}

// False where that cannot be.
bool WayBack::write_frame(std::uint64_t stack) {
    const std::uint64_t restorer = restorer_for(called_);
    if (restorer == 0) return false;
    const std::size_t bytes = bytes_of_state(saved_.vectors());
    const std::uint64_t floats = (stack - kAlignment - bytes - sizeof kMagic2) & ~(kAlignment - 1);
    frame_ = ((floats - kWords * sizeof(std::uint64_t)) & ~std::uint64_t{15}) - sizeof(std::uint64_t);
    std::array<std::uint64_t, kWords> words = frame_words(going_on(saved_.registers()), saved_.blocked());
    words[kReturn] = restorer;
    words[kFloats] = floats;
    const auto vectors = saved_.vectors().begin();
    std::vector<char> state(vectors, vectors + static_cast<std::ptrdiff_t>(bytes));
    Software software{
        kMagic1, static_cast<std::uint32_t>(bytes + sizeof kMagic2), 0, static_cast<std::uint32_t>(bytes), {}};
    std::memcpy(&software.features, state.data() + kSoftware, sizeof software.features);
    std::memcpy(state.data() + kSoftware, &software, sizeof software);
    const auto* const end = reinterpret_cast<const char*>(&kMagic2);
    state.insert(state.end(), end, end + sizeof kMagic2);
    const ProcessMemory memory(thread_);
    memory.write(floats, state.data(), state.size());
    memory.write(frame_, words.data(), sizeof words);
    return true;
}

// About to come back.
user_regs_struct WayBack::at_restorer() const {
    user_regs_struct registers = saved_.registers();
    registers.rip = restorer_;
    registers.rsp = frame_ + sizeof(std::uint64_t);
    registers.orig_rax = kNoCall;
    return registers;
}

bool WayBack::depart(const user_regs_struct& call) {
    called_ = call;
    is_back_ = false;
    found_ = 0;
    try {
        const ProcessMemory memory(thread_);
        if (memory.read(call.rsp, &return_address_, sizeof return_address_) != sizeof return_address_ ||
            !write_frame(call.rsp)) {
            return false;
        }
    } catch (const std::system_error&) {
        return false;
    }
    user_regs_struct registers = at_restorer();
    if (ptrace(PTRACE_SETREGS, thread_, nullptr, &registers) != 0) return false;
    is_away_ = true;
    saved_.block_signals();
    registers = call;
    registers.rsp = frame_;
    return ptrace(PTRACE_SETREGS, thread_, nullptr, &registers) == 0;
}

long WayBack::go_on(std::uintptr_t signal) {
    // with PTRACE_CONT nobody would know that it comes back
    return ptrace(PTRACE_SYSCALL, thread_, nullptr, signal);
}

void WayBack::await_end() {
    const auto deadline = std::chrono::steady_clock::now() + kLongestCall;
    auto next_look = std::chrono::steady_clock::now() + kBetweenLooks;
    const auto id = static_cast<id_t>(thread_);
    while (found_ == 0 && std::chrono::steady_clock::now() < deadline) {
        siginfo_t stop{};
        if (waitid(P_PID, id, &stop, WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0) return;
        if (stop.si_pid == 0) {
            std::this_thread::yield();
            if (std::chrono::steady_clock::now() < next_look) continue;
            next_look += kBetweenLooks;
            if (task_state(thread_, thread_) != 't') continue;  // by now, or somebody else here has waited for that
        }
        __ptrace_syscall_info call{};
        if (ptrace(PTRACE_GET_SYSCALL_INFO, thread_, sizeof call, &call) <= 0 || call.op == PTRACE_SYSCALL_INFO_NONE)
            return;  // the tracer is to find it
        waitid(P_PID, id, &stop, WSTOPPED | WNOHANG | __WALL);
        found_ = seen(kSystemCallStop);
    }
}

int WayBack::take_found() { return std::exchange(found_, 0); }

int WayBack::seen(int status) {
    __ptrace_syscall_info call{};
    if (!is_away_ || is_back_ || !WIFSTOPPED(status) || status >> 16 != 0 || (WSTOPSIG(status) & ~0x80) != SIGTRAP ||
        ptrace(PTRACE_GET_SYSCALL_INFO, thread_, sizeof call, &call) <= 0 || call.op == PTRACE_SYSCALL_INFO_NONE) {
        return status;
    }
    if (call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr == SYS_rt_sigreturn &&
        call.stack_pointer == frame_ + sizeof(std::uint64_t)) {
        arrive();
        return SIGSEGV << 8 | kStopped;
    }
    if (call.op == PTRACE_SYSCALL_INFO_EXIT) last_result_ = call.exit.rval;
    go_on(0);
    return 0;
}

// The call that would bring it back is not made, but begins anew if the thread is let go of.
void WayBack::arrive() {
    user_regs_struct registers{};
    if (ptrace(PTRACE_GETREGS, thread_, nullptr, &registers) != 0) return;
    returned_ = registers;
    returned_.rip = return_address_;
    returned_.rsp = called_.rsp + sizeof(std::uint64_t);
    // the functions of the C library return -1 for each error, mmap too (MAP_FAILED)
    const bool is_error = last_result_ < 0 && last_result_ >= kLastError;
    returned_.rax = static_cast<std::uint64_t>(is_error ? -1 : last_result_);
    if (keeper_ != 0) ProcessMemory(thread_).read(keeper_ + kKept, &returned_.rax, sizeof returned_.rax);
    const bool is_map = (called_.rdx & (PROT_WRITE | PROT_EXEC)) == (PROT_WRITE | PROT_EXEC) && called_.rdi == 0;
    if (keeper_ == 0 && is_map && last_result_ > 0) {
        memory_ = returned_.rax;
        memory_end_ = memory_ + called_.rsi;
    }
    registers = at_restorer();
    ptrace(PTRACE_SETREGS, thread_, nullptr, &registers);
    is_back_ = stand_still(thread_);
}

long WayBack::put_back() {
    const long result = saved_.put_back();
    if (result == 0) is_away_ = is_back_ = false;
    return result;
}

long WayBack::restore() {
    const bool stands = is_back_;
    const long result = put_back();
    if (result == 0 && !stands) stand_still(thread_);  // in the function, at a fault
    return result;
}

std::uint64_t WayBack::scratch() const { return (saved_.registers().rsp - kRedZone - kScratch) & ~std::uint64_t{15}; }

// A signal has come that is not blocked, as SIGSTOP.
int WayBack::give_way(int signal) {
    if (put_back() != 0) return -ESRCH;
    if (signal >= NSIG) return -EBUSY;  // the whole program has been stopped, or is another one
    if (!stand_still(thread_, signal)) return -ESRCH;
    return WSTOPSIG(status_of_stop(thread_)) == SIGTRAP ? -ETIMEDOUT : -EBUSY;
}

std::int64_t WayBack::call_prctl(std::uint64_t option, std::uint64_t argument) {
    const ProcessMemory memory(thread_);
    const std::optional<Export> function = Exports(memory, library_).find("prctl");
    if (!function) return -ENOSYS;
    user_regs_struct registers = saved_.registers();
    registers.rip = function->address;
    registers.rdi = option;
    registers.rsi = argument;
    registers.orig_rax = kNoCall;
    registers.rax = 0;  // no vector registers, of a function with any number of arguments
    registers.rsp = scratch() - sizeof(std::uint64_t);
    if (!depart(registers) || go_on(0) != 0) return -ESRCH;
    const auto deadline = std::chrono::steady_clock::now() + kLongestOwnCall;
    while (std::chrono::steady_clock::now() < deadline) {
        await_end();
        if (take_found() != 0) return !is_back_ || restore() != 0 ? -ESRCH : last_result_;
        siginfo_t stop{};
        if (waitid(P_PID, static_cast<id_t>(thread_), &stop, WSTOPPED | WNOHANG | __WALL) != 0) return -ESRCH;
        if (stop.si_pid != 0) return give_way(stop.si_status);
    }
    return -ESRCH;
}

}  // namespace strobe

#endif
