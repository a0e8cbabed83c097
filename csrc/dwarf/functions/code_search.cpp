#include "dwarf/functions/code_search.h"

#include <algorithm>

#include "dwarf/units/walk.h"

namespace strobe::dwarf {
namespace {

constexpr size_t kMaxDepth = 4096;     // of DIEs in DIEs
constexpr size_t kMaxParts = 4 << 20;  // of all functions; damaged lists may name everything behind them
constexpr uint32_t kPassedOver = UINT32_MAX;

enum Role { kOther, kBlock, kEntry };

Role role_of(uint32_t tag) {
    switch (tag) {
        case kTagLexicalBlock:
        case kTagInlinedSubroutine:
        case kTagTryBlock:
        case kTagCatchBlock:
            return kBlock;
        case kTagFormalParameter:
        case kTagVariable:
        case kTagCallSite:
        case kTagGnuCallSite:
            return kEntry;
        default:
            return kOther;
    }
}

class ScopeWalk {
  public:
    ScopeWalk(const Units& units, const Unit& unit, uint64_t address) : units_(units), unit_(unit), address_(address) {}

    std::vector<ScopeDie> run(uint64_t function) {
        Die die;
        units_.read(unit_, function, die);
        found_.push_back({function, die.plan->tag, 0, false});
        if (!die.plan->has_children) return std::move(found_);
        open_.push_back({0, false});
        Cursor cursor(units_.section_of(unit_).first(unit_.end), die.behind);
        while (!open_.empty() && cursor.left() > 0) {
            const uint64_t start = cursor.position();
            const uint64_t code = cursor.uleb();
            if (code == 0) {
                open_.pop_back();
            } else {
                visit(start, unit_.abbreviations->plan(code), cursor);
            }
        }
        return std::move(found_);
    }

  private:
    struct Level {
        uint32_t scope;  // its index, or kPassedOver
        bool is_apart;
    };
    static constexpr Level kPassed{kPassedOver, false};

    void visit(uint64_t start, const Plan& plan, Cursor& cursor) {
        const bool is_passed = open_.back().scope == kPassedOver;
        if (is_passed && !plan.names(kSibling)) {
            plan.skip(cursor);
            if (plan.has_children) enter(kPassed);
            return;
        }
        plan.read(cursor, attributes_);
        const Level inside = is_passed ? kPassed : level_inside(start, plan.tag);
        if (!plan.has_children) return;
        if (inside.scope != kPassedOver || !jump_to_sibling(cursor)) enter(inside);
    }

    // Of what stands in a DIE, which is taken down where it belongs to the address.
    Level level_inside(uint64_t start, uint32_t tag) {
        const Role role = role_of(tag);
        const Level around = open_.back();
        if (role == kOther) return kPassed;
        if (role == kBlock && tag == kTagInlinedSubroutine && (around.is_apart || !includes_address())) return kPassed;
        if (role == kBlock && !attributes_.has(kLowPc) && !attributes_.has(kRanges)) return around;
        if (role == kBlock && (around.is_apart || !includes_address())) return {around.scope, true};
        if (!around.is_apart || tag == kTagVariable) found_.push_back({start, tag, around.scope, around.is_apart});
        return role == kBlock ? Level{static_cast<uint32_t>(found_.size() - 1), false} : kPassed;
    }

    bool includes_address() const {
        const auto ranges = units_.ranges(unit_, attributes_);
        return std::any_of(ranges.begin(), ranges.end(),
                           [this](const auto& range) { return range.first <= address_ && address_ < range.second; });
    }

    bool jump_to_sibling(Cursor& cursor) const {
        const auto sibling = Units::reference(unit_, attributes_.find(kSibling));
        if (!sibling) return false;
        if (*sibling < cursor.position() || *sibling > unit_.end) throw DwarfError("a sibling outside its unit");
        cursor.skip(*sibling - cursor.position());
        return true;
    }

    void enter(Level level) {
        if (open_.size() >= kMaxDepth) throw DwarfError("DIEs nested too deeply");
        open_.push_back(level);
    }

    const Units& units_;
    const Unit& unit_;
    const uint64_t address_;
    std::vector<ScopeDie> found_;
    std::vector<Level> open_;
    Attributes attributes_;
};

}  // namespace

void CodeSearch::Parts::sort() {
    std::sort(list_.begin(), list_.end(), [](const Part& left, const Part& right) {
        return left.start != right.start ? left.start < right.start : left.value > right.value;
    });
    uint64_t last_end = 0;
    for (Part& part : list_) part.last_end = last_end = std::max(last_end, part.end);
}

std::vector<uint64_t> CodeSearch::Parts::around(uint64_t address) const {
    std::vector<uint64_t> found;
    auto part = std::upper_bound(list_.begin(), list_.end(), address,
                                 [](uint64_t wanted, const Part& part) { return wanted < part.start; });
    while (part != list_.begin() && (--part)->last_end > address) {
        if (part->end > address) found.push_back(part->value);
    }
    return found;
}

CodeSearch::CodeSearch(const Units& units) : units_(units) {
    for (const Unit& unit : units.all()) {
        if (unit.in_types) continue;
        const size_t before = unit_parts_.size();
        try {
            for (const auto& [start, end] : units.ranges(unit, unit.own)) unit_parts_.add(start, end, unit.index);
        } catch (const DwarfError&) {
            unit_parts_.cut(before);
        }
        if (unit_parts_.size() == before) unplaced_.push_back(unit.index);
    }
    unit_parts_.sort();
}

std::optional<uint64_t> CodeSearch::function_at(uint64_t address) {
    for (const uint64_t unit : unit_parts_.around(address)) {
        if (auto found = in_unit(unit, address)) return found;
    }
    for (const uint64_t unit : unplaced_) {
        if (auto found = in_unit(unit, address)) return found;
    }
    return std::nullopt;
}

std::optional<uint64_t> CodeSearch::in_unit(uint64_t unit, uint64_t address) {
    const std::lock_guard lock(mutex_);
    auto known = functions_.find(unit);
    if (known == functions_.end()) known = functions_.emplace(unit, functions_of(units_.all()[unit])).first;
    const auto found = known->second.around(address);
    if (found.empty()) return std::nullopt;
    return found.front();
}

CodeSearch::Parts CodeSearch::functions_of(const Unit& unit) {
    Parts parts;
    Die die;
    for (const uint32_t offset : walk(units_, unit, true).functions) {
        if (part_count_ + parts.size() > kMaxParts) break;
        try {
            units_.read(unit, unit.offset + offset, die);
            for (const auto& [start, end] : units_.ranges(unit, die.attributes)) {
                parts.add(start, end, unit.offset + offset);
            }
        } catch (const DwarfError&) {
            continue;  // the others are worth having
        }
    }
    part_count_ += parts.size();
    parts.sort();
    return parts;
}

std::vector<ScopeDie> scope_dies(const Units& units, uint64_t function, uint64_t address) {
    return ScopeWalk(units, units.at(function), address).run(function);
}

}  // namespace strobe::dwarf
