// Names of Rust's v0 mangling (RFC 2603, and "v0 Symbol Format" in the rustc book).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strobe::demangle {

// The name as it stands in Rust's debug information: `app::shapes::Stack<i32>::push`, `<app::Square as
// app::Shape>::area`, `app::main::{closure#0}`: without crate hashes, lifetimes and the `::` before generic arguments.
// None where `mangled` does not begin with "_R" or is not valid. Bounded in depth, steps and length, whatever it is
// given.
std::optional<std::string> rust_v0(std::string_view mangled);

}  // namespace strobe::demangle
