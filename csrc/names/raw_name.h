// What the name of a symbol says before it is demangled, and whether it says more than debug information.
#pragma once

#include <string>
#include <string_view>

namespace strobe::names {

// Whether it is the seldom executed part of a function, which is jumped to and never called.
bool is_cold(std::string_view raw_name);

// Whether it is what chooses among the implementations of a function (gcc's target_clones), and is not called with the
// arguments.
bool is_resolver(std::string_view raw_name);

// Without what the compiler has added to a function that it made from another: `f.isra.0` -> `f`.
std::string_view without_clone(std::string_view raw_name);

inline bool is_clone(std::string_view raw_name) { return without_clone(raw_name).size() < raw_name.size(); }

// Thunks and transactional copies (Itanium C++ ABI 5.1.4): a call of one is a call of the function proper, too.
bool is_adjuster(std::string_view raw_name);

// The mangled name of the function that a thunk is for; empty where it is none.
std::string adjusted(std::string_view raw_name);

bool is_mangled(std::string_view raw_name);

// Without the hash that Rust's older mangling ends names with.
std::string_view without_rust_hash(std::string_view name);

// What that mangling had to write in letters: `$LT$` is `<`, `..` is `::`.
std::string rust_unescaped(std::string_view name);

// Whether the mangled name says more than `name` from debug information: of lambdas, conversions, and Rust's
// implementations of traits, `{impl#0}` there; and of all that has a scope, where -g1 has left out the scopes.
bool is_clearer_in_symbol(std::string_view name, std::string_view linkage_name);

}  // namespace strobe::names
