// Everything a file's debug information names, from one pass over all units.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dwarf/functions/names.h"

namespace strobe::dwarf {

constexpr uint32_t kNone = UINT32_MAX;

enum RowFlag : uint8_t { kExternalRow = 1, kThreadLocalRow = 2, kInTypesRow = 4 };

struct FunctionRow {
    uint64_t die;                       // section offset, plus kAlternate in the alternate file
    uint64_t address, size;             // of the part that is called; size in bytes
    uint32_t unit;                      // index in Units::all()
    uint32_t file;                      // index in Index::files, or kNone
    uint32_t line;                      // 0: unknown
    uint32_t first_range, range_count;  // in Index::ranges
    uint8_t flags;
    ParentKind parent;
};

struct VariableRow {
    uint64_t die;
    uint64_t address;  // of a thread-local one: its offset in the module's block
    uint32_t unit, file, line;
    uint8_t flags;
    ParentKind parent;
};

// The first definition of each name and tag.
struct TypeRow {
    uint64_t die;
    uint32_t unit;
    uint16_t tag;
    uint8_t flags;
};

// Strings that belong to rows are in their order, each ended by a zero byte.
struct Index {
    std::vector<FunctionRow> functions;
    std::string function_names, linkage_names;
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    std::vector<VariableRow> variables;
    std::string variable_names, variable_linkage_names;
    std::vector<TypeRow> types;
    std::string type_names;
    std::vector<uint64_t> inlined_sites;  // how often functions with code of their own contain one, perhaps 0
    std::string inlined_names;
    std::string inlined_linkage_names;    // of those whose name says little: lambdas, implementations of traits
    std::vector<uint32_t> inlined_files;  // where it is declared: index in files, or kNone
    std::vector<std::string> files;
    std::vector<Damage> damage;
};

struct IndexOptions {
    std::vector<std::pair<uint64_t, uint64_t>> executable;  // functions elsewhere are left out; empty: all are kept
    unsigned threads = 0;                                   // 0: as many as the machine runs at once, 8 at most
};

// Throws DwarfError where no sensible answer is possible; damage of single units is in the answer.
Index build_index(const Units& units, const IndexOptions& options);

}  // namespace strobe::dwarf
