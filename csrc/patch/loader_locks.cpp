#include "patch/loader_locks.h"

#include <elf.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "patch/exports.h"

namespace strobe {

namespace {

constexpr std::size_t kMostBytes = 1 << 16;  // of the loader's data, which has some thousand

// Where the loader is; 0 for a static program.
std::uint64_t loader_base(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/auxv", std::ios::binary);
    Elf64_auxv_t entry{};
    while (file.read(reinterpret_cast<char*>(&entry), sizeof entry)) {
        if (entry.a_type == AT_BASE) return entry.a_un.a_val;
    }
    return 0;
}

// Its number in the process's own namespace, which locks are marked with.
pid_t own_number(pid_t thread) {
    std::ifstream file("/proc/" + std::to_string(thread) + "/status");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("NSpid:")) continue;
        std::istringstream numbers(line.substr(line.find(':') + 1));
        for (pid_t number = 0; numbers >> number;) thread = number;
    }
    return thread;
}

}  // namespace

bool holds_loader_lock(pid_t main_thread, const ProcessMemory& memory) {
    const std::uint64_t base = loader_base(main_thread);
    if (base == 0) return false;
    const auto data = Exports(memory, base).find("_rtld_global");  // its locks are among this
    if (!data || data->size < sizeof(pthread_mutex_t)) return false;
    std::vector<unsigned char> bytes(std::min(data->size, kMostBytes));
    bytes.resize(memory.read(data->address, bytes.data(), bytes.size()));
    const pid_t owner = own_number(main_thread);
    for (std::size_t at = 0; at + sizeof(pthread_mutex_t) <= bytes.size(); at += alignof(pthread_mutex_t)) {
        pthread_mutex_t mutex{};
        std::memcpy(&mutex, bytes.data() + at, sizeof mutex);
        const auto& state = mutex.__data;
        if (state.__kind == PTHREAD_MUTEX_RECURSIVE_NP && state.__owner == owner && state.__lock != 0 &&
            state.__count != 0) {
            return true;
        }
    }
    return false;
}

}  // namespace strobe
