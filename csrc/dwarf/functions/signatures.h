// What debug information says of functions' parameters: rows from which the caller concludes where they are passed.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dwarf/functions/entry_location.h"

namespace strobe::dwarf {

enum class Language : uint8_t { kOther, kC, kCpp, kRust };

// A type as DW_AT_type refers to it: by its offset in .debug_info, or by the signature of a type unit.
struct TypeReference {
    enum Kind : uint8_t { kVoid, kOffset, kSignature } kind = kVoid;
    uint64_t value = 0;
};

struct ParameterRow {
    std::string_view name;  // empty: it has none
    TypeReference type;
    EntryLocation location;  // at the function's first byte
};

struct SignatureRow {
    enum Flag : uint8_t {
        kHasOrigin = 1,           // an abstract instance, or a declaration
        kIsPrototyped = 2,        // parameters were declared with their types
        kHasOtherAbi = 4,         // DW_AT_calling_convention is not that of the platform
        kLostParameters = 8,      // the origin has others
        kIsOutline = 16,          // a constructor that is described, but has no code of its own
        kShowsOptimization = 32,  // described call sites, variables that move
        kHasLowPc = 64,
        kIsUnreadable = 128,  // damaged, and nothing else of the row holds
    };
    uint64_t unit = 0;  // its offset
    uint64_t low_pc = 0;
    std::string_view name, linkage_name;  // of the DIE itself; empty: its origin has it
    Bytes frame_base;                     // an expression; empty: none
    TypeReference returned;
    size_t first_parameter = 0, parameter_count = 0;
    size_t written_count = 0;  // of them, those of the source: neither `this` nor what constructors get besides
    Language language = Language::kOther;
    uint8_t flags = 0;
};

struct Signatures {
    std::vector<SignatureRow> functions;
    std::vector<ParameterRow> parameters;
};

// A row for each function, by its DIE in .debug_info. What it gives points into the sections.
Signatures read_signatures(const Units& units, const LocationLists& lists, std::span<const uint64_t> functions);

}  // namespace strobe::dwarf
