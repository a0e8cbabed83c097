#include "patch/threads/forked_children.h"

#include <link.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "patch/target/exports.h"
#include "patch/target/loader_locks.h"
#include "patch/target/tracer.h"

namespace strobe {

namespace {

// Also where that is not known.
bool share_memory(pid_t one, pid_t other) {
    const long found = syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);
    return found == 0 || (found < 0 && errno != ESRCH);
}

constexpr std::size_t kCompared = 256;  // bytes

// As a file has them; fewer where it cannot be read.
std::vector<unsigned char> read_file(const std::string& path, std::uint64_t offset, std::size_t count) {
    std::vector<unsigned char> bytes(count);
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return bytes;
}

// The code of the thread's process at the address, `count` bytes of it and what follows, as the file has it that is
// mapped there: one that has replaced that file is told by what follows. Empty where it cannot be read.
std::vector<unsigned char> original(pid_t thread, const ProcessMemory& memory, std::uint64_t address,
                                    std::size_t count) {
    std::vector<unsigned char> now(kCompared);
    now.resize(memory.read(address, now.data(), now.size()));
    const std::string process = "/proc/" + std::to_string(thread);
    std::ifstream mappings(process + "/maps");
    for (std::string line; std::getline(mappings, line);) {
        std::uint64_t start = 0, end = 0, offset = 0;
        int path = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &offset, &path) != 3) continue;
        if (address < start || address + now.size() > end) continue;
        const std::string name = line.substr(static_cast<std::size_t>(path));
        for (const std::string& file :
             {process + "/map_files/" + line.substr(0, line.find(' ')), process + "/root" + name, name}) {
            const std::vector<unsigned char> bytes = read_file(file, offset + (address - start), now.size());
            const bool is_it = bytes.size() == now.size() && now.size() > count &&
                               std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(count), bytes.end(),
                                          now.begin() + static_cast<std::ptrdiff_t>(count));
            if (is_it) return bytes;
        }
    }
    return {};
}

}  // namespace

void ForkedChildren::learn(pid_t thread, const ProcessMemory& memory) {
    const std::uint64_t base = loader_base(thread);
    const auto debug = base == 0 ? std::nullopt : Exports(memory, base).find("_r_debug");
    std::uint64_t notifier = 0;
    if (!debug || memory.read(debug->address + offsetof(r_debug, r_brk), &notifier, sizeof notifier) != sizeof notifier)
        return;
    // what is there now may be the agent's, which takes that back before it goes
    const std::vector<unsigned char> code = original(thread, memory, notifier, code_.size());
    const bool is_known = code.size() >= code_.size();
    if (is_known) std::copy_n(code.begin(), code_.size(), code_.begin());
    if (is_known || memory.read(notifier, code_.data(), code_.size()) == code_.size()) notifier_ = notifier;
}

void ForkedChildren::add(pid_t forked) {
    if (std::ranges::find(forked_, forked) == forked_.end()) forked_.push_back(forked);
}

void ForkedChildren::restore(pid_t thread, pid_t forked) {
    add(forked);
    if (share_memory(thread, forked)) return;
    try {
        const ProcessMemory child(forked);
        put_code_back(child);
        LoaderLocks(forked, child).free_but_of(own_number(thread));
    } catch (const std::system_error&) {  // it was killed
    }
}

void ForkedChildren::put_code_back(const ProcessMemory& child) const {
    std::array<unsigned char, 16> now{};
    if (notifier_ == 0 || child.read(notifier_, now.data(), now.size()) != now.size() || now == code_) return;
    child.write(notifier_, code_.data(), code_.size());
}

void ForkedChildren::let_go() {
    std::erase_if(forked_, [](pid_t child) {
        if (!has_ended(child)) return strobe::let_go(child);
        wait_for_tracee(child, nullptr, __WALL | WNOHANG);
        return true;
    });
}

}  // namespace strobe
