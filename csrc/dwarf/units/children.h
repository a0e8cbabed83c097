// The direct children of one DIE.
#pragma once

#include <vector>

#include "dwarf/units/units.h"

namespace strobe::dwarf {

// Goes from child to child; what is below them is passed over. Throws DwarfError where the unit is damaged.
class Children {
  public:
    // `behind`: where the first child begins, if there is one.
    Children(const Units& units, const Unit& unit, uint64_t behind, bool has_children)
        : unit_(unit), cursor_(units.content_of(unit), behind - unit.base), depth_(has_children ? 1 : 0) {}

    // False at the end.
    bool next();
    uint64_t offset() const { return offset_; }
    uint32_t tag() const { return plan_->tag; }
    uint64_t passed_bytes(uint64_t behind) const { return unit_.base + cursor_.position() - behind; }

  private:
    void pass();

    const Unit& unit_;
    Cursor cursor_;
    size_t depth_;
    uint64_t offset_ = 0;
    const Plan* plan_ = nullptr;  // of a DIE whose attributes begin at the cursor
    Attributes attributes_;
};

// Those with one tag.
std::vector<uint64_t> children(const Units& units, uint64_t die, uint32_t tag);

}  // namespace strobe::dwarf
