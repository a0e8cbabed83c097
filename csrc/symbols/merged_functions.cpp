#include "symbols/merged_functions.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <tuple>

#include "demangle/demangle.h"
#include "dwarf/functions/names.h"
#include "names/raw_name.h"
#include "symbols/readable_name.h"

namespace strobe::symbols {
namespace {

using Same = std::span<const TableFunction>;  // at one address

size_t underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

// In letters, of UTF-8.
size_t letters(std::string_view name) {
    const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
    return static_cast<size_t>(std::count_if(name.begin(), name.end(), begins));
}

// How far a name is from what people would call a function; the least is best.
auto plainness(std::string_view name) { return std::tuple(underscores(name), letters(name), name); }

// Where debug information has a name of C that is less public than an alias, or not exported at all: the alias.
std::optional<std::string_view> public_name(Same same, const CodeRow& row) {
    std::optional<std::string_view> best;
    bool is_own = false;
    for (const TableFunction& symbol : same) {
        if (!symbol.is_exported || names::is_mangled(symbol.name)) continue;
        if (!best || plainness(symbol.name) < plainness(*best)) best = symbol.name;
        is_own = is_own || symbol.name == row.name;
    }
    if (best && is_own && underscores(*best) >= underscores(row.name)) return std::nullopt;
    return best;
}

// The one debug information names, then clones, global ones, plain spellings.
std::string_view preferred_name(Same same, const CodeRow* row) {
    const auto all_are = [same](std::string_view name) {
        return std::all_of(same.begin(), same.end(), [name](const auto& symbol) { return symbol.name == name; });
    };
    if (all_are(same[0].name)) return same[0].name;
    if (row != nullptr) {
        const std::string_view own = row->linkage_name.empty() ? row->name : row->linkage_name;
        if (std::any_of(same.begin(), same.end(), [own](const auto& symbol) { return symbol.name == own; })) return own;
    }
    const auto rank = [&](const TableFunction& symbol) {
        const bool is_clone = row != nullptr && names::is_clone(symbol.name);
        return std::tuple_cat(std::tuple(!is_clone, !symbol.is_global), plainness(symbol.name));
    };
    const auto before = [&](const TableFunction& left, const TableFunction& right) { return rank(left) < rank(right); };
    return std::min_element(same.begin(), same.end(), before)->name;
}

std::string function_name(std::optional<std::string_view> symbol, const CodeRow* row) {
    return row == nullptr ? readable_name(*symbol) : clearest_name(row->name, symbol.value_or(""));
}

// A name by which two spellings of one function are equal, and two functions are not: `f(int)` and `f(unsigned int)`.
std::string own_name(std::string_view raw_name) {
    const std::string bare(names::without_clone(raw_name));
    const auto text = demangle::demangled(bare);
    return std::string(text ? names::without_rust_hash(*text) : std::string_view(bare).substr(underscores(bare)));
}

// Constructors and destructors have several symbols: `_ZN1AC1Ev`, `_ZN1AC2Ev`.
bool is_variant(std::string_view one, std::string_view other) {
    if (one.size() != other.size()) return false;
    const auto [at, at_other] = std::ranges::mismatch(one, other);
    return at != one.begin() && at != one.end() && (at[-1] == 'C' || at[-1] == 'D') && std::isdigit(*at) != 0 &&
           std::equal(std::next(at), one.end(), std::next(at_other));
}

void append(std::string& strings, std::string_view text) { strings.append(text).push_back('\0'); }

class Merger {
  public:
    explicit Merger(const MergeInput& input) : input_(input), places_(input.files.size(), kNoFile) {}

    // What lies at one address; no rows: debug information has nothing there.
    void add(Same same, std::span<const CodeRow> rows) {
        const CodeRow* const row = rows.empty() ? nullptr : rows.data();
        std::optional<std::string_view> symbol;
        bool is_public = false;
        if (!same.empty()) {
            const bool is_c = row != nullptr && same.size() > 1 && !names::is_mangled(row->linkage_name);
            if (is_c) symbol = public_name(same, *row);
            is_public = symbol.has_value();
            if (!symbol) symbol = preferred_name(same, row);
        }
        if (symbol && names::is_adjuster(*symbol)) {
            if (row == nullptr) return add_thunk(same, *symbol);
            symbol.reset();
            if (row->name.ends_with(dwarf::kUnnamed)) return;  // clang describes them, without a name
        }
        const std::string name = is_public ? std::string(*symbol) : function_name(symbol, row);
        std::string_view raw_name = symbol ? *symbol : row->linkage_name;
        append(columns_.names, name);
        append(columns_.raw_names, raw_name.empty() ? name : raw_name);
        if (row != nullptr) add_shared(same, rows, raw_name.empty() ? name : raw_name);
        add_place(same, row);
    }

