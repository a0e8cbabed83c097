#include "patch/code.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <functional>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "patch/target/process_memory.h"
#include "patch/target/signal_frames.h"
#include "patch/target/task_state.h"
#include "patch/target/tracer.h"
#include "patch/threads/thread_stop.h"

namespace strobe {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kHold = std::chrono::milliseconds(500);  // a thread that waits for a CPU stops when it gets one
constexpr auto kAllAttempts = std::chrono::seconds(3);
constexpr auto kFirstPause = std::chrono::milliseconds(1);
constexpr auto kLongestPause = std::chrono::milliseconds(64);
constexpr int kPatience = 6;          // attempts in which threads may leave by themselves: 63 ms
constexpr int kUnblocking = 8;        // further ones in which SIGTRAP is unblocked
constexpr char kBreakpoint = '\xcc';  // int3
constexpr std::uint64_t kTrapBit = std::uint64_t{1} << (SIGTRAP - 1);
// The C library's own signals: blocked only by itself, for moments, while it keeps the mask that it comes back to.
constexpr std::uint64_t kLibrarysBits = std::uint64_t{3} << 31;

// What this thread has worked, whatever else the machine was busy with.
std::int64_t own_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Whether the program has handlers that may come anywhere. The signals of faults are left out, which the recorder
// itself catches, and the C library's own.
bool catches_signals(pid_t process) {
    std::uint64_t others = kLibrarysBits;
    for (const int signal : {SIGSEGV, SIGBUS, SIGTRAP, SIGILL, SIGFPE, SIGABRT, SIGSYS})
        others |= std::uint64_t{1} << (signal - 1);
    return (TaskStatus(process).number("SigCgt:", 16) & ~others) != 0;
}

// A thread, or a saved context, that stands behind the first byte of a change.
struct Standing {
    std::size_t change;
    pid_t thread;         // 0: a saved context
    std::uint64_t place;  // where that one's pc is
    std::uint64_t pc;
    std::uint64_t copy;  // where it can go on; 0: nowhere
    bool is_breakpoint;  // as SavedContext has it
};

// What has been done to the process: all of it is taken back, the last step first, unless it is kept.
class Steps {
  public:
    Steps() = default;
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
    ~Steps() {
        for (auto undo = undos_.rbegin(); undo != undos_.rend(); ++undo) {
            try {
                (*undo)();
            } catch (const std::system_error&) {  // the process is gone, or this step itself could not be made
            }
        }
    }

    // Before the step, which may fail half done.
    void add(std::function<void()> undo) { undos_.push_back(std::move(undo)); }
    void keep() { undos_.clear(); }

  private:
    std::vector<std::function<void()>> undos_;
};

class CodeWriter {
  public:
    CodeWriter(pid_t process, const std::vector<CodeChange>& changes, ThreadStop::Others others,
               const std::vector<pid_t>& agents)
        : process_(process),
          others_(others),
          agents_(agents),
          memory_(process),
          changes_(changes),
          by_address_(changes.size()),
          results_(changes.size(), CodeResult::kWritten) {
        std::iota(by_address_.begin(), by_address_.end(), std::size_t{0});
        std::ranges::sort(by_address_, {}, [this](std::size_t index) { return changes_[index].address; });
        places_ = std::ranges::any_of(changes, [](const CodeChange& change) { return change.copies.has_value(); });
        has_breakpoints_ = std::ranges::any_of(changes, is_breakpoint);
    }

    CodeAnswer write() {
        if (places_ && catches_signals(process_)) seen_ = SignalFrames(process_, memory_).anywhere();
        const auto deadline = Clock::now() + kAllAttempts;
        auto pause = kFirstPause;
        for (int attempt = 1;; attempt++) {
            try {
                bool is_done = false;
                as_tracer([this, attempt, &is_done] { is_done = try_once(attempt); });
                if (is_done) return {worked_ns_, results_};
            } catch (const std::system_error& error) {
                if (error.code() != std::errc::timed_out || Clock::now() > deadline) throw;
            }
            std::this_thread::sleep_for(pause);
            pause = std::min(2 * pause, kLongestPause);
        }
    }

  private:
    static bool is_breakpoint(const CodeChange& change) {
        return change.bytes.starts_with(kBreakpoint) && !change.expected.starts_with(kBreakpoint);
    }

    // False where somebody stands in the way and may leave by himself.
    bool try_once(int attempt) {
        const bool is_last = attempt >= kPatience;
        const std::int64_t begin_ns = own_time_ns();
        const ThreadStop held(process_, kHold, others_);
        std::ranges::fill(results_, CodeResult::kWritten);
        std::vector<Standing> standing = places_ ? find_standing(held) : std::vector<Standing>();
        const auto may_leave = [](const Standing& one) { return one.thread == 0 || one.copy == 0; };
        if (!is_last && std::ranges::any_of(standing, may_leave)) return false;
        const bool may_trap = !has_breakpoints_ || !blocks_traps(held, is_last);
        if (!may_trap && attempt < kPatience + kUnblocking) return false;
        std::erase_if(standing, [](const Standing& one) { return one.is_breakpoint; });  // it does not go on there
        for (const Standing& one : standing)
            if (one.copy == 0) results_[one.change] = CodeResult::kOccupied;
        compare();
        if (!may_trap) refuse_breakpoints();
        Steps steps;  // undone while the threads are still held
        write_all(steps);
        move_away(standing, steps);
        steps.keep();
        worked_ns_ = own_time_ns() - begin_ns;
        return true;
    }

