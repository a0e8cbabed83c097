#include "mapping/file_map.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <system_error>

namespace strobe {
namespace {

// What the handler knows. It may take no lock: `end` is written before `start`, and a slot without start is empty.
struct Slot {
    std::atomic<uintptr_t> start = 0, end = 0;
    std::atomic<bool> was_cut = false;
};

std::array<Slot, 4096> slots;
std::mutex slots_mutex;
struct sigaction previous;
std::atomic<bool> passed_on = false;
// Faults that this copy of the code has handed to an earlier handler, by where the kernel put the thread's registers.
std::array<std::atomic<const void*>, 64> handed_on;

[[noreturn]] void fail(int error, const char* what) { throw std::system_error(error, std::generic_category(), what); }

// Zeros from the page that is missing to the end of its map: behind the file's new end nothing is left.
bool put_zeros(uintptr_t address) {
    for (Slot& slot : slots) {
        const uintptr_t start = slot.start.load(std::memory_order_acquire);
        const uintptr_t end = slot.end.load(std::memory_order_acquire);
        if (start == 0 || address < start || address >= end) continue;
        slot.was_cut = true;
        const auto page = address & ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
        void* zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        return zeros != MAP_FAILED;
    }
    return false;
}

// The Python module and the SQLite extension each have a copy of this code, and each was there before the other at some
// time. So an earlier handler is called, and a fault that comes back that way is nobody's. True: it has been dealt
// with.
bool hand_on(int number, siginfo_t* info, void* context) {
    if ((previous.sa_flags & SA_SIGINFO) == 0) return false;
    for (const auto& known : handed_on)
        if (known == context) {
            signal(SIGBUS, SIG_DFL);
            return true;
        }
    for (auto& free : handed_on) {
        const void* none = nullptr;
        if (!free.compare_exchange_strong(none, context)) continue;
        previous.sa_sigaction(number, info, context);
        free = nullptr;
        return true;
    }
    return false;
}

// Any other handler: the access is repeated with it, and then with none.
void pass_on(const siginfo_t* info) {
    if (!passed_on.exchange(true)) {
        sigaction(SIGBUS, &previous, nullptr);
    } else {
        signal(SIGBUS, SIG_DFL);
    }
    if (info->si_code <= 0) raise(SIGBUS);  // sent by somebody: nothing would repeat it
}

void on_bus_error(int number, siginfo_t* info, void* context) {
    const int saved = errno;
    const bool is_ours = info->si_code > 0 && put_zeros(reinterpret_cast<uintptr_t>(info->si_addr));
    if (!is_ours && !hand_on(number, info, context)) pass_on(info);
    errno = saved;
}

// Before each map, as others may have taken the signal since (Python's faulthandler does).
void install_handler() {
    struct sigaction current;
    if (sigaction(SIGBUS, nullptr, &current) != 0) fail(errno, "sigaction");
    if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_bus_error) return;
    previous = current;
    passed_on = false;
    struct sigaction own = {};
    own.sa_sigaction = on_bus_error;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&own.sa_mask);
    if (sigaction(SIGBUS, &own, nullptr) != 0) fail(errno, "sigaction");
}

size_t take_slot(const void* data, size_t size) {
    const std::lock_guard lock(slots_mutex);
    install_handler();
    for (size_t index = 0; index < slots.size(); ++index) {
        Slot& slot = slots[index];
        if (slot.start != 0) continue;
        slot.was_cut = false;
        slot.end = reinterpret_cast<uintptr_t>(data) + size;
        slot.start = reinterpret_cast<uintptr_t>(data);
        return index;
    }
    fail(ENOMEM, "too many mapped files");
}

}  // namespace

FileMap::FileMap(int descriptor, bool shared) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) fail(errno, "fstat");
    if (status.st_size == 0) return;
    size_ = static_cast<size_t>(status.st_size);
    void* data = mmap(nullptr, size_, PROT_READ, shared ? MAP_SHARED : MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) fail(errno, "mmap");
    try {
        slot_ = take_slot(data, size_);
    } catch (...) {
        munmap(data, size_);
        throw;
    }
    data_ = static_cast<const uint8_t*>(data);
}

FileMap::~FileMap() {
    if (data_ == nullptr) return;
    const std::lock_guard lock(slots_mutex);
    slots[slot_].start = 0;
    munmap(const_cast<uint8_t*>(data_), size_);
}

bool FileMap::was_cut() const { return data_ != nullptr && slots[slot_].was_cut; }

}  // namespace strobe
