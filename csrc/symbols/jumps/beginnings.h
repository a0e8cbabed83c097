// Which functions of a module are entered behind their first instruction: a jump there must not be overwritten.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbols/frame_ranges.h"

namespace strobe::symbols {

// What the loader maps of a file, at its link-time address.
struct LoadedPiece {
    uint64_t address;
    std::span<const uint8_t> bytes;
    bool is_code;
};

struct Beginning {
    uint64_t entry, size;
};

// `relocations`: Elf64_Rela entries. `is_fixed`: the module is loaded where it was linked, so that its data has
// addresses as they are.
struct ModuleImage {
    std::span<const LoadedPiece> pieces;
    std::span<const uint8_t> relocations;
    std::span<const uint8_t> relative_relocations;  // Elf64_Relr entries
    bool is_fixed;
};

// Bits of what `beginnings` gives.
inline constexpr uint8_t kEntered = 1;  // something jumps, or may, between the first bytes that a hook overwrites
inline constexpr uint8_t kLooped = 2;   // another part of the function jumps to its entry

// For each function, by ascending entry. Seen are direct jumps and calls of all of the module's code, addresses in its
// data (tables of labels), and tables of distances to an address that the code takes (of `switch`). Each instruction is
// decoded from the beginning of the code that `frames` say belongs together; where they say nothing, whatever may be
// one counts. Throws std::invalid_argument where the code spans more than 1 GB.
std::vector<uint8_t> beginnings(const ModuleImage& image, const FrameRanges& frames,
                                std::span<const Beginning> functions);

}  // namespace strobe::symbols
