// Where functions were inlined.
#pragma once

#include <vector>

#include "dwarf/units/units.h"

namespace strobe::dwarf {

// By section offset: `origin`, the abstract instance of what was inlined, and `die`, the site. `entry`: the link-time
// address where its code is entered, or begins where that is not given.
struct InlinedSite {
    uint64_t origin, die, entry;
};

// All with code, in the order of the units; of damaged units those before the damage.
std::vector<InlinedSite> inlined_sites(const Units& units);

}  // namespace strobe::dwarf
