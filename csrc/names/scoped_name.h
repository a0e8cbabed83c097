// Names as patterns see them.
#pragma once

#include <string>
#include <string_view>

namespace strobe::names {

constexpr char kScopeSign = '\x1f';

// `name` in one spelling, with each `::` outside brackets as kScopeSign. A `::` in brackets, or in the type of a
// conversion operator, is part of the name around it.
std::string scoped(std::string_view name);

}  // namespace strobe::names
