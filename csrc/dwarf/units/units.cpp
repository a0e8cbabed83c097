#include "dwarf/units/units.h"

#include <algorithm>

namespace strobe::dwarf {
namespace {

// Tables that overlap, and units of a few bytes, would multiply what a damaged file takes.
constexpr uint64_t kSmallTables = 64 << 10;
constexpr size_t kMaxUnits = 1 << 19;
constexpr size_t kMaxDamage = 1000;
constexpr uint64_t kMinHeader = 11;
constexpr uint64_t kLongFormat = 0xffffffff, kReservedLength = 0xfffffff0;  // DWARF 5, section 7.4

std::string_view text_at(Bytes section, uint64_t offset) { return Cursor(section, offset).text(); }

}  // namespace

Units::Units(const Sections& sections, const Sections& alternate)
    : sections_(sections),
      alternate_(alternate),
      table_budget_(2 * (sections.abbrev.size() + alternate.abbrev.size()) + kSmallTables) {
    read_section(sections_.info, false, 0, units_);
    info_units_ = units_.size();
    read_section(sections_.types, true, 0, units_);
    if (units_.empty()) throw DwarfError(damage_.empty() ? "there are no units" : damage_.front().reason);
    read_section(alternate_.info, false, kAlternate, alternate_units_);
}

void Units::read_section(Bytes section, bool types, uint64_t base, std::vector<Unit>& into) {
    uint64_t offset = 0;
    while (offset < section.size()) {
        Unit unit;
        try {
            Cursor cursor(section, offset);
            if (cursor.left() >= 4 && cursor.fixed(4) == 0) {  // filled up by the linker
                offset += 4;
                continue;
            }
            if (count() >= kMaxUnits) throw DwarfError("too many units");
            cursor = Cursor(section, offset);
            unit = header(cursor, types, base);
        } catch (const DwarfError& error) {
            add_damage(base + offset, error);
            return;  // where the next one begins is not known
        }
        offset = unit.end - base;
        into.push_back(unit);
    }
}

Unit Units::header(Cursor& cursor, bool types, uint64_t base) {
    Unit unit;
    unit.in_types = types;
    unit.base = base;
    unit.knows_alternate = base == 0 && !alternate_.info.empty();
    unit.index = static_cast<uint32_t>(count());
    unit.offset = base + cursor.position();
    uint64_t length = cursor.fixed(4);
    if (length >= kReservedLength && length != kLongFormat) throw DwarfError("a unit of reserved length");
    unit.layout.offset_size = length == kLongFormat ? 8 : 4;
    if (length == kLongFormat) length = cursor.fixed(8);
    if (length > cursor.left()) throw DwarfError("a unit that is longer than its section");
    unit.end = base + cursor.position() + length;
    if (unit.end - unit.offset < kMinHeader) throw DwarfError("a unit without room for its header");
    if (unit.end - unit.offset > UINT32_MAX) throw DwarfError("a unit of over 4 GB");
    try {
        read_header(cursor, unit);
    } catch (const DwarfError& error) {
        add_damage(unit.offset, error);
        unit.abbreviations = nullptr;
    }
    return unit;
}

void Units::read_header(Cursor& cursor, Unit& unit) {
    const uint64_t version = cursor.fixed(2);
    if (version < 2 || version > 5) throw DwarfError("DWARF version " + std::to_string(version));
    unit.layout.version = static_cast<uint8_t>(version);
    uint64_t table = 0;
    if (version == 5) unit.kind = static_cast<UnitKind>(cursor.u8());
    if (version < 5) table = cursor.fixed(unit.layout.offset_size);
    unit.layout.address_size = cursor.u8();
    if (version == 5) table = cursor.fixed(unit.layout.offset_size);
    if (unit.layout.address_size != 4 && unit.layout.address_size != 8) throw DwarfError("addresses of odd size");
    if (unit.in_types) unit.kind = UnitKind::kType;
    if (unit.kind == UnitKind::kSkeleton || unit.kind == UnitKind::kSplitCompile) cursor.skip(8);
    if (unit.kind == UnitKind::kType || unit.kind == UnitKind::kSplitType) cursor.skip(8u + unit.layout.offset_size);
    unit.first_die = unit.base + cursor.position();
    unit.abbreviations = abbreviations(table, unit);
    if (unit.first_die >= unit.end) return;
    Die die;
    read(unit, unit.first_die, die);
    unit.own = die.attributes;
    if (die.plan->tag == kTagPartialUnit) unit.kind = UnitKind::kPartial;  // up to DWARF 4 the header does not tell
    if (die.plan->has_children) unit.first_child = die.behind;
}

void Units::add_damage(uint64_t unit_offset, const DwarfError& error) {
    if (damage_.size() < kMaxDamage) damage_.push_back({unit_offset, error.what()});
}

const Abbreviations* Units::abbreviations(uint64_t offset, const Unit& unit) {
    auto& known = tables_[{unit.base, offset, unit.layout}];
    if (!known) {
        known = std::make_unique<Abbreviations>(sections_of(unit).abbrev, offset, unit.layout, table_budget_);
    }
    return known.get();
}

const Unit& Units::at(uint64_t die) const {
    const bool is_alternate = (die & kAlternate) != 0;
    const std::vector<Unit>& units = is_alternate ? alternate_units_ : units_;
    const auto end = units.begin() + static_cast<ptrdiff_t>(is_alternate ? units.size() : info_units_);
    const auto after = std::upper_bound(units.begin(), end, die,
                                        [](uint64_t offset, const Unit& unit) { return offset < unit.offset; });
    if (after == units.begin() || die >= (after - 1)->end) throw DwarfError("a reference outside all units");
    return *(after - 1);
}

Cursor Units::cursor_at(const Unit& unit, uint64_t die) const {
    if (unit.abbreviations == nullptr) throw DwarfError("a reference into a damaged unit");
    if (die < unit.first_die || die >= unit.end) throw DwarfError("a DIE outside its unit");
    return Cursor(content_of(unit), die - unit.base);
}

void Units::read(const Unit& unit, uint64_t die, Die& into) const {
    Cursor cursor = cursor_at(unit, die);
    into.plan = &unit.abbreviations->plan(cursor.uleb());
    into.plan->read(cursor, into.attributes);
    into.behind = unit.base + cursor.position();
}

void Units::read(const Unit& unit, uint64_t die, WholeDie& into) const {
    Cursor cursor = cursor_at(unit, die);
    into.offset = die;
    unit.abbreviations->read_whole(cursor.uleb(), cursor, into);
    into.behind = unit.base + cursor.position();
}

std::optional<std::string_view> Units::text(const Unit& unit, const Attribute* attribute) const {
    if (attribute == nullptr) return std::nullopt;
    const uint32_t form = attribute->form;
    if (form == kFormString) return text_at(section_of(unit), attribute->value);
    const Sections& sections = sections_of(unit);
    if (form == kFormStrp) return text_at(sections.str, attribute->value);
    if (form == kFormLineStrp) return text_at(sections.line_str, attribute->value);
    if (is_alternate_string(form) && unit.knows_alternate) return text_at(alternate_.str, attribute->value);
    if (!is_strx(form)) return std::nullopt;
    const unsigned width = unit.layout.offset_size;
    const uint64_t base = unit.own.number(kStrOffsetsBase, 2 * width);
    if (attribute->value > sections.str_offsets.size()) throw DwarfError("a string's number out of range");
    Cursor cursor(sections.str_offsets, base);
    cursor.skip(attribute->value * width);
    return text_at(sections.str, cursor.fixed(width));
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
    if (attribute->form == kFormRefAddr) return unit.base + attribute->value;
    if (unit.knows_alternate && is_alternate_reference(attribute->form)) return kAlternate + attribute->value;
    return std::nullopt;
}

}  // namespace strobe::dwarf
