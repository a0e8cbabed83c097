#include "dwarf/functions/signatures.h"

#include <algorithm>
#include <unordered_map>

#include "dwarf/units/children.h"
#include "dwarf/units/expression.h"

namespace strobe::dwarf {
namespace {

constexpr size_t kMaxHops = 8;
constexpr uint64_t kNormalConvention = 1;
constexpr std::string_view kInCharge = "__in_chrg";  // seldom does any code get it
// Damaged functions could have one another's parameters, over and over; sound ones are read a few times at most.
constexpr uint64_t kMaxReadings = 8;
constexpr uint64_t kSmallUnits = 1 << 20;

// DWARF 5, section 7.12, and the later numbers of dwarfstd.org
Language language_of(uint64_t code) {
    switch (code) {
        case 0x01:
        case 0x02:
        case 0x0c:
        case 0x1d:
        case 0x2c:
        case 0x3e:
            return Language::kC;
        case 0x04:
        case 0x1a:
        case 0x21:
        case 0x2a:
        case 0x2b:
        case 0x3a:
            return Language::kCpp;
        case 0x1c:
            return Language::kRust;
        default:
            return Language::kOther;
    }
}

// A DIE with its unit.
struct Placed {
    const Unit* unit;
    WholeDie die;
};

// A DIE, its abstract instance, and that one's declaration.
class Chain {
  public:
    void read(const Units& units, const Unit& unit, uint64_t offset) {
        size_ = 0;
        add(units, unit, offset);
        while (size_ < kMaxHops) {
            const Placed& last = dies_[size_ - 1];
            const Attribute* origin = last.die.find(kAttrAbstractOrigin);
            if (origin == nullptr) origin = last.die.find(kAttrSpecification);
            if (origin == nullptr) return;
            const auto target = Units::reference(*last.unit, origin);
            if (!target) throw DwarfError("an origin in a file that is not known");
            add(units, units.at(*target), *target);
        }
    }
    std::span<const Placed> all() const { return {dies_.data(), size_}; }
    const Placed& own() const { return dies_[0]; }
    // The nearest that has an attribute; null where none does.
    const Placed* with(uint32_t attribute) const {
        for (const Placed& one : all()) {
            if (one.die.has(attribute)) return &one;
        }
        return nullptr;
    }

  private:
    void add(const Units& units, const Unit& unit, uint64_t offset) {
        if (size_ == dies_.size()) dies_.emplace_back();
        dies_[size_].unit = &unit;
        units.read(unit, offset, dies_[size_].die);
        ++size_;
    }

    std::vector<Placed> dies_;  // kept for their memory
    size_t size_ = 0;
};

TypeReference type_of(const Placed* typed) {
    if (typed == nullptr) return {};
    const Attribute& attribute = *typed->die.find(kAttrType);
    if (attribute.form == kFormRefSig8) return {TypeReference::kSignature, attribute.value};
    const auto target = Units::reference(*typed->unit, &attribute);
    if (!target) throw DwarfError("a type in a file that is not known");
    return {TypeReference::kOffset, *target};
}

class Reader {
  public:
    Reader(const Units& units, const LocationLists& lists)
        : units_(units),
          lists_(lists),
          bytes_left_(kSmallUnits + kMaxReadings * (units.sections().info.size() + units.alternate().info.size())) {}

    SignatureRow read(uint64_t function) {
        row_ = {};
        row_.first_parameter = found_.size();
        try {
            const Unit& unit = units_.at(function);
            row_.unit = unit.offset;
            chain_.read(units_, unit, function);
            read_function();
            for (const Placed& one : chain_.all().subspan(1)) compare(one);
        } catch (const DwarfError&) {
            found_.resize(row_.first_parameter);
            row_.flags = SignatureRow::kIsUnreadable;
        }
        row_.parameter_count = found_.size() - row_.first_parameter;
        return row_;
    }
    std::vector<ParameterRow> take_parameters() { return std::move(found_); }

  private:
    void set(SignatureRow::Flag flag) { row_.flags |= flag; }

