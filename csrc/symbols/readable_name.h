// Names of functions from those of symbols.
#pragma once

#include <string>
#include <string_view>

namespace strobe::symbols {

// Demangled, without parameter list and Rust's hash; what is not mangled, or by a scheme not known, stays. Clone marks
// go from all.
std::string readable_name(std::string_view raw_name);

// Debug information's `name`, save for what a symbol's tells better: lambdas, `<lambda(int)>` there and numbered in the
// symbol, and conversions, whose type clang leaves incomplete. `raw_name` may be empty.
std::string clearest_name(std::string_view name, std::string_view raw_name);

// readable_name of what is demangled already.
std::string plain_name(std::string_view demangled);

}  // namespace strobe::symbols
