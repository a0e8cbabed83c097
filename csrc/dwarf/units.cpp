#include "dwarf/units.h"

#include <algorithm>

namespace strobe::dwarf {
namespace {

constexpr uint64_t kTableBudget = 256 << 20;
constexpr uint64_t kLongFormat = 0xffffffff, kReservedLength = 0xfffffff0;  // DWARF 5, section 7.4

std::string_view text_at(Bytes section, uint64_t offset) { return Cursor(section, offset).text(); }

}  // namespace

Units::Units(const Sections& sections) : sections_(sections), table_budget_(kTableBudget) {
    read_section(false);
    info_units_ = units_.size();
    read_section(true);
    if (units_.empty()) throw DwarfError(damage_.empty() ? "there are no units" : damage_.front().reason);
}

void Units::read_section(bool types) {
    const Bytes section = types ? sections_.types : sections_.info;
    uint64_t offset = 0;
    while (offset < section.size()) {
        Unit unit;
        try {
            Cursor cursor(section, offset);
            unit = header(cursor, types);
        } catch (const DwarfError& error) {
            damage_.push_back({offset, error.what()});
            return;  // where the next one begins is not known
        }
        offset = unit.end;
        units_.push_back(unit);
    }
}

Unit Units::header(Cursor& cursor, bool types) {
    Unit unit;
    unit.in_types = types;
    unit.index = static_cast<uint32_t>(units_.size());
    unit.offset = cursor.position();
    uint64_t length = cursor.fixed(4);
    if (length >= kReservedLength && length != kLongFormat) throw DwarfError("a unit of reserved length");
    unit.layout.offset_size = length == kLongFormat ? 8 : 4;
    if (length == kLongFormat) length = cursor.fixed(8);
    if (length > cursor.left()) throw DwarfError("a unit that is longer than its section");
    unit.end = cursor.position() + length;
    if (unit.end - unit.offset > UINT32_MAX) throw DwarfError("a unit of over 4 GB");
    try {
        const uint64_t version = cursor.fixed(2);
        if (version < 2 || version > 5) throw DwarfError("DWARF version " + std::to_string(version));
        unit.layout.version = static_cast<uint8_t>(version);
        uint64_t table = 0;
        if (version == 5) unit.kind = static_cast<UnitKind>(cursor.u8());
        if (version < 5) table = cursor.fixed(unit.layout.offset_size);
        unit.layout.address_size = cursor.u8();
        if (version == 5) table = cursor.fixed(unit.layout.offset_size);
        if (unit.layout.address_size != 4 && unit.layout.address_size != 8) throw DwarfError("addresses of odd size");
        if (types) unit.kind = UnitKind::kType;
        if (unit.kind == UnitKind::kSkeleton || unit.kind == UnitKind::kSplitCompile) cursor.skip(8);
        if (unit.kind == UnitKind::kType || unit.kind == UnitKind::kSplitType)
            cursor.skip(8u + unit.layout.offset_size);
        unit.first_die = cursor.position();
        unit.abbreviations = abbreviations(table, unit.layout);
        if (unit.first_die < unit.end) {
            Die die;
            read(unit, unit.first_die, die);
            unit.own = die.attributes;
            if (die.plan->has_children) unit.first_child = die.behind;
        }
    } catch (const DwarfError& error) {
        damage_.push_back({unit.offset, error.what()});
        unit.abbreviations = nullptr;
    }
    return unit;
}

const Abbreviations* Units::abbreviations(uint64_t offset, const Layout& layout) {
    auto& known = tables_[{offset, layout}];
    if (!known) known = std::make_unique<Abbreviations>(sections_.abbrev, offset, layout, table_budget_);
    return known.get();
}

const Unit& Units::at(uint64_t die) const {
    const auto end = units_.begin() + static_cast<ptrdiff_t>(info_units_);
    const auto after = std::upper_bound(units_.begin(), end, die,
                                        [](uint64_t offset, const Unit& unit) { return offset < unit.offset; });
    if (after == units_.begin() || die >= (after - 1)->end) throw DwarfError("a reference to where no unit is");
    return *(after - 1);
}

void Units::read(const Unit& unit, uint64_t die, Die& into) const {
    if (unit.abbreviations == nullptr) throw DwarfError("a reference into a damaged unit");
    if (die < unit.first_die || die >= unit.end) throw DwarfError("a DIE outside of its unit");
    Cursor cursor(section_of(unit).first(unit.end), die);
    into.plan = &unit.abbreviations->plan(cursor.uleb());
    into.plan->read(cursor, into.attributes);
    into.behind = cursor.position();
}

std::optional<std::string_view> Units::text(const Unit& unit, const Attribute* attribute) const {
    if (attribute == nullptr) return std::nullopt;
    const uint32_t form = attribute->form;
    if (form == kFormString) return text_at(section_of(unit), attribute->value);
    if (form == kFormStrp) return text_at(sections_.str, attribute->value);
    if (form == kFormLineStrp) return text_at(sections_.line_str, attribute->value);
    if (!is_strx(form)) return std::nullopt;  // in a supplementary file (dwz)
    const unsigned width = unit.layout.offset_size;
    const uint64_t base = unit.own.number(kStrOffsetsBase, 2 * width);
    if (attribute->value > sections_.str_offsets.size()) throw DwarfError("a string's number out of range");
    Cursor cursor(sections_.str_offsets, base);
    cursor.skip(attribute->value * width);
    return text_at(sections_.str, cursor.fixed(width));
}

uint64_t Units::address(const Unit& unit, const Attribute& attribute) const {
    return is_addrx(attribute.form) ? indexed_address(unit, attribute.value) : attribute.value;
}

uint64_t Units::indexed_address(const Unit& unit, uint64_t index) const {
    if (index > sections_.addr.size()) throw DwarfError("an address's number out of range");
    Cursor cursor(sections_.addr, unit.own.number(kAddrBase, unit.layout.version < 5 ? 0 : 8));
    cursor.skip(index * unit.layout.address_size);
    return cursor.fixed(unit.layout.address_size);
}

std::optional<uint64_t> Units::reference(const Unit& unit, const Attribute* attribute) {
    if (attribute == nullptr) return std::nullopt;
    if (attribute->form >= kFormRef1 && attribute->form <= kFormRefUdata) return unit.offset + attribute->value;
    if (attribute->form == kFormRefAddr) return attribute->value;
    return std::nullopt;
}

}  // namespace strobe::dwarf
