// Names of C++ and Rust from their mangled form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strobe::demangle {

// As abi::__cxa_demangle has it, and Rust's v0 as rust_v0(). None where it is not a mangled name.
std::optional<std::string> demangled(const std::string& name);

}  // namespace strobe::demangle
