#include "dwarf/units/walk.h"

#include <algorithm>
#include <unordered_set>

#include "dwarf/units/expression.h"

namespace strobe::dwarf {
namespace {

constexpr size_t kMaxDepth = 4096;  // of DIEs in DIEs; real programs stay below a hundred

enum Interest : uint8_t {
    kNothing,
    kBarren,  // holds neither functions nor types; passed over where the compiler says how long it is
    kInlined,
    kFunction,
    kVariable,
    kType,       // with a name to give to what is inside
    kPlainType,  // a name and no inside
    kNames,      // namespaces
    kImports,    // of another unit
};

Interest interest_in(uint32_t tag) {
    switch (tag) {
        case kTagSubroutineType:
        case kTagArrayType:
        case kTagCallSite:
        case kTagGnuCallSite:
            return kBarren;
        case kTagInlinedSubroutine:
            return kInlined;
        case kTagSubprogram:
            return kFunction;
        case kTagVariable:
            return kVariable;
        case kTagStructureType:
        case kTagClassType:
        case kTagUnionType:
        case kTagInterfaceType:
        case kTagEnumerationType:
            return kType;
        case kTagTypedef:
        case kTagBaseType:
            return kPlainType;
        case kTagNamespace:
        case kTagModule:
            return kNames;
        case kTagImportedUnit:
            return kImports;
        default:
            return kNothing;
    }
}

bool is_only_collected(Interest interest) {
    return interest == kVariable || interest == kPlainType || interest == kImports;
}

bool has_code(const Attributes& attributes, bool has_code_at_zero) {
    if (attributes.has(kDeclaration)) return false;
    const Attribute* low = attributes.find(kLowPc);
    if (low == nullptr) return attributes.has(kRanges);
    const uint64_t at = low->value;
    return low->form != kFormAddr || ((at > 1 || has_code_at_zero) && at != UINT32_MAX && at != UINT64_MAX);
}

// DWARF 5, table 3.4: DW_INL_inlined, DW_INL_declared_inlined
bool was_inlined(const Attributes& attributes) {
    const uint64_t how = attributes.number(kInline, 0);
    return how == 1 || how == 3;
}

class Walk {
  public:
    Walk(const Units& units, const Unit& unit, bool collects, Found& found)
        : unit_(unit),
          section_(units.content_of(unit)),
          has_code_at_zero_(units.sections_of(unit).has_code_at_zero),
          collects_(collects),
          found_(found) {}

    void run() {
        Cursor cursor(section_, unit_.first_child - unit_.base);
        open_.push_back({kNoScope, false});
        while (cursor.left() > 0) {
            const uint64_t start = cursor.position();
            const uint64_t code = cursor.uleb();
            if (code == 0) {
                if (!close(cursor.position())) return;
                continue;
            }
            const Plan& plan = unit_.abbreviations->plan(code);
            const Interest interest = interest_in(plan.tag);
            if (interest == kNothing || (!collects_ && is_only_collected(interest))) {
                plan.skip(cursor);
                if (plan.has_children) enter(open_.back());
            } else {
                visit(plan, interest, start, cursor);
            }
        }
        // a unit may end without its last null entries
    }

  private:
    struct Level {
        int32_t scope;     // those DIEs that are no scope repeat the one around them
        bool in_function;  // inside of one that has code
    };

    // `position` is one in the section.
    uint32_t relative(uint64_t position) const { return static_cast<uint32_t>(position - (unit_.offset - unit_.base)); }

    void enter(Level level) {
        if (open_.size() >= kMaxDepth) throw DwarfError("DIEs nested too deeply");
        open_.push_back(level);
    }

    bool close(uint64_t position) {
        const int32_t closed = open_.back().scope;
        open_.pop_back();
        if (open_.empty()) return false;
        if (closed != open_.back().scope) found_.scopes.close(closed, relative(position));
        return true;
    }

    void visit(const Plan& plan, Interest interest, uint64_t start, Cursor& cursor) {
        plan.read(cursor, attributes_);
        if (collects_) collect(interest, start);
        if (!plan.has_children) return;
        const bool declares = interest == kFunction && attributes_.has(kDeclaration);
        if ((interest == kBarren || declares) && jump_to_sibling(cursor)) return;
        const Level around = open_.back();
        if (interest != kFunction && interest != kType && interest != kNames) return enter(around);
        const int32_t scope = found_.scopes.add(relative(start), relative(section_.size()), around.scope);
        enter({scope, interest == kFunction ? has_code(attributes_, has_code_at_zero_) : around.in_function});
    }

