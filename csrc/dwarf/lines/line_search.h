// Lines of source both ways: which rows of all line tables name a file, and what stands at an address.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dwarf/lines/line_program.h"

namespace strobe::dwarf {

struct FoundLine {
    uint64_t address;
    uint32_t unit, file, line, column;  // file: index in FoundLines::paths
    uint8_t flags;                      // LineRow::Flag
};

struct FoundLines {
    std::vector<FoundLine> rows;  // unit by unit, in their programs' order, without ends of sequences
    std::vector<std::string> paths;
};

// The rows of all files whose path is `file` or ends with it after a slash. A row that repeats the one before it, of
// the same line, is left out: it begins nothing. Units whose tables are damaged are passed over.
FoundLines lines_of_file(const Units& units, std::string_view file);

struct LineAt {
    std::string path;
    LineRow row;  // the last at or before the address; of several at one address, one that begins a statement
};

class AddressLines {
  public:
    explicit AddressLines(const Units& units);
    std::optional<LineAt> at(uint64_t address) const;

  private:
    struct Part {
        uint64_t start, end;
        uint32_t unit;
    };

    std::optional<LineAt> in_unit(const Unit& unit, uint64_t address) const;

    const Units& units_;
    std::vector<Part> parts_;         // by start
    std::vector<uint32_t> unplaced_;  // units with lines that do not say where their code is
};

}  // namespace strobe::dwarf
