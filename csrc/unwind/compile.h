// .eh_frame, as a process has it in memory, compiled to a table for lookups in that process (table.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strobe::unwind {

// `section`: .eh_frame, up to its end or beyond, which lies at `address`; `start`: of the module, `size` bytes from
// there on have rules. Nothing of the section is trusted: what lies behind an entry that cannot be read is left out.
std::vector<std::uint8_t> compile(std::span<const std::uint8_t> section, std::uint64_t address, std::uint64_t start,
                                  std::uint64_t size);

}  // namespace strobe::unwind
