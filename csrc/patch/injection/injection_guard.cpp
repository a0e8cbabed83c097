#include "patch/injection/injection_guard.h"

#include <elf.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "patch/injection/clock.h"
#include "patch/injection/imports.h"
#include "patch/injection/safe_point.h"
#include "patch/injection/saved_state.h"
#include "patch/injection/started_children.h"
#include "patch/injection/way_back.h"
#include "patch/target/process_memory.h"
#include "patch/target/program_identity.h"
#include "patch/target/task_state.h"
#include "patch/target/tracer.h"
#include "patch/threads/held_threads.h"

namespace strobe {

// Used by the thread of Frida that traces the process, but for `refusal`.
struct InjectionGuard::Injection {
    std::chrono::milliseconds limit{};
    bool binds_apart = false;  // as the constructor has it
    bool is_start = false;     // of a program that Frida has started, and that stands: no more than that is to be done
    std::shared_ptr<const ProgramIdentity> program;  // from before Frida looks at the process
    std::atomic<int> refusal{0};
    std::unique_ptr<SavedState> saved;  // of the thread where it was taken, at a safe point
    std::unique_ptr<WayBack> way_back;  // to there; none where the kill of Strobe would leave it in what Frida calls
    bool is_calling = false;            // the thread is about to run that, without a way back
    std::uint64_t called = 0;           // what Frida has had it call last
    bool is_launched = false;           // the loader has been called
    std::mutex holding;
    std::unique_ptr<HeldThreads> others;  // of `holding`
    bool is_standing = false;             // as well: the main thread, which Frida has let go of
    std::condition_variable runs;         // that it does not stand any more
    std::chrono::steady_clock::time_point stands_until{};
    bool is_released = false;  // of `holding` as well
};

namespace {

constexpr auto kLongestHeld = std::chrono::seconds(20);    // some tenths of a second mostly, but machines are busy
constexpr auto kLongestRelease = std::chrono::seconds(2);  // Frida has only to be given a processor

}  // namespace

#ifdef __x86_64__

namespace {

using Injection = InjectionGuard::Injection;

constexpr auto kLongestStanding = std::chrono::seconds(10);  // as long as that on busy machines alone
constexpr auto kBetweenLooks = std::chrono::milliseconds(1);

std::mutex lock;
std::map<pid_t, std::shared_ptr<Injection>> injections;  // by process

// A process that ran before Frida came.
struct Entered {
    std::uint64_t start = 0;                         // as start_ticks has it
    std::shared_ptr<const ProgramIdentity> program;  // that Frida's loader was launched in
    std::uint64_t loader = 0;                        // where the memory of the loader starts; 0 before it is launched
    std::shared_ptr<const ProgramIdentity> newest;   // of all that look at it: each has a descriptor
};
std::map<pid_t, Entered> running_before;

std::shared_ptr<Injection> injection_into(pid_t thread) {
    const std::lock_guard<std::mutex> own(lock);
    const auto found = injections.find(thread);
    return found == injections.end() ? nullptr : found->second;
}

// Frida traces it for some time after its agent has come, and after that has gone.
void remember_running(pid_t process) {
    const std::lock_guard<std::mutex> own(lock);
    std::erase_if(running_before, [](const auto& one) { return start_ticks(one.first) != one.second.start; });
    running_before[process].start = start_ticks(process);
}

// What a process that ran before runs now.
std::shared_ptr<const ProgramIdentity> program_of(pid_t process) {
    const std::lock_guard<std::mutex> own(lock);
    std::shared_ptr<const ProgramIdentity>& newest = running_before[process].newest;
    if (!newest || !newest->is_current()) newest = std::make_shared<const ProgramIdentity>(process);
    return newest;
}

bool was_running(pid_t process) {
    const std::lock_guard<std::mutex> own(lock);
    const auto found = running_before.find(process);
    return found != running_before.end() && start_ticks(process) == found->second.start;
}

void note_loader(const Injection& injection, pid_t process) {
    const std::lock_guard<std::mutex> own(lock);
    const auto found = running_before.find(process);
    if (found == running_before.end()) return;
    found->second.program = injection.program;
    found->second.loader = injection.called;
}

// None where it did not run before, or no loader was launched.
Entered entered(pid_t process) {
    const std::lock_guard<std::mutex> own(lock);
    const auto found = running_before.find(process);
    const bool is_it = found != running_before.end() && start_ticks(process) == found->second.start;
    return is_it ? found->second : Entered{};  // else its id is another process's by now
}

// Frida calls functions at addresses of the program that it has looked at. Where an agent has lost its connection,
// Frida has the memory of its loader unmapped, whatever the process has become meanwhile.
bool is_of_another_program(const Injection* injection, pid_t process, const user_regs_struct& call) {
    const Entered before = entered(process);
    const bool is_attach = injection != nullptr && injection->limit.count() > 0;
    if (before.loader != 0 && call.rdi == before.loader && call.rip != before.loader)
        return !before.program->is_current();
    return is_attach && !injection->program->is_current();
}

// Until a call has ended, which takes some microseconds. Frida would look a millisecond later, and if this process were
// killed meanwhile the program would have to do with the fault that the call ends in.
void await_stop(pid_t thread) {
    const auto deadline = std::chrono::steady_clock::now() + WayBack::kLongestCall;
    siginfo_t stop{};
    while (waitid(P_PID, static_cast<id_t>(thread), &stop, WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
           stop.si_pid == 0 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
    }
}

int reach(Injection& injection, pid_t thread) {
    try {
        const int error = injection.limit.count() > 0 ? reach_safe_point(thread, injection.limit) : 0;
        if (error != 0) return error;
        injection.saved = SavedState::of(thread);
        if (!injection.saved) return ESRCH;
        injection.way_back = WayBack::to(*injection.saved);
        const bool calls_functions = injection.limit.count() > 0 && injection.way_back;
        return calls_functions ? asks_for_clock(thread, *injection.way_back) : 0;  // Frida's threads inherit that
    } catch (const std::system_error&) {
        return ESRCH;
    }
}

long go_on(WayBack& way_back, void* signal) {
    const long result = way_back.go_on(reinterpret_cast<std::uintptr_t>(signal));
    if (result == 0) way_back.await_end();
    return result;
}

// All is as it was when the thread was taken, with a way back or without; it stands at no fault any more.
long restore(Injection& injection, pid_t thread) {
    if (injection.way_back) return injection.way_back->restore();
    const long result = injection.saved->put_back();
    if (result == 0) stand_still(thread);
    return result;
}

// What Frida has asked the kernel to write or to read; nullptr for other registers than the general ones.
user_regs_struct* registers_in(enum __ptrace_request request, const void* address, void* data) {
    if (request == PTRACE_GETREGS || request == PTRACE_SETREGS) return static_cast<user_regs_struct*>(data);
    if (reinterpret_cast<std::uintptr_t>(address) != NT_PRSTATUS) return nullptr;
    const auto& place = *static_cast<const iovec*>(data);
    return place.iov_len < sizeof(user_regs_struct) ? nullptr : static_cast<user_regs_struct*>(place.iov_base);
}

// Of what is left of an agent: Frida has the thread call munmap for it.
bool is_removal(const Injection& injection) { return injection.limit.count() == 0 && !injection.is_start; }

void forget_state(Injection& injection) {
    injection.way_back.reset();
    injection.saved.reset();
}

// Whether the thread is Frida's from here on.
bool take(Injection& injection, pid_t thread) {
    if (const int before = injection.refusal; before != 0) {  // Frida asks once more, in another way
        errno = before;
        return false;
    }
    if (const int error = reach(injection, thread); error != 0) {
        forget_state(injection);
        injection.refusal = error;
        errno = error;
        return false;
    }
    return true;
}

void hold_others(Injection& injection, pid_t main_thread) {
    std::vector<pid_t> threads = task_ids(main_thread);
    std::erase(threads, main_thread);
    const std::lock_guard<std::mutex> own(injection.holding);
    if (!injection.is_released && !threads.empty()) {
        injection.others = std::make_unique<HeldThreads>(std::move(threads), kLongestHeld);
    }
}

// What Frida's loader is called with, as words: among them where its table of functions of the C library lies, in which
// the flags for dlopen follow that function (FridaLoaderContext and FridaLibcApi of frida-core).
constexpr std::size_t kContextWords = 8, kFunctionWords = 16, kFlagsWord = 14;
constexpr std::uint64_t kMostFlags = 0xffff;
constexpr std::uint64_t kDeepBind = 8;  // RTLD_DEEPBIND of glibc

// The agent takes its functions from its own libraries first, not from the program, which may have others of that name.
bool bind_apart(pid_t process, std::uint64_t context) {
    const ProcessMemory memory(process);
    std::array<std::uint64_t, kContextWords> words{};
    if (memory.read(context, words.data(), sizeof words) != sizeof words) return false;
    for (const std::uint64_t table : words) {
        std::array<std::uint64_t, kFunctionWords> functions{};
        if (memory.read(table, functions.data(), sizeof functions) != sizeof functions) continue;
        const auto is_flags = [](std::uint64_t word) { return word != 0 && word <= kMostFlags; };
        const auto is_address = [](std::uint64_t word) { return word > kMostFlags; };
        std::uint64_t& flags = functions.at(kFlagsWord);
        if (!is_flags(flags) || std::count_if(functions.begin(), functions.end(), is_address) != kFunctionWords - 1)
            continue;
        flags |= kDeepBind;
        memory.write(table + kFlagsWord * sizeof flags, &flags, sizeof flags);
        return true;
    }
    return false;
}

// Frida has the thread call mmap, then what it has written there, once or more, and then the loader, which it writes to
// the same place; at last, where it gives up, munmap of that place.
bool removes_loader(Injection& injection, pid_t thread, const user_regs_struct& registers) {
    if (registers.rip == injection.called) {
        if (!injection.is_launched) {
            if (injection.binds_apart && !bind_apart(thread, registers.rdi)) return true;
            if (!injection.is_start) {
                note_loader(injection, thread);
                hold_others(injection, thread);
            }
            injection.is_launched = true;  // not before: where that fails Frida asks once more, in another way
        }
    } else if (injection.is_launched && registers.rdi == injection.called) {
        return true;
    }
    injection.called = registers.rip;
    return false;
}

// Main threads that Frida has let go of on this thread, which goes on tracing them: until they are to run again they
// stand where Frida has taken them, with no lock of their own.
thread_local std::vector<std::pair<pid_t, std::shared_ptr<Injection>>> standing;
thread_local bool polls_here = false;  // as Frida's main loop does

// Threads that Frida has asked to stop, and that have not done so yet, on the thread of Frida that traces them. A stop
// for a signal clears the request (ptrace_stop in Linux's kernel/signal.c). Frida lets the signal be delivered, and
// goes on waiting: until the process ends, where signals come often.
thread_local std::set<pid_t> interrupted;

void note_stop(pid_t thread, int status) {
    if (!WIFSTOPPED(status) || (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP))
        interrupted.erase(thread);
}

// Frida's request, which may let the thread run or ask it to stop.
long passed_on(enum __ptrace_request request, pid_t thread, void* address, void* data) {
    const long result = ptrace(request, thread, address, data);
    const int error = errno;
    if (request == PTRACE_INTERRUPT && result == 0) interrupted.insert(thread);
    if (request == PTRACE_DETACH && result == 0) interrupted.erase(thread);
    if (request == PTRACE_CONT && result == 0 && interrupted.contains(thread))
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    errno = error;
    return result;
}

// The kernel takes the request from this thread alone. False where it is to be tried again: it was killed, and its
// parent waits until we have seen its end, which comes after that of its other threads.
bool let_run(pid_t main_thread, Injection& injection) {
    const bool is_over = ptrace(PTRACE_DETACH, main_thread, nullptr, nullptr) == 0 ||
                         wait_for_tracee(main_thread, nullptr, __WALL | WNOHANG) != 0;
    const std::lock_guard<std::mutex> own(injection.holding);
    injection.is_standing = false;
    injection.runs.notify_all();
    return is_over;
}

void let_run_those_released() {
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(standing, [now](const auto& one) {
        auto& [main_thread, injection] = one;
        {
            const std::lock_guard<std::mutex> own(injection->holding);
            if (!injection->is_released && now < injection->stands_until) return false;
        }
        return let_run(main_thread, *injection);
    });
}

// Frida's main loop waits there.
int ppoll_of_frida(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask) {
    using std::chrono::nanoseconds;
    auto left = timeout == nullptr ? nanoseconds::max()
                                   : nanoseconds(std::chrono::seconds(timeout->tv_sec)) + nanoseconds(timeout->tv_nsec);
    polls_here = true;
    while (!standing.empty()) {
        const nanoseconds now = std::min<nanoseconds>(left, kBetweenLooks);
        const timespec until{0, static_cast<long>(now.count())};
        const int found = ppoll(files, count, &until, mask);
        const int error = errno;
        let_run_those_released();
        errno = error;
        if (timeout != nullptr) left -= now;
        if (found != 0 || left.count() == 0) return found;
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec rest{seconds.count(), static_cast<long>((left - seconds).count())};
    return ppoll(files, count, timeout == nullptr ? nullptr : &rest, mask);
}

// Whether the main thread stands on, though Frida is told that it has let go of it: the loader is at work by now, on a
// thread of its own.
bool keeps_standing(const std::shared_ptr<Injection>& injection, pid_t main_thread) {
    const std::lock_guard<std::mutex> own(injection->holding);
    if (!polls_here || !injection->is_launched || injection->is_released) return false;
    injection->is_standing = true;
    injection->stands_until = std::chrono::steady_clock::now() + kLongestStanding;
    standing.emplace_back(main_thread, injection);
    return true;
}

long guarded(Injection& injection, enum __ptrace_request request, pid_t thread, void* address, void* data) {
    const bool reads = request == PTRACE_GETREGS || request == PTRACE_GETREGSET;
    const bool writes = request == PTRACE_SETREGS || request == PTRACE_SETREGSET;
    user_regs_struct* const registers = reads || writes ? registers_in(request, address, data) : nullptr;
    const bool is_first = reads && registers != nullptr && !injection.saved;
    const bool is_end = writes && registers != nullptr && injection.saved &&
                        registers->rip == injection.saved->registers().rip &&
                        registers->rsp == injection.saved->registers().rsp;
    const bool is_call = writes && registers != nullptr && !is_end;
    if (injection.is_start) {
        const bool is_refused = is_call && !injection.is_launched && removes_loader(injection, thread, *registers);
        errno = is_refused ? EBUSY : 0;
        return is_refused ? -1 : passed_on(request, thread, address, data);
    }
    if (is_call && is_of_another_program(&injection, thread, *registers)) {
        errno = injection.refusal = EBUSY;
        return -1;
    }
    if (is_call && removes_loader(injection, thread, *registers)) {
        errno = EBUSY;
        return -1;
    }
    // there is none from a function of a kind that is not known
    if (is_call && injection.way_back && !injection.way_back->depart(*registers)) injection.way_back.reset();
    WayBack* const way_back = injection.way_back && injection.way_back->is_away() ? injection.way_back.get() : nullptr;
    const bool is_answered = way_back != nullptr && reads && registers != nullptr && way_back->returned() != nullptr;
    if (is_answered) *registers = *way_back->returned();
    if (is_end || is_answered || (way_back != nullptr && (is_call || request == PTRACE_CONT))) {
        const long result = is_end ? restore(injection, thread) : request == PTRACE_CONT ? go_on(*way_back, data) : 0;
        if (result == 0) errno = 0;  // by which Frida judges
        return result;
    }
    if (is_call && injection.saved) injection.saved->block_signals();
    user_regs_struct running{};
    if (is_first && ptrace(PTRACE_GETREGS, thread, nullptr, &running) == 0 && !take(injection, thread)) return -1;
    errno = 0;
    const long result = passed_on(request, thread, address, data);
    const int error = errno;
    if (writes && registers != nullptr) injection.is_calling = is_call && result == 0;
    if (request == PTRACE_CONT && result == 0 && std::exchange(injection.is_calling, false)) await_stop(thread);
    if (request == PTRACE_SEIZE && result != 0) injection.refusal = error;
    if (request == PTRACE_SEIZE && result == 0) forget_state(injection);  // it has run since it was taken before
    // Frida would go another way in, by a jump that it writes over code of the program
    errno = request == PTRACE_SEIZE && error == EPERM ? EACCES : error;
    return result;
}

// Whether Frida, with no attach and no detach under way, is about to see to the loader of a program that is no more.
bool is_stale(enum __ptrace_request request, pid_t thread, const void* address, void* data) {
    if (request == PTRACE_SEIZE) {
        const Entered before = entered(thread);
        return before.loader != 0 && !before.program->is_current();
    }
    const bool writes = request == PTRACE_SETREGS || request == PTRACE_SETREGSET;
    const user_regs_struct* registers = writes ? registers_in(request, address, data) : nullptr;
    return registers != nullptr && is_of_another_program(nullptr, thread, *registers);
}

// A signal of the program's in whose delivery the thread stands: it would be lost where Frida, after a failure, lets go
// of the thread without it. Faults are those that Frida's calls end in.
void* signal_on_its_way(pid_t thread) {
    siginfo_t stop{};
    if (ptrace(PTRACE_GETSIGINFO, thread, nullptr, &stop) != 0 || stop.si_code >> 8 == PTRACE_EVENT_STOP)
        return nullptr;
    const auto number = static_cast<std::uintptr_t>(stop.si_signo);
    return is_fault(stop.si_signo) ? nullptr : reinterpret_cast<void*>(number);
}

// What Frida asks of a thread it asks on the one that traces that.
long ptrace_of_frida(enum __ptrace_request request, pid_t thread, void* address, void* data) {
    const auto injection = injection_into(thread);
    // Frida tries for ever to let go of a process that has ended, until the kernel does not know it any more.
    if (request == PTRACE_INTERRUPT && was_running(thread) && has_ended(thread)) {
        errno = ESRCH;
        return -1;
    }
    if (request == PTRACE_DETACH) {
        clear_breakpoints(thread);
        if (data == nullptr) data = signal_on_its_way(thread);
        errno = 0;
        if (injection && keeps_standing(injection, thread)) return 0;
    }
    if (request == PTRACE_SEIZE) {
        if (injection) {  // the agent has gone, and its loader is to be removed
            const std::lock_guard<std::mutex> own(injection->holding);
            injection->others.reset();
        }
        std::erase_if(standing,
                      [thread](const auto& one) { return one.first == thread && let_run(thread, *one.second); });
        if (injection && is_removal(*injection) && is_filtered(thread)) {  // which may forbid it
            errno = injection->refusal = ESRCH;
            return -1;
        }
    }
    if (injection) return guarded(*injection, request, thread, address, data);
    if (is_stale(request, thread, address, data)) {
        errno = ESRCH;
        return -1;
    }
    return passed_on(request, thread, address, data);
}

// Frida is to learn the end of those children alone that it has started.
pid_t waitpid_of_frida(pid_t process, int* status, int options) {
    int found_status = 0;
    const auto injection = injection_into(process);
    WayBack* const way_back =
        injection && injection->way_back && injection->way_back->is_away() ? injection->way_back.get() : nullptr;
    if (way_back != nullptr) found_status = way_back->take_found();
    pid_t found = found_status != 0      ? process
                  : was_running(process) ? wait_for_tracee(process, &found_status, options)
                                         : waitpid(process, &found_status, options);
    if (found > 0 && way_back != nullptr && (found_status = way_back->seen(found_status)) == 0) {
        way_back->await_end();
        found = (found_status = way_back->take_found()) == 0 ? 0 : process;
    }
    if (found > 0) note_stop(found, found_status);
    if (found > 0) note_child(found, found_status);
    if (found > 0 && status != nullptr) *status = found_status;
    return found;
}

// No exception may pass through Frida's frames, which would end Strobe: what is thrown here becomes the error of the
// call that Frida has made.
template <typename Work>
auto as_error(const Work& work) -> decltype(work()) {
    try {
        return work();
    } catch (const std::system_error& error) {
        errno = error.code().value();
    } catch (const std::exception&) {
        errno = ESRCH;
    }
    return -1;
}

// In the place of the C library's functions, in Frida.
long guarded_ptrace(enum __ptrace_request request, pid_t thread, void* address, void* data) {
    return as_error([&] { return ptrace_of_frida(request, thread, address, data); });
}

pid_t guarded_waitpid(pid_t process, int* status, int options) {
    return as_error([&] { return waitpid_of_frida(process, status, options); });
}

int guarded_ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask) {
    return as_error([&] { return ppoll_of_frida(files, count, timeout, mask); });
}

}  // namespace

void end_children_with_us(const std::string& library) {
    begin_ending_children();
    replace_import(library, "waitpid", reinterpret_cast<void*>(&guarded_waitpid));
    replace_import(library, "execve", reinterpret_cast<void*>(&execve_without_end));
    replace_import(library, "fork", reinterpret_cast<void*>(&fork_with_end));
}

InjectionGuard::InjectionGuard(pid_t process, const std::string& library, std::chrono::milliseconds limit,
                               bool is_fridas, bool binds_apart)
    : process_(process), injection_(std::make_shared<Injection>()) {
    injection_->limit = limit;
    injection_->binds_apart = binds_apart;
    injection_->is_start = injection_->is_released = is_fridas && binds_apart;
    if (!is_fridas) remember_running(process);
    injection_->program = is_fridas ? std::make_shared<const ProgramIdentity>(process) : program_of(process);
    if (!replace_import(library, "ptrace", reinterpret_cast<void*>(&guarded_ptrace))) {
        throw std::runtime_error("this version of Frida does not call ptrace from its table of relocations");
    }
    replace_import(library, "waitpid", reinterpret_cast<void*>(&guarded_waitpid));  // else it takes the end of a child
    replace_import(library, "ppoll", reinterpret_cast<void*>(&guarded_ppoll));  // else the main thread runs on earlier
    const std::lock_guard<std::mutex> own(lock);
    injections[process] = injection_;
}

void InjectionGuard::end() {
    const std::lock_guard<std::mutex> own(lock);
    const auto found = injections.find(process_);
    if (found != injections.end() && found->second == injection_) injections.erase(found);
}

#else

void end_children_with_us(const std::string&) {}

InjectionGuard::InjectionGuard(pid_t process, const std::string&, std::chrono::milliseconds, bool, bool)
    : process_(process), injection_(std::make_shared<Injection>()) {}

void InjectionGuard::end() {}

#endif

InjectionGuard::~InjectionGuard() {
    end();
    release_threads();
}

void InjectionGuard::hold_threads(std::vector<pid_t> threads) {
    const std::lock_guard<std::mutex> own(injection_->holding);
    if (!threads.empty()) injection_->others = std::make_unique<HeldThreads>(std::move(threads), kLongestHeld);
}

void InjectionGuard::release_threads() {
    std::unique_lock<std::mutex> own(injection_->holding);
    injection_->is_released = true;
    injection_->others.reset();
    injection_->runs.wait_for(own, kLongestRelease, [this] { return !injection_->is_standing; });
}

bool InjectionGuard::holds_main_thread() const {
    const std::lock_guard<std::mutex> own(injection_->holding);
    return injection_->is_standing;
}

int InjectionGuard::refusal() const { return injection_->refusal; }

}  // namespace strobe
