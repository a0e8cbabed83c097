// Punycode as Rust's v0 mangling has it (RFC 3492, with "_" for "-").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strobe::demangle {

// The identifier in UTF-8; none where it is not valid.
std::optional<std::string> decode_punycode(std::string_view text);
// False for what is not a Unicode scalar value.
bool append_utf8(std::string& out, uint32_t letter);

}  // namespace strobe::demangle