    void read_function() {
        const Placed& own = chain_.own();
        for (const Placed& one : chain_.all()) {
            const Attribute* code = top_of(*one.unit).find(kAttrLanguage);
            const Language language = code == nullptr ? Language::kOther : language_of(code->value);
            if (language != Language::kOther) row_.language = language;  // the declaration's has the last word
        }
        if (chain_.all().size() > 1) set(SignatureRow::kHasOrigin);
        if (chain_.with(kAttrPrototyped) != nullptr) set(SignatureRow::kIsPrototyped);
        const Attribute* convention = own.die.find(kAttrCallingConvention);
        if (convention != nullptr && convention->value != kNormalConvention) set(SignatureRow::kHasOtherAbi);
        if (own.die.has(kAttrCallAllCalls) || own.die.has(kAttrGnuAllCallSites)) set(SignatureRow::kShowsOptimization);
        if (const Attribute* low = own.die.find(kAttrLowPc)) {
            row_.low_pc = units_.address(*own.unit, *low);
            set(SignatureRow::kHasLowPc);
        }
        const Attribute* base = own.die.find(kAttrFrameBase);
        if (base != nullptr && is_block(base->form)) row_.frame_base = block_of(units_.section_of(*own.unit), *base);
        row_.name = text_of(own, kAttrName);
        row_.linkage_name = text_of(own, kAttrLinkageName);
        row_.returned = type_of(chain_.with(kAttrType));
        read_children(own);
    }

    void read_children(const Placed& own) {
        Children child(units_, *own.unit, own.die.behind, own.die.has_children);
        while (child.next()) {
            const uint32_t tag = child.tag();
            if (tag == kTagCallSite || tag == kTagGnuCallSite) set(SignatureRow::kShowsOptimization);
            if (tag == kTagVariable && moves(*own.unit, child.offset())) set(SignatureRow::kShowsOptimization);
            if (tag == kTagFormalParameter) add_parameter(*own.unit, child.offset());
        }
        spend(child.passed_bytes(own.die.behind));
    }

    std::string_view text_of(const Placed& one, uint32_t attribute) const {
        return units_.text(*one.unit, one.die.find(attribute)).value_or("");
    }

    bool moves(const Unit& unit, uint64_t variable) {
        units_.read(unit, variable, scratch_);
        const Attribute* location = scratch_.find(kAttrLocation);
        if (location == nullptr) return false;
        const uint32_t form = location->form;
        return is_location_list(unit.layout, form) || form == kFormData4 || form == kFormData8;
    }

    void add_parameter(const Unit& unit, uint64_t offset) {
        formal_.read(units_, unit, offset);
        ParameterRow parameter;
        if (const Placed* named = formal_.with(kAttrName)) parameter.name = text_of(*named, kAttrName);
        parameter.type = type_of(formal_.with(kAttrType));
        const Attribute* location = formal_.own().die.find(kAttrLocation);
        if (location != nullptr && (row_.flags & SignatureRow::kHasLowPc) != 0) {
            parameter.location = location_from(units_, unit, top_of(unit), lists_, *location, row_.low_pc);
        }
        if (parameter.name == kInCharge && location == nullptr) set(SignatureRow::kIsOutline);
        if (formal_.with(kAttrArtificial) == nullptr) ++row_.written_count;
        found_.push_back(parameter);
    }

    // Whether the origin has fewer or more parameters of the source.
    void compare(const Placed& origin) {
        size_t written = 0;
        Children child(units_, *origin.unit, origin.die.behind, origin.die.has_children);
        while (child.next()) {
            if (child.tag() != kTagFormalParameter) continue;
            formal_.read(units_, *origin.unit, child.offset());
            if (formal_.with(kAttrArtificial) == nullptr) ++written;
        }
        spend(child.passed_bytes(origin.die.behind));
        if (written != row_.written_count) set(SignatureRow::kLostParameters);
    }

    const WholeDie& top_of(const Unit& unit) {
        const auto [place, is_new] = tops_.try_emplace(unit.index);
        if (is_new) units_.read(unit, unit.first_die, place->second);
        return place->second;
    }

    void spend(uint64_t bytes) {
        if (bytes > bytes_left_) throw DwarfError("functions that are read over and over");
        bytes_left_ -= bytes;
    }

    const Units& units_;
    const LocationLists& lists_;
    uint64_t bytes_left_;
    Chain chain_, formal_;
    WholeDie scratch_;
    std::unordered_map<uint32_t, WholeDie> tops_;
    SignatureRow row_;
    std::vector<ParameterRow> found_;
};

}  // namespace

Signatures read_signatures(const Units& units, const LocationLists& lists, std::span<const uint64_t> functions) {
    Reader reader(units, lists);
    Signatures all;
    all.functions.reserve(functions.size());
    for (const uint64_t function : functions) all.functions.push_back(reader.read(function));
    all.parameters = reader.take_parameters();
    return all;
}

}  // namespace strobe::dwarf