    FunctionColumns take() { return std::move(columns_); }

  private:
    void add_thunk(Same same, std::string_view raw_name) {
        const std::string proper = names::adjusted(raw_name);
        if (proper.empty()) return;
        append(columns_.thunk_names, readable_name(proper));
        columns_.thunks.push_back(same[0].address);
        columns_.thunk_sizes.push_back(same[0].size);
    }

    // The other names of what lies at the address of the function that is being added.
    void add_shared(Same same, std::span<const CodeRow> rows, std::string_view raw_name) {
        std::vector<std::string_view> others;
        const auto note = [&](std::string_view name) {
            const bool is_other = !name.empty() && name != raw_name && !is_variant(name, raw_name);
            if (is_other && !names::is_adjuster(name) && std::ranges::find(others, name) == others.end())
                others.push_back(name);
        };
        for (const TableFunction& symbol : same) note(symbol.name);
        for (const CodeRow& row : rows.subspan(1))
            if (row.name != rows[0].name || row.linkage_name != rows[0].linkage_name)
                note(row.linkage_name.empty() ? row.name : row.linkage_name);
        if (others.empty()) return;
        std::vector<std::string> told = {own_name(raw_name)};
        for (const std::string_view other : others) {
            std::string own = own_name(other);
            if (std::ranges::find(told, own) != told.end()) continue;
            const std::string readable = readable_name(other);
            append(columns_.shared_names, readable == readable_name(raw_name) ? own : readable);
            columns_.sharing.push_back(columns_.addresses.size());
            told.push_back(std::move(own));
        }
    }

    void add_place(Same same, const CodeRow* row) {
        uint64_t size = 0;
        uint8_t flags = 0;
        for (const TableFunction& symbol : same) {
            size = std::max(size, symbol.size);
            flags |= static_cast<uint8_t>((symbol.is_exported ? kExported : 0) | (symbol.is_global ? kOpen : 0));
        }
        const uint64_t address = row == nullptr ? same[0].address : row->address;
        if (input_.go_code.first <= address && address < input_.go_code.second) flags |= kGo;
        columns_.addresses.push_back(address);
        columns_.sizes.push_back(row == nullptr ? size : row->size);
        columns_.dies.push_back(row == nullptr ? kNoDie : row->die);
        columns_.files.push_back(row == nullptr ? kNoFile : place_of(row->file));
        columns_.lines.push_back(row == nullptr ? kNoLine : row->line);
        columns_.flags.push_back(flags);
    }

    uint32_t place_of(uint32_t file) {
        if (file >= places_.size()) return kNoFile;
        if (places_[file] == kNoFile) {
            places_[file] = path_count_++;
            append(columns_.paths, input_.files[file]);
        }
        return places_[file];
    }

    const MergeInput& input_;
    std::vector<uint32_t> places_;  // of files, in `paths`
    uint32_t path_count_ = 0;
    FunctionColumns columns_;
};

template <typename Row>
void sort_by_address(std::vector<Row>& rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& left, const Row& right) { return left.address < right.address; });
}

}  // namespace

FunctionColumns merged_functions(MergeInput input) {
    std::vector<TableFunction> symbols;
    std::copy_if(input.symbols.begin(), input.symbols.end(), std::back_inserter(symbols),
                 [](const auto& symbol) { return !names::is_cold(symbol.name) && !names::is_resolver(symbol.name); });
    sort_by_address(symbols);
    sort_by_address(input.code);
    Merger merger(input);
    auto symbol = symbols.begin();
    auto row = input.code.begin();
    while (symbol != symbols.end() || row != input.code.end()) {
        const bool has_row = row != input.code.end() && (symbol == symbols.end() || row->address <= symbol->address);
        const uint64_t address = has_row ? row->address : symbol->address;
        const auto first = symbol;
        while (symbol != symbols.end() && symbol->address == address) ++symbol;
        const auto first_row = row;
        while (row != input.code.end() && row->address == address) ++row;
        merger.add({first, symbol}, {first_row, row});
    }
    return merger.take();
}

}  // namespace strobe::symbols
