// Which part of a function is called.
#pragma once

#include <vector>

#include "dwarf/index.h"
#include "symbols/merged_functions.h"

namespace strobe::symbols {

// A function that the compiler has split has several ranges, and the first that debug information lists need not be the
// one that is called: clang's lists may have it last. It is the one that begins where the symbol table has a function.
// Where there is none, all stays as it is.
void settle_entries(dwarf::Index& index, const std::vector<TableFunction>& symbols);

}  // namespace strobe::symbols
