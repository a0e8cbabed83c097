// The sections of one file, their units, and single DIEs of them; those of its alternate file (dwz), too. Knows DWARF 2
// to 5, nothing of ELF.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "dwarf/units/abbreviations.h"

namespace strobe::dwarf {

// Bytes as they are when nothing is compressed; empty for a section that is not there. They must outlive who reads
// them. `has_code_at_zero`: code at address 0 is not what a linker threw away; so it is in object files.
struct Sections {
    Bytes info, types, abbrev, str, line_str, str_offsets, addr, ranges, rnglists, line;
    bool has_code_at_zero = false;
};

enum class UnitKind : uint8_t { kCompile = 1, kType, kPartial, kSkeleton, kSplitCompile, kSplitType };

// Set in the offsets of DIEs and units that are in the alternate file: what several files have in common (dwz).
constexpr uint64_t kAlternate = uint64_t{1} << 62;

// Offsets are from the start of its section, .debug_info or the .debug_types of DWARF 4, plus `base`.
struct Unit {
    uint64_t offset = 0, end = 0, first_die = 0;
    uint64_t base = 0;  // 0 or kAlternate
    Layout layout{};
    UnitKind kind = UnitKind::kCompile;
    bool in_types = false;
    bool knows_alternate = false;  // references into the alternate file can be followed
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
    // Reads all headers. Throws DwarfError where not even one unit can be read. `alternate`: sections of the alternate
    // file; without any, what is there is unknown.
    explicit Units(const Sections& sections, const Sections& alternate = {});

    const Sections& sections() const { return sections_; }
    // Of this file. Their index is their place here; those of the alternate file go on from there.
    const std::vector<Unit>& all() const { return units_; }
    size_t count() const { return units_.size() + alternate_units_.size(); }
    const std::vector<Damage>& damage() const { return damage_; }
    const Sections& alternate() const { return alternate_; }
    const Sections& sections_of(const Unit& unit) const { return unit.base == 0 ? sections_ : alternate_; }
    Bytes section_of(const Unit& unit) const { return unit.in_types ? sections_.types : sections_of(unit).info; }
    // What ends where the unit does.
    Bytes content_of(const Unit& unit) const { return section_of(unit).first(unit.end - unit.base); }

    // The unit of .debug_info that holds a DIE.
    const Unit& at(uint64_t die) const;
    void read(const Unit& unit, uint64_t die, Die& into) const;
    void read(const Unit& unit, uint64_t die, WholeDie& into) const;

    std::optional<std::string_view> text(const Unit& unit, const Attribute* attribute) const;  // none: not in this file
    uint64_t address(const Unit& unit, const Attribute& attribute) const;
    uint64_t indexed_address(const Unit& unit, uint64_t index) const;
    // Offset in .debug_info of what an attribute refers to; none for a DIE of another file that is not known, or of a
    // type unit by signature.
    static std::optional<uint64_t> reference(const Unit& unit, const Attribute* attribute);
    // Address ranges of a DIE: the one of low_pc and high_pc, or those of DW_AT_ranges. Code that was thrown away is
    // left out.
    std::vector<std::pair<uint64_t, uint64_t>> ranges(const Unit& unit, const Attributes& attributes) const;

  private:
    Cursor cursor_at(const Unit& unit, uint64_t die) const;
    void read_section(Bytes section, bool types, uint64_t base, std::vector<Unit>& into);
    Unit header(Cursor& cursor, bool types, uint64_t base);
    void read_header(Cursor& cursor, Unit& unit);
    void add_damage(uint64_t unit_offset, const DwarfError& error);
    const Abbreviations* abbreviations(uint64_t offset, const Unit& unit);

    Sections sections_, alternate_;
    std::vector<Unit> units_;  // those of .debug_info first
    std::vector<Unit> alternate_units_;
    size_t info_units_ = 0;
    std::vector<Damage> damage_;
    std::map<std::tuple<uint64_t, uint64_t, Layout>, std::unique_ptr<Abbreviations>> tables_;
    uint64_t table_budget_;
};

}  // namespace strobe::dwarf
