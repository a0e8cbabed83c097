#include "symbols/symbol_table.h"

#include <algorithm>
#include <cstring>

namespace strobe::symbols {
namespace {

// Elf64_Sym
struct Entry {
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    uint64_t address, size;
};
static_assert(sizeof(Entry) == 24);

constexpr unsigned kFunction = 2;                       // STT_FUNC
constexpr unsigned kGlobal = 1, kWeak = 2;              // STB_*
constexpr unsigned kUnique = 10;                        // STB_GNU_UNIQUE
constexpr unsigned kInternal = 1, kHidden = 2;          // STV_*
constexpr unsigned kUndefined = 0, kReserved = 0xff00;  // SHN_UNDEF, SHN_LORESERVE

bool is_global(const Entry& entry) {
    const unsigned binding = entry.info >> 4;
    return binding == kGlobal || binding == kWeak || binding == kUnique;
}

bool is_visible(const Entry& entry) {
    const unsigned visibility = entry.other & 3;
    return visibility != kInternal && visibility != kHidden;
}

bool is_defined_function(const Entry& entry) {
    return (entry.info & 15) == kFunction && entry.section != kUndefined && entry.section < kReserved;
}

std::string_view text_at(std::string_view strings, size_t offset) {
    const std::string_view rest = strings.substr(std::min(offset, strings.size()));
    return rest.substr(0, rest.find('\0'));
}

}  // namespace

void SymbolTable::add_elf(const ElfSymbols& symbols) {
    const std::string_view strings = texts_.emplace_back(symbols.strings);
    const auto is_code = [&symbols](uint64_t address) {
        return std::any_of(symbols.executable.begin(), symbols.executable.end(),
                           [address](const auto& part) { return part.first <= address && address < part.second; });
    };
    const size_t count = symbols.entries.size() / sizeof(Entry);
    for (size_t number = 0; number < count; ++number) {
        Entry entry;
        std::memcpy(&entry, symbols.entries.data() + number * sizeof entry, sizeof entry);
        if (!is_defined_function(entry) || !is_code(entry.address)) continue;
        const bool exported = symbols.is_dynamic && is_global(entry) && is_visible(entry);
        functions_.push_back({text_at(strings, entry.name), entry.address, entry.size, is_global(entry), exported});
    }
}

void SymbolTable::add(const TableFunction& function) {
    functions_.push_back(function);
    functions_.back().name = texts_.emplace_back(function.name);
}

std::optional<uint64_t> SymbolTable::hidden_address(std::string_view name) const {
    for (const TableFunction& function : functions_) {
        if (!function.is_exported && function.name == name) return function.address;
    }
    return std::nullopt;
}

}  // namespace strobe::symbols
