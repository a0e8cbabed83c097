// All that can be read of debug sections, for tests that give damaged ones: errors are expected, nothing else is.
#pragma once

#include <algorithm>
#include <random>

#include "dwarf/functions/code_search.h"
#include "dwarf/functions/signatures.h"
#include "dwarf/index.h"
#include "dwarf/lines/line_search.h"
#include "dwarf/units/children.h"

namespace strobe::test {

template <typename Read>
void tolerating(Read read) {
    try {
        read();
    } catch (const dwarf::DwarfError&) {
    }
}

// `random` chooses among offsets and addresses. Throws DwarfError where not even units can be found.
inline void read_everything(const dwarf::Sections& sections, const dwarf::Sections& alternate,
                            const dwarf::LocationLists& lists, std::mt19937& random) {
    using namespace dwarf;
    const Units units(sections, alternate);
    std::vector<uint64_t> addresses{0x1000 + random() % 1024}, functions;
    tolerating([&] {
        const Index index = build_index(units, {{}, 1});
        for (size_t row = 0; row < std::min<size_t>(index.functions.size(), 20); ++row) {
            addresses.push_back(index.functions[row].address + random() % 32);
            functions.push_back(index.functions[row].die);
        }
    });
    for (int left = 10; left > 0; --left) functions.push_back(random() % (sections.info.size() + 1));
    read_signatures(units, lists, functions);
    const AddressLines lines(units);
    CodeSearch code(units);
    for (const uint64_t address : addresses) {
        tolerating([&] { lines.at(address); });
        tolerating([&] {
            if (const auto function = code.function_at(address)) scope_dies(units, *function, address);
        });
    }
    lines_of_file(units, "dwarf_subject.cpp");
    ScopeTable scopes(units);
    for (const Unit& unit : units.all()) {
        tolerating([&] { line_rows(units, unit); });
        tolerating([&] {
            const LineHeader header(units, unit);
            for (size_t file = 0; file < std::min<size_t>(header.file_count(), 100); ++file) header.path(file);
        });
        tolerating([&] { units.ranges(unit, unit.own); });
        const uint64_t die = unit.offset + random() % (unit.end - unit.offset);
        tolerating([&] { Namer(units, scopes).qualified(unit, die); });
        tolerating([&] { children(units, die, kTagVariable); });
    }
}

}  // namespace strobe::test
