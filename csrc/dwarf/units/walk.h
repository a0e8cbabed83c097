// One pass over the DIEs of a unit: what it declares, and which DIE encloses which.
#pragma once

#include <vector>

#include "dwarf/units/units.h"

namespace strobe::dwarf {

constexpr int32_t kNoScope = -1;

// DIEs that give their name to what they enclose, in order of their start. Offsets are from the unit's start.
struct Scope {
    uint32_t start, end;
    int32_t parent;  // index, or kNoScope
};

class Scopes {
  public:
    // The innermost one around a DIE, which is not inside of itself.
    int32_t innermost(uint32_t offset) const;
    const Scope& operator[](int32_t index) const { return list_[static_cast<size_t>(index)]; }
    int32_t add(uint32_t start, uint32_t end, int32_t parent);
    void close(int32_t index, uint32_t end) { list_[static_cast<size_t>(index)].end = end; }
    void finish() { list_.shrink_to_fit(); }

  private:
    std::vector<Scope> list_;
};

// An inlined site. `origin`: its abstract instance, by section offset; `die`: from the unit's start.
struct InlinedDie {
    uint64_t origin;
    uint32_t die;
};

// What a unit has. DIEs by their offset from the unit's start.
struct Found {
    Scopes scopes;
    std::vector<uint32_t> functions;  // with code
    std::vector<uint32_t> variables;  // with an address of their own
    std::vector<uint32_t> types;      // named, with a definition
    std::vector<InlinedDie> inlined;  // in functions with code
    std::vector<uint32_t> inlinable;  // abstract instances of what the compiler has inlined
    std::vector<uint64_t> imports;    // units of the alternate file, by the offset of their first DIE
    std::string damage;               // why the rest of the unit could not be read
};

// Never throws DwarfError: what was found before the damage stays. `collects`: not the scopes alone.
Found walk(const Units& units, const Unit& unit, bool collects);

// Whether a unit, or one that it imports, has a DIE of that tag. Its abbreviations alone do not show it: dwz makes
// units share them.
bool has_die(const Units& units, const Unit& unit, uint32_t tag);

}  // namespace strobe::dwarf
