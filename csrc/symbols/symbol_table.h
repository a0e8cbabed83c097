// The functions of a module's symbol tables, in the order of these.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strobe::symbols {

// `is_exported`: other modules can bind to it. `name` as it stands in the table; any bytes are to be expected.
struct TableFunction {
    std::string_view name;
    uint64_t address;  // link-time
    uint64_t size;     // in bytes
    bool is_global, is_exported;
};

struct ElfSymbols {
    std::span<const uint8_t> entries;                       // Elf64_Sym
    std::string_view strings;                               // what their names are offsets in
    std::vector<std::pair<uint64_t, uint64_t>> executable;  // [start, end) of what can be code; the rest is left out
    bool is_dynamic;                                        // .dynsym: what is global there is exported
};

// Owns the names.
class SymbolTable {
  public:
    // Defined functions (System V gABI, chapter 4). STT_GNU_IFUNC is left out: what lies there chooses an
    // implementation, and is not called with the arguments.
    void add_elf(const ElfSymbols& symbols);
    void add(const TableFunction& function);

    const std::vector<TableFunction>& functions() const { return functions_; }
    // Where the first one of that name is that other modules cannot bind to.
    std::optional<uint64_t> hidden_address(std::string_view name) const;

  private:
    std::deque<std::string> texts_;  // names are parts of these, which stay where they are
    std::vector<TableFunction> functions_;
};

}  // namespace strobe::symbols
