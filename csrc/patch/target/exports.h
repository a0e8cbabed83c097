// What a library that another process has loaded exports, read from that process's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "patch/target/process_memory.h"

namespace strobe {

// Where it lies in the process. `size` in bytes.
struct Export {
    std::uint64_t address, size;
};

// By the hash table that the dynamic loader uses (DT_GNU_HASH; libraries without one export nothing here).
class Exports {
  public:
    // `base`: where the file's beginning is mapped.
    Exports(const ProcessMemory& memory, std::uint64_t base);

    // False for a library whose tables are not there, or of another kind.
    bool are_readable() const { return hashes_ != 0 && symbols_ != 0 && strings_ != 0; }
    // A function or data that the library defines.
    std::optional<Export> find(std::string_view name) const;
    bool has(std::string_view name) const { return find(name).has_value(); }

  private:
    template <typename T>
    std::optional<T> read(std::uint64_t address) const;
    void read_dynamic(std::uint64_t address);
    std::optional<Export> named(std::uint32_t symbol, std::string_view name) const;

    const ProcessMemory& memory_;
    std::uint64_t bias_ = 0;
    std::uint64_t hashes_ = 0, symbols_ = 0, strings_ = 0;  // addresses; 0 where there is no such table
};

}  // namespace strobe
