#include "dwarf/units/expression.h"

namespace strobe::dwarf {
namespace {

enum Operation : uint8_t {
    kOpAddr = 0x03,
    kOpConst4u = 0x0c,
    kOpConst8u = 0x0e,
    kOpPlusUconst = 0x23,
    kOpFormTlsAddress = 0x9b,
    kOpAddrx = 0xa1,
    kOpConstx = 0xa2,
    kOpGnuPushTlsAddress = 0xe0,
    kOpGnuAddrIndex = 0xfb,
    kOpGnuConstIndex = 0xfc,
};

unsigned length_width(uint32_t form) {
    switch (form) {
        case kFormBlock1:
            return 1;
        case kFormBlock2:
            return 2;
        case kFormBlock4:
            return 4;
        default:
            return 0;
    }
}

}  // namespace

Bytes block_of(Bytes section, const Attribute& attribute) {
    Cursor cursor(section, attribute.value);
    const unsigned width = length_width(attribute.form);
    const uint64_t length = width == 0 ? cursor.uleb() : cursor.fixed(width);
    const uint64_t start = cursor.position();
    cursor.skip(length);
    return section.subspan(start, length);
}

bool may_be_static(Bytes expression) {
    if (expression.size() < 2) return false;
    switch (expression[0]) {
        case kOpAddr:
        case kOpConst4u:
        case kOpConst8u:
        case kOpAddrx:
        case kOpConstx:
        case kOpGnuAddrIndex:
        case kOpGnuConstIndex:
            return true;
        default:
            return false;
    }
}

std::optional<StaticPlace> static_place(const Units& units, const Unit& unit, const Attribute& location) {
    const Bytes expression = block_of(units.section_of(unit), location);
    if (!may_be_static(expression)) return std::nullopt;
    Cursor cursor(expression, 0);
    StaticPlace place{0, false};
    bool is_address = false;
    switch (cursor.u8()) {
        case kOpAddr:
            place.address = cursor.fixed(unit.layout.address_size);
            is_address = true;
            break;
        case kOpConst4u:
            place.address = cursor.fixed(4);
            break;
        case kOpConst8u:
            place.address = cursor.fixed(8);
            break;
        case kOpAddrx:
        case kOpGnuAddrIndex:
            is_address = true;
            [[fallthrough]];
        default:
            place.address = units.indexed_address(unit, cursor.uleb());
    }
    if (is_address && (place.address <= 1 || place.address >= UINT64_MAX - 1)) return std::nullopt;
    while (cursor.left() > 0) {
        const uint8_t operation = cursor.u8();
        if (operation == kOpPlusUconst) {
            place.address += cursor.uleb();  // clang merges small variables into one
        } else if (operation == kOpFormTlsAddress || operation == kOpGnuPushTlsAddress) {
            place.is_thread_local = true;
        } else {
            return std::nullopt;
        }
    }
    if (!is_address && !place.is_thread_local) return std::nullopt;
    return place;
}

}  // namespace strobe::dwarf
