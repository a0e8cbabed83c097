// Symbol tables and debug information put together: one function per address.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "symbols/symbol_table.h"

namespace strobe::symbols {

constexpr uint32_t kNoFile = UINT32_MAX, kNoLine = UINT32_MAX;
constexpr uint64_t kNoDie = UINT64_MAX;

enum FunctionFlag : uint8_t { kExported = 1, kOpen = 2, kGo = 4 };  // kOpen: other modules or files could call it

// A concrete function as debug information, or another table with sources, has it.
struct CodeRow {
    std::string_view name;
    std::string_view linkage_name;  // empty: not mangled
    uint64_t address, size;
    uint64_t die;   // or kNoDie
    uint32_t file;  // index in MergeInput::files, or kNoFile
    uint32_t line;  // or kNoLine
};

struct MergeInput {
    const std::vector<TableFunction>& symbols;
    std::vector<CodeRow> code;  // of several at one address, the first counts
    const std::vector<std::string>& files;
    std::pair<uint64_t, uint64_t> go_code;  // [start, end) of what Go's compiler made
};

// By address. Strings are each ended by a zero byte.
struct FunctionColumns {
    std::string names, raw_names;
    std::vector<uint64_t> addresses, sizes, dies;
    std::vector<uint32_t> files, lines;  // index in `paths`, or kNoFile; kNoLine
    std::vector<uint8_t> flags;
    std::string paths;  // each once
    // Other names of functions that share their code: the compiler or the linker folded them, or they are aliases.
    std::string shared_names;
    std::vector<uint64_t> sharing;  // of each, the index of the function
    // Thunks, which are no functions here: the name of the function that each is for, and where its code lies.
    std::string thunk_names;
    std::vector<uint64_t> thunks, thunk_sizes;
};

// Of several symbols at one address, the one counts that debug information names, save where others call the function
// by a more public one: `malloc` is `__libc_malloc` in its source.
FunctionColumns merged_functions(MergeInput input);

}  // namespace strobe::symbols
