// Address ranges: .debug_ranges (DWARF 4, section 2.17.3) and .debug_rnglists (DWARF 5, section 7.25).
#include "dwarf/units/units.h"

namespace strobe::dwarf {
namespace {

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

constexpr size_t kMaxRanges = 1 << 16;  // of one DIE; a damaged list may name everything behind it

enum RangeEntry : uint8_t {
    kEndOfList,
    kBaseAddressx,
    kStartxEndx,
    kStartxLength,
    kOffsetPair,
    kBaseAddress,
    kStartEnd,
    kStartLength,
};

// The linker gives code that it threw away address 0, or one byte less than any could have.
bool is_tombstone(uint64_t address, unsigned address_size, bool has_code_at_zero) {
    const uint64_t last = address_size == 4 ? UINT32_MAX : UINT64_MAX;
    return (address <= 1 && !has_code_at_zero) || address >= last - 1 || address == UINT32_MAX;
}

void add(Ranges& ranges, uint64_t begin, uint64_t end) {
    if (ranges.size() >= kMaxRanges) throw DwarfError("an unterminated range list");
    if (begin < end) ranges.emplace_back(begin, end);
}

Ranges read_old(const Units& units, const Unit& unit, uint64_t offset, uint64_t base) {
    Ranges ranges;
    const unsigned width = unit.layout.address_size;
    const uint64_t selects_base = width == 4 ? UINT32_MAX : UINT64_MAX;
    for (Cursor cursor(units.sections().ranges, offset);;) {
        const uint64_t begin = cursor.fixed(width), end = cursor.fixed(width);
        if (begin == 0 && end == 0) return ranges;
        if (begin == selects_base) {
            base = end;
        } else {
            add(ranges, base + begin, base + end);
        }
    }
}

Ranges read_new(const Units& units, const Unit& unit, uint64_t offset, uint64_t base) {
    Ranges ranges;
    const unsigned width = unit.layout.address_size;
    for (Cursor cursor(units.sections().rnglists, offset);;) {
        uint64_t begin = 0;
        switch (cursor.u8()) {
            case kEndOfList:
                return ranges;
            case kBaseAddressx:
                base = units.indexed_address(unit, cursor.uleb());
                break;
            case kStartxEndx:
                begin = units.indexed_address(unit, cursor.uleb());
                add(ranges, begin, units.indexed_address(unit, cursor.uleb()));
                break;
            case kStartxLength:
                begin = units.indexed_address(unit, cursor.uleb());
                add(ranges, begin, begin + cursor.uleb());
                break;
            case kOffsetPair:
                begin = base + cursor.uleb();
                add(ranges, begin, base + cursor.uleb());
                break;
            case kBaseAddress:
                base = cursor.fixed(width);
                break;
            case kStartEnd:
                begin = cursor.fixed(width);
                add(ranges, begin, cursor.fixed(width));
                break;
            case kStartLength:
                begin = cursor.fixed(width);
                add(ranges, begin, begin + cursor.uleb());
                break;
            default:
                throw DwarfError("an unknown entry in a range list");
        }
    }
}

uint64_t new_offset(const Units& units, const Unit& unit, const Attribute& attribute) {
    if (attribute.form != kFormRnglistx) return attribute.value;
    const unsigned width = unit.layout.offset_size;
    const uint64_t base = unit.own.number(kRnglistsBase, width == 8 ? 20 : 12);
    if (attribute.value > units.sections().rnglists.size()) throw DwarfError("a range list's number out of range");
    Cursor cursor(units.sections().rnglists, base);
    cursor.skip(attribute.value * width);
    return base + cursor.fixed(width);
}

}  // namespace

Ranges Units::ranges(const Unit& unit, const Attributes& attributes) const {
    const Attribute* low = attributes.find(kLowPc);
    const Attribute* high = attributes.find(kHighPc);
    if (low != nullptr && high != nullptr) {
        const uint64_t start = address(unit, *low);
        const bool is_address = high->form == kFormAddr || is_addrx(high->form);
        const uint64_t end = is_address ? address(unit, *high) : start + high->value;
        if (start >= end || is_tombstone(start, unit.layout.address_size, sections_.has_code_at_zero)) return {};
        return {{start, end}};
    }
    const Attribute* list = attributes.find(kRanges);
    if (list == nullptr) return {};
    const Attribute* base_attribute = unit.own.find(kLowPc);
    const uint64_t base = base_attribute == nullptr ? 0 : address(unit, *base_attribute);
    Ranges found = unit.layout.version < 5 ? read_old(*this, unit, list->value, base)
                                           : read_new(*this, unit, new_offset(*this, unit, *list), base);
    std::erase_if(found, [&](const auto& range) {
        return is_tombstone(range.first, unit.layout.address_size, sections_.has_code_at_zero);
    });
    return found;
}

}  // namespace strobe::dwarf
