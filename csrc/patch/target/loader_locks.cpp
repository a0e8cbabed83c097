#include "patch/target/loader_locks.h"

#include <elf.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "patch/target/exports.h"

namespace strobe {

namespace {

constexpr std::size_t kMostBytes = 1 << 16;  // of the loader's data, which has some thousand

}  // namespace

std::uint64_t loader_base(pid_t thread) {
    std::ifstream file("/proc/" + std::to_string(thread) + "/auxv", std::ios::binary);
    Elf64_auxv_t entry{};
    while (file.read(reinterpret_cast<char*>(&entry), sizeof entry)) {
        if (entry.a_type == AT_BASE) return entry.a_un.a_val;
    }
    return 0;
}

pid_t own_number(pid_t thread) {
    std::ifstream file("/proc/" + std::to_string(thread) + "/status");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("NSpid:")) continue;
        std::istringstream numbers(line.substr(line.find(':') + 1));
        for (pid_t number = 0; numbers >> number;) thread = number;
    }
    return thread;
}

LoaderLocks::LoaderLocks(pid_t thread, const ProcessMemory& memory) : memory_(memory) {
    const std::uint64_t base = loader_base(thread);
    if (base == 0) return;
    const auto data = Exports(memory, base).find("_rtld_global");
    if (!data || data->size < sizeof(pthread_mutex_t)) return;
    address_ = data->address;
    size_ = std::min<std::uint64_t>(data->size, kMostBytes);
}

std::vector<LoaderLocks::Taken> LoaderLocks::taken() const {
    std::vector<unsigned char> bytes(size_);
    bytes.resize(size_ == 0 ? 0 : memory_.read(address_, bytes.data(), bytes.size()));
    std::vector<Taken> found;
    for (std::size_t at = 0; at + sizeof(pthread_mutex_t) <= bytes.size(); at += alignof(pthread_mutex_t)) {
        pthread_mutex_t mutex{};
        std::memcpy(&mutex, bytes.data() + at, sizeof mutex);
        const auto& state = mutex.__data;
        const bool is_taken = state.__owner > 0 && state.__lock != 0 && state.__count != 0;
        if (state.__kind == PTHREAD_MUTEX_RECURSIVE_NP && is_taken) found.push_back({address_ + at, state.__owner});
    }
    return found;
}

std::vector<pid_t> LoaderLocks::owners() const {
    std::vector<pid_t> found;
    for (const Taken& lock : taken()) found.push_back(lock.owner);
    return found;
}

void LoaderLocks::mark_waited_for(pid_t owner) const {
    constexpr int kTaken = 1, kWaitedFor = 2;  // what glibc has in __lock; others than the owner write the second alone
    for (const Taken& lock : taken()) {
        int state = 0;
        memory_.read(lock.address + offsetof(__pthread_mutex_s, __lock), &state, sizeof state);
        if (lock.owner != owner || state != kTaken) continue;
        try {
            memory_.write(lock.address + offsetof(__pthread_mutex_s, __lock), &kWaitedFor, sizeof kWaitedFor);
        } catch (const std::system_error&) {  // the process is gone
            return;
        }
    }
}

void LoaderLocks::free_but_of(pid_t owner) const {
    constexpr pthread_mutex_t kFree = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    for (const Taken& lock : taken()) {
        if (lock.owner != owner) memory_.write(lock.address, &kFree, offsetof(__pthread_mutex_s, __kind));
    }
}

bool holds_loader_lock(pid_t thread, const ProcessMemory& memory) {
    const std::vector<pid_t> owners = LoaderLocks(thread, memory).owners();
    return std::ranges::find(owners, own_number(thread)) != owners.end();
}

}  // namespace strobe