    bool jump_to_sibling(Cursor& cursor) const {
        const auto sibling = Units::reference(unit_, attributes_.find(kSibling));
        if (!sibling) return false;
        const uint64_t position = unit_.base + cursor.position();
        if (*sibling < position || *sibling > unit_.end) throw DwarfError("a sibling outside its unit");
        cursor.skip(*sibling - position);
        return true;
    }

    void collect(Interest interest, uint64_t start) {
        if (interest == kFunction) {
            if (has_code(attributes_, has_code_at_zero_)) {
                found_.functions.push_back(relative(start));
            } else if (was_inlined(attributes_)) {
                found_.inlinable.push_back(relative(start));
            }
        } else if (interest == kInlined) {
            const auto origin = Units::reference(unit_, attributes_.find(kAbstractOrigin));
            if (origin && open_.back().in_function) found_.inlined.push_back({*origin, relative(start)});
        } else if (interest == kVariable) {
            if (has_address()) found_.variables.push_back(relative(start));
        } else if (interest == kImports) {
            const auto unit = Units::reference(unit_, attributes_.find(kImport));
            if (unit && (*unit & kAlternate) != 0) found_.imports.push_back(*unit);
        } else if (interest == kType || interest == kPlainType) {
            const bool has_name = attributes_.has(kName) || attributes_.has(kSpecification);
            if (has_name && !attributes_.has(kDeclaration)) found_.types.push_back(relative(start));
        }
    }

    bool has_address() const {
        const Attribute* location = attributes_.find(kLocation);
        return location != nullptr && is_block(location->form) && may_be_static(block_of(section_, *location));
    }

    const Unit& unit_;
    const Bytes section_;
    const bool has_code_at_zero_;
    const bool collects_;
    Found& found_;
    std::vector<Level> open_;
    Attributes attributes_;
};

}  // namespace

int32_t Scopes::innermost(uint32_t offset) const {
    const auto after = std::lower_bound(list_.begin(), list_.end(), offset,
                                        [](const Scope& scope, uint32_t at) { return scope.start < at; });
    auto index = static_cast<int32_t>(after - list_.begin()) - 1;
    while (index != kNoScope && (*this)[index].end <= offset) index = (*this)[index].parent;
    return index;
}

int32_t Scopes::add(uint32_t start, uint32_t end, int32_t parent) {
    list_.push_back({start, end, parent});
    return static_cast<int32_t>(list_.size()) - 1;
}

Found walk(const Units& units, const Unit& unit, bool collects) {
    Found found;
    if (unit.abbreviations == nullptr || unit.first_child == 0) return found;
    try {
        Walk(units, unit, collects, found).run();
    } catch (const DwarfError& error) {
        found.damage = error.what();
    }
    found.scopes.finish();
    return found;
}

bool has_die(const Units& units, const Unit& first, uint32_t tag) {
    std::vector<const Unit*> left{&first};
    std::unordered_set<uint32_t> known{first.index};
    while (!left.empty()) {
        const Unit& unit = *left.back();
        left.pop_back();
        if (unit.abbreviations == nullptr || unit.first_child == 0) continue;
        const bool imports = unit.abbreviations->has_tag(kTagImportedUnit);
        if (!imports && !unit.abbreviations->has_tag(tag)) continue;
        Attributes attributes;
        Cursor cursor(units.content_of(unit), unit.first_child - unit.base);
        while (cursor.left() > 0) {
            const uint64_t code = cursor.uleb();
            if (code == 0) continue;
            const Plan& plan = unit.abbreviations->plan(code);
            if (plan.tag == tag) return true;
            if (plan.tag != kTagImportedUnit) {
                plan.skip(cursor);
                continue;
            }
            plan.read(cursor, attributes);
            const auto imported = Units::reference(unit, attributes.find(kImport));
            if (imported && known.insert(units.at(*imported).index).second) left.push_back(&units.at(*imported));
        }
    }
    return false;
}

}  // namespace strobe::dwarf
