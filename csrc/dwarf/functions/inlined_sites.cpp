#include "dwarf/functions/inlined_sites.h"

#include <optional>

#include "dwarf/units/walk.h"

namespace strobe::dwarf {
namespace {

// DWARF 5 may give it as an offset from where the site's code begins.
std::optional<uint64_t> entry_of(const Units& units, const Unit& unit, const Die& die) {
    const auto ranges = units.ranges(unit, die.attributes);
    if (ranges.empty()) return std::nullopt;
    const Attribute* entry = die.attributes.find(kEntryPc);
    if (entry == nullptr) return ranges.front().first;
    const uint64_t address = entry->form == kFormAddr || is_addrx(entry->form) ? units.address(unit, *entry)
                                                                               : ranges.front().first + entry->value;
    for (const auto& [start, end] : ranges)
        if (start <= address && address < end) return address;
    return ranges.front().first;
}

}  // namespace

std::vector<InlinedSite> inlined_sites(const Units& units) {
    std::vector<InlinedSite> found;
    for (const Unit& unit : units.all()) {
        if (unit.in_types) continue;
        for (const InlinedDie& site : walk(units, unit, true).inlined) {
            try {
                Die die;
                units.read(unit, unit.offset + site.die, die);
                if (const auto entry = entry_of(units, unit, die))
                    found.push_back({site.origin, unit.offset + site.die, *entry});
            } catch (const DwarfError& error) {
                // a damaged one is left out; the scan says that its unit is
            }
        }
    }
    return found;
}

}  // namespace strobe::dwarf