    // Whether a thread of the program has SIGTRAP blocked, or will have when its handler returns. `unblocks`: of the
    // first kind none has, once this was asked; but it is not known then whether a thread was about to block it again.
    bool blocks_traps(const ThreadStop& held, bool unblocks) const {
        SignalFrames frames(process_, memory_);
        bool found = false;
        for (const ThreadPlace& thread : held.places()) {
            if (std::ranges::find(agents_, thread.thread) != agents_.end()) continue;
            const std::uint64_t mask = ThreadStop::signal_mask(thread.thread);
            if ((mask & kTrapBit) != 0) {
                found = true;
                if (unblocks && (mask & kLibrarysBits) == 0) ThreadStop::unblock(thread.thread, SIGTRAP);
            }
            const auto blocks = [](const SavedContext& saved) { return (saved.mask & kTrapBit) != 0; };
            found = found || std::ranges::any_of(frames.above(thread.stack_pointer), blocks);
        }
        return found;
    }

    void refuse_breakpoints() {
        for (std::size_t i = 0; i < changes_.size(); i++)
            if (is_breakpoint(changes_[i]) && results_[i] == CodeResult::kWritten)
                results_[i] = CodeResult::kSignalBlocked;
    }

    void move_away(const std::vector<Standing>& standing, Steps& steps) const {
        for (const Standing& one : standing) {
            if (results_[one.change] != CodeResult::kWritten) continue;
            steps.add([this, one] { move(one, one.pc); });
            move(one, one.copy);
        }
    }

    void move(const Standing& one, std::uint64_t pc) const {
        if (one.thread != 0) {
            ThreadStop::set_pc(one.thread, pc);
        } else {
            memory_.write(one.place, &pc, sizeof pc);
        }
    }

    std::vector<Standing> find_standing(const ThreadStop& held) const {
        std::vector<Standing> found;
        SignalFrames frames(process_, memory_);
        const std::vector<ThreadPlace> threads = held.places();
        const bool switches = switches_in_handlers(frames, threads);
        for (const ThreadPlace& thread : threads) {
            note(thread.pc, thread.thread, 0, false, found);
            if (switches) continue;
            for (const SavedContext& saved : frames.above(thread.stack_pointer))
                note(saved.pc, 0, saved.place, saved.is_breakpoint, found);
        }
        if (!switches) return found;
        for (const SavedContext& saved : frames.anywhere()) note(saved.pc, 0, saved.place, saved.is_breakpoint, found);
        return found;
    }

    // Whether a coroutine may have been switched away from inside a signal handler: before the threads were held there
    // was a frame of one that is not just what a handler has left behind. To look everywhere while they are held takes
    // too long for the programs that do no such thing.
    bool switches_in_handlers(const SignalFrames& frames, const std::vector<ThreadPlace>& threads) const {
        return std::ranges::any_of(seen_, [&](const SavedContext& saved) {
            return std::ranges::none_of(threads, [&](const ThreadPlace& thread) {
                return frames.is_left(saved.place, thread.stack_pointer, thread.thread_pointer);
            });
        });
    }

    void note(std::uint64_t pc, pid_t thread, std::uint64_t place, bool is_breakpoint,
              std::vector<Standing>& found) const {
        const auto address = [this](std::size_t index) { return changes_[index].address; };
        const auto next = std::ranges::lower_bound(by_address_, pc, {}, address);
        if (next == by_address_.begin()) return;
        const std::size_t index = *std::prev(next);
        const CodeChange& change = changes_[index];
        const std::uint64_t offset = pc - change.address;
        if (!change.copies || offset >= change.bytes.size()) return;
        const std::uint64_t copy = offset <= change.copies->size() ? (*change.copies)[offset - 1] : 0;
        found.push_back({index, thread, place, pc, copy, is_breakpoint});
    }

    bool is_provided(const CodeChange& change) const {
        if (!change.provided) return true;
        std::uint64_t value = 0;
        const std::size_t count = memory_.read(change.provided->address, &value, sizeof value);
        return count == sizeof value && value == change.provided->value;
    }

    void compare() {
        std::string here;
        for (std::size_t i = 0; i < changes_.size(); i++) {
            here.assign(changes_[i].expected.size(), '\0');
            const std::size_t count = memory_.read(changes_[i].address, here.data(), here.size());
            if (count != here.size() || here != changes_[i].expected || !is_provided(changes_[i])) {
                results_[i] = CodeResult::kOtherCode;
            }
        }
    }

    void write_all(Steps& steps) const {
        for (const std::size_t index : by_address_) {
            if (results_[index] != CodeResult::kWritten) continue;
            const CodeChange& change = changes_[index];
            std::string before(change.bytes.size(), '\0');
            before.resize(memory_.read(change.address, before.data(), before.size()));
            steps.add([this, &change, before] { memory_.write(change.address, before.data(), before.size()); });
            memory_.write(change.address, change.bytes.data(), change.bytes.size());
        }
    }

    pid_t process_;
    ThreadStop::Others others_;
    const std::vector<pid_t>& agents_;
    ProcessMemory memory_;
    const std::vector<CodeChange>& changes_;
    std::vector<SavedContext> seen_;  // before the threads were held
    std::vector<std::size_t> by_address_;
    std::vector<CodeResult> results_;
    bool places_ = false;
    bool has_breakpoints_ = false;
    std::int64_t worked_ns_ = 0;
};

}  // namespace

CodeAnswer write_code(pid_t process, const std::vector<CodeChange>& changes, bool is_running,
                      const std::vector<pid_t>& agents) {
    const auto others = is_running ? ThreadStop::Others::kRefused : ThreadStop::Others::kMayHold;
    return CodeWriter(process, changes, others, agents).write();
}

}  // namespace strobe
