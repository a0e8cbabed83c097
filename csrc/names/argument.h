// One spelling for what stands in brackets: types and numbers, which compilers and demanglers write differently.
#pragma once

#include <string>
#include <vector>

#include "names/tokens.h"

namespace strobe::names {

// A token, or a bracketed group that is in its one spelling already (kOpen).
struct Piece {
    TokenKind kind;
    std::string text;
};

// `std::__cxx11::f` -> `std::f`, `f[abi:x]` -> `f`, `{anonymous}` -> `(anonymous namespace)`, `std::string` in full.
void unify_scopes(std::vector<Piece>& pieces);

// `long unsigned int` -> `unsigned long`, `const char *` -> `char const*`, `5ul` -> `5`, `'A'` -> `(char)65`.
std::string unified_argument(std::vector<Piece> pieces);

// `std::vector<int, std::allocator<int>>` -> `std::vector<int>`: some compilers leave out what is default.
void drop_defaults(std::vector<std::string>& arguments);

}  // namespace strobe::names
