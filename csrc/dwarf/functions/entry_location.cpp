#include "dwarf/functions/entry_location.h"

#include "dwarf/units/expression.h"

namespace strobe::dwarf {
namespace {

constexpr size_t kMaxEntries = 1 << 16;

enum ListEntry : uint8_t {
    kEndOfList,
    kBaseAddressx,
    kStartxEndx,
    kStartxLength,
    kOffsetPair,
    kDefaultLocation,
    kBaseAddress,
    kStartEnd,
    kStartLength,
    kViewPair,  // of GNU
};

Bytes taken(Bytes section, Cursor& cursor, uint64_t length) {
    const uint64_t start = cursor.position();
    cursor.skip(length);
    return section.subspan(start, length);
}

Bytes find_old(const Unit& unit, Bytes section, uint64_t offset, uint64_t base, uint64_t address) {
    Cursor cursor(section, offset);
    const unsigned width = unit.layout.address_size;
    const uint64_t selects_base = width == 4 ? UINT32_MAX : UINT64_MAX;
    for (size_t entry = 0; entry < kMaxEntries; ++entry) {
        const uint64_t begin = cursor.fixed(width), end = cursor.fixed(width);
        if (begin == 0 && end == 0) return {};
        if (begin == selects_base) {
            base = end;
            continue;
        }
        const Bytes expression = taken(section, cursor, cursor.fixed(2));
        if (base + begin == address) return expression;
    }
    throw DwarfError("an unterminated location list");
}

class CurrentList {
  public:
    CurrentList(const Units& units, const Unit& unit, Bytes section, uint64_t offset, uint64_t base)
        : units_(units), unit_(unit), section_(section), cursor_(section, offset), base_(base) {}

    Bytes find(uint64_t address) {
        for (size_t entry = 0; entry < kMaxEntries; ++entry) {
            const uint8_t kind = cursor_.u8();
            if (kind == kEndOfList) return {};
            if (moves_base(kind)) continue;
            const std::optional<uint64_t> begin = read_bounds(kind);
            const Bytes expression = taken(section_, cursor_, cursor_.uleb());
            if (begin == address) return expression;
        }
        throw DwarfError("an unterminated location list");
    }

  private:
    bool moves_base(uint8_t kind) {
        if (kind == kBaseAddressx) {
            base_ = units_.indexed_address(unit_, cursor_.uleb());
        } else if (kind == kBaseAddress) {
            base_ = cursor_.fixed(unit_.layout.address_size);
        } else if (kind == kViewPair) {
            cursor_.skip_leb();
            cursor_.skip_leb();
        } else {
            return false;
        }
        return true;
    }

    // Where an entry begins to hold; none for the one that holds where no other does.
    std::optional<uint64_t> read_bounds(uint8_t kind) {
        if (kind == kDefaultLocation) return std::nullopt;
        if (kind == kStartEnd) {
            const uint64_t begin = cursor_.fixed(unit_.layout.address_size);
            cursor_.skip(unit_.layout.address_size);
            return begin;
        }
        uint64_t begin = 0;
        if (kind == kStartLength) {
            begin = cursor_.fixed(unit_.layout.address_size);
        } else if (kind == kOffsetPair) {
            begin = base_ + cursor_.uleb();
        } else if (kind == kStartxEndx || kind == kStartxLength) {
            begin = units_.indexed_address(unit_, cursor_.uleb());
        } else {
            throw DwarfError("an unknown entry in a location list");
        }
        cursor_.skip_leb();
        return begin;
    }

    const Units& units_;
    const Unit& unit_;
    const Bytes section_;
    Cursor cursor_;
    uint64_t base_;
};

uint64_t list_offset(const Unit& unit, const WholeDie& top, Bytes section, const Attribute& location) {
    if (location.form != kFormLoclistx) return location.value;
    const unsigned width = unit.layout.offset_size;
    const Attribute* stated = top.find(kAttrLoclistsBase);
    const uint64_t base = stated != nullptr ? stated->value : width == 8 ? 20 : 12;
    if (location.value > section.size()) throw DwarfError("a location list's number out of range");
    Cursor cursor(section, base);
    cursor.skip(location.value * width);
    return base + cursor.fixed(width);
}

}  // namespace

bool is_location_list(const Layout& layout, uint32_t form) {
    if (form == kFormSecOffset || form == kFormLoclistx) return true;
    return layout.version < 4 && (form == kFormData4 || form == kFormData8);
}

EntryLocation location_from(const Units& units, const Unit& unit, const WholeDie& top, const LocationLists& lists,
                            const Attribute& location, uint64_t address) {
    if (is_block(location.form)) return {block_of(units.section_of(unit), location), false};
    if (!is_location_list(unit.layout, location.form)) throw DwarfError("a location of unknown form");
    const Attribute* low = top.find(kAttrLowPc);
    const uint64_t base = low == nullptr ? 0 : units.address(unit, *low);
    if (unit.layout.version < 5) return {find_old(unit, lists.old, location.value, base, address), true};
    const uint64_t offset = list_offset(unit, top, lists.current, location);
    return {CurrentList(units, unit, lists.current, offset, base).find(address), true};
}

}  // namespace strobe::dwarf
