#include "dwarf/units/children.h"

namespace strobe::dwarf {

bool Children::next() {
    if (plan_ != nullptr) pass();
    while (depth_ > 0 && cursor_.left() > 0) {
        offset_ = unit_.base + cursor_.position();
        const uint64_t code = cursor_.uleb();
        if (code == 0) {
            --depth_;
            continue;
        }
        plan_ = &unit_.abbreviations->plan(code);
        if (depth_ == 1) return true;
        pass();
    }
    return false;
}

// To what follows a DIE, which may be its first child.
void Children::pass() {
    const Plan& plan = *std::exchange(plan_, nullptr);
    if (!plan.has_children || !plan.names(kSibling)) {
        plan.skip(cursor_);
        depth_ += plan.has_children ? 1 : 0;
        return;
    }
    plan.read(cursor_, attributes_);
    const auto sibling = Units::reference(unit_, attributes_.find(kSibling));
    const uint64_t position = unit_.base + cursor_.position();
    if (!sibling || *sibling < position || *sibling > unit_.end) throw DwarfError("a sibling outside its unit");
    cursor_.skip(*sibling - position);
}

std::vector<uint64_t> children(const Units& units, uint64_t die, uint32_t tag) {
    const Unit& unit = units.at(die);
    Die parent;
    units.read(unit, die, parent);
    std::vector<uint64_t> found;
    for (Children child(units, unit, parent.behind, parent.plan->has_children); child.next();) {
        if (child.tag() == tag) found.push_back(child.offset());
    }
    return found;
}

}  // namespace strobe::dwarf
