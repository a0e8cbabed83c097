// The name of a function in a demangled symbol.
#pragma once

#include <string>
#include <string_view>

namespace strobe::names {

// Without return type, parameter lists, ABI tags and clone marks. Parameter lists of enclosing functions go too; those
// of lambdas stay, being all that tells two of them apart: `int f(int)::{lambda(int)#1}::operator()(int) const` ->
// `f::{lambda(int)#1}::operator()`.
std::string plain_name(std::string_view demangled);

}  // namespace strobe::names
