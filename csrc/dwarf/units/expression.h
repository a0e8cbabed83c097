// Location expressions, as far as static variables need them (DWARF 5, sections 2.5 and 2.6).
#pragma once

#include <optional>

#include "dwarf/units/units.h"

namespace strobe::dwarf {

// The content of an attribute with a block form.
Bytes block_of(Bytes section, const Attribute& attribute);

// Whether an expression begins as those of static variables do; static_place has the last word.
bool may_be_static(Bytes expression);

struct StaticPlace {
    uint64_t address;  // link-time address, or the offset in the module's thread-local storage
    bool is_thread_local;
};

// Where a static variable is; none where that must be computed, or its memory was thrown away by the linker.
std::optional<StaticPlace> static_place(const Units& units, const Unit& unit, const Attribute& location);

}  // namespace strobe::dwarf
