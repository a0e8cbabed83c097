#include "patch/target/program_identity.h"

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "patch/target/process_memory.h"

namespace strobe {

namespace {

constexpr std::size_t kRandomBytes = 16;  // that the kernel gives each program anew, at AT_RANDOM

}  // namespace

// The addresses in it differ as well, unless they are not chosen at random (personality(2)).
std::string program_identity(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/auxv", std::ios::binary);
    const std::string vector{std::istreambuf_iterator<char>(file), {}};
    std::string random(kRandomBytes, '\0');
    for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= vector.size(); at += sizeof(Elf64_auxv_t)) {
        Elf64_auxv_t entry{};
        std::memcpy(&entry, vector.data() + at, sizeof entry);
        if (entry.a_type != AT_RANDOM) continue;
        try {
            ProcessMemory(process).read(entry.a_un.a_val, random.data(), random.size());
        } catch (const std::system_error&) {
            return "";
        }
    }
    return vector.empty() ? "" : vector + random;
}

}  // namespace strobe
