// The rows of one unit, made by one thread.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "dwarf/index.h"
#include "dwarf/lines/line_program.h"

namespace strobe::dwarf {

struct InlinedRow {
    std::string name;
    std::string linkage_name;  // only where the name says little
    uint64_t sites;
    uint32_t file;
};

// File numbers are indexes into `paths` until the units are put together.
struct UnitRows {
    std::vector<FunctionRow> functions;
    std::string function_names, linkage_names;
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    std::vector<VariableRow> variables;
    std::string variable_names, variable_linkage_names;
    std::vector<InlinedRow> inlined;
    std::vector<std::string> paths;
    std::vector<Damage> damage;
};

// Of names and rows. Damaged offsets could ask for any amount; sound ones need less than what they are read from.
inline uint64_t max_row_bytes(const Units& units) {
    const Sections& sections = units.sections();
    return (uint64_t{128} << 20) + sections.info.size() + sections.types.size() + units.alternate().info.size();
}

// By tag (two bytes) and qualified name.
using TypeTable = std::unordered_map<std::string_view, TypeRow>;

class RowMaker {
  public:
    RowMaker(const Units& units, ScopeTable& scopes, const IndexOptions& options)
        : units_(units), options_(options), namer_(units, scopes) {}

    UnitRows make(const Unit& unit, Found&& found);
    TypeTable take_types() { return std::move(types_); }  // with texts of this one
    uint64_t type_bytes() const { return type_bytes_; }

  private:
    struct Place {
        uint32_t file, line;
    };
    void add_function(const Unit& unit, uint64_t offset);
    size_t called_range(const Unit& unit, const Die& die,
                        const std::vector<std::pair<uint64_t, uint64_t>>& ranges) const;
    void add_variable(const Unit& unit, uint64_t offset);
    void add_type(const Unit& unit, uint64_t offset);
    void count_inlined(const Unit& unit, const Found& found);
    void add_inlined(uint64_t origin, uint64_t sites);
    Place place_of(const Unit& unit, uint64_t offset, Declaration declaration);
    uint32_t file_index(const Unit& unit, uint64_t number);
    bool is_code(uint64_t address) const;
    uint64_t name_bytes() const;

    const Units& units_;
    const IndexOptions& options_;
    Namer namer_;
    UnitRows rows_;
    std::unique_ptr<Arena> type_texts_ = std::make_unique<Arena>();
    TypeTable types_;
    uint64_t type_bytes_ = 0;
    std::string scratch_;
    std::unordered_map<uint32_t, std::unique_ptr<LineHeader>> headers_;  // by unit; null: unreadable
    std::unordered_map<uint64_t, uint32_t> paths_;                       // by unit and number
};

}  // namespace strobe::dwarf
