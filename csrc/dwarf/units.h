// The sections of one file, their units, and single DIEs of them. Knows DWARF 2 to 5, nothing of ELF.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "dwarf/abbreviations.h"

namespace strobe::dwarf {

// Bytes as they are when nothing is compressed; empty for a section that is not there. They must outlive who reads
// them.
struct Sections {
    Bytes info, types, abbrev, str, line_str, str_offsets, addr, ranges, rnglists, line;
};

enum class UnitKind : uint8_t { kCompile = 1, kType, kPartial, kSkeleton, kSplitCompile, kSplitType };

// Offsets are from the start of its section: .debug_info, or .debug_types of DWARF 4.
struct Unit {
    uint64_t offset = 0, end = 0, first_die = 0;
    Layout layout{};
    UnitKind kind = UnitKind::kCompile;
    bool in_types = false;
    uint32_t index = 0;
    const Abbreviations* abbreviations = nullptr;  // null: damaged, and never read
    Attributes own;                                // of its first DIE
    uint64_t first_child = 0;                      // 0: it has no children
};

struct Damage {
    uint64_t unit_offset;
    std::string reason;
};

// A DIE with what is read of it.
struct Die {
    const Plan* plan;
    uint64_t behind;  // where its first child, or its next sibling, begins
    Attributes attributes;
};

class Units {
  public:
    // Reads all headers. Throws DwarfError where not even one unit can be read.
    explicit Units(const Sections& sections);

    const Sections& sections() const { return sections_; }
    const std::vector<Unit>& all() const { return units_; }
    const std::vector<Damage>& damage() const { return damage_; }
    Bytes section_of(const Unit& unit) const { return unit.in_types ? sections_.types : sections_.info; }

    // The unit of .debug_info that holds a DIE.
    const Unit& at(uint64_t die) const;
    void read(const Unit& unit, uint64_t die, Die& into) const;

    std::optional<std::string_view> text(const Unit& unit, const Attribute* attribute) const;  // none: not in this file
    uint64_t address(const Unit& unit, const Attribute& attribute) const;
    uint64_t indexed_address(const Unit& unit, uint64_t index) const;
    // Offset in .debug_info of what an attribute refers to; none for a DIE of another file, or of a type unit by
    // signature.
    static std::optional<uint64_t> reference(const Unit& unit, const Attribute* attribute);
    // Address ranges of a DIE: the one of low_pc and high_pc, or those of DW_AT_ranges. Code that was thrown away is
    // left out.
    std::vector<std::pair<uint64_t, uint64_t>> ranges(const Unit& unit, const Attributes& attributes) const;

  private:
    void read_section(bool types);
    Unit header(Cursor& cursor, bool types);
    const Abbreviations* abbreviations(uint64_t offset, const Layout& layout);

    Sections sections_;
    std::vector<Unit> units_;  // those of .debug_info first
    size_t info_units_ = 0;
    std::vector<Damage> damage_;
    std::map<std::pair<uint64_t, Layout>, std::unique_ptr<Abbreviations>> tables_;
    uint64_t table_budget_;
};

}  // namespace strobe::dwarf
