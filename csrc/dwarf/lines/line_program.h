// Line number programs, decoded one at a time when asked for (DWARF 5, section 6.2; DWARF 2 to 4 likewise).
#pragma once

#include <string>
#include <vector>

#include "dwarf/units/units.h"

namespace strobe::dwarf {

// The header: directories and files, and what the program itself needs.
class LineHeader {
  public:
    // Of a unit; throws DwarfError where it has none.
    LineHeader(const Units& units, const Unit& unit);

    // Full path by file number, as units count them: from 1 up to DWARF 4, from 0 in DWARF 5. Empty for an unknown
    // number.
    std::string path(uint64_t file) const;
    // As it stands in the table; `number` is below file_count().
    std::string_view name(size_t number) const { return files_[number].name; }
    size_t file_count() const { return files_.size(); }  // one more than the highest number

    uint8_t min_instruction_length = 1, opcode_base = 1, line_range = 1;
    bool default_is_stmt = true;
    int8_t line_base = 0;
    uint8_t address_size = 8;
    uint64_t program = 0, end = 0;  // offsets in .debug_line
    std::vector<uint8_t> operand_counts;

  private:
    struct File {
        std::string_view name;
        uint64_t folder;
    };
    void read_old_tables(Cursor& cursor);
    std::vector<File> read_table(Cursor& cursor, const Unit& unit) const;

    const Units& units_;
    uint8_t version_ = 0;
    uint8_t offset_size_ = 4;
    std::string_view base_;  // the folder that the compiler was started in
    std::vector<std::string_view> folders_;
    std::vector<File> files_;
};

struct LineRow {
    enum Flag : uint8_t { kIsStatement = 1, kEndSequence = 2, kPrologueEnd = 4 };
    uint64_t address;
    uint32_t file, line, column;
    uint8_t flags;
};

// All rows in the order of the program; sequences of code that the linker threw away are left out.
std::vector<LineRow> line_rows(const Units& units, const Unit& unit);

// "a/./b/../c" -> "a/c", as a path that is only read.
std::string normal_path(std::string_view path);

}  // namespace strobe::dwarf
