// Which location expression holds at one address (DWARF 5, section 2.6; DWARF 4, section 2.6.2).
#pragma once

#include "dwarf/units/units.h"

namespace strobe::dwarf {

// .debug_loc (DWARF 2 to 4) and .debug_loclists (DWARF 5).
struct LocationLists {
    Bytes old, current;
};

struct EntryLocation {
    Bytes expression;      // empty: none
    bool is_list = false;  // it holds for some addresses only
};

bool is_location_list(const Layout& layout, uint32_t form);

// The first expression that a list has for a stretch that begins at `address`; the only one, where it is not a list.
// `top`: the unit's own DIE. Throws DwarfError where the attribute is damaged, or is not a location.
EntryLocation location_from(const Units& units, const Unit& unit, const WholeDie& top, const LocationLists& lists,
                            const Attribute& location, uint64_t address);

}  // namespace strobe::dwarf
