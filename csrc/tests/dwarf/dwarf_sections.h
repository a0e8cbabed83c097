// Debug sections of a file that can be trusted, each in memory of its own so that AddressSanitizer sees its ends.
#pragma once

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "dwarf/functions/entry_location.h"

namespace strobe::test {

using SectionBytes = std::map<std::string, std::vector<uint8_t>>;

inline SectionBytes read_sections(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
    Elf64_Ehdr header;
    std::memcpy(&header, image.data(), sizeof header);
    std::vector<Elf64_Shdr> table(header.e_shnum);
    std::memcpy(table.data(), image.data() + header.e_shoff, table.size() * sizeof(Elf64_Shdr));
    SectionBytes sections;
    for (const Elf64_Shdr& section : table) {
        const std::string name = image.data() + table[header.e_shstrndx].sh_offset + section.sh_name;
        if (!name.starts_with(".debug_")) continue;
        const auto first = image.begin() + static_cast<ptrdiff_t>(section.sh_offset);
        sections[name].assign(first, first + static_cast<ptrdiff_t>(section.sh_size));
    }
    return sections;
}

inline dwarf::Sections views(const SectionBytes& bytes) {
    const auto view = [&bytes](const char* name) {
        const auto found = bytes.find(name);
        return found == bytes.end() ? dwarf::Bytes() : dwarf::Bytes(found->second);
    };
    return {view(".debug_info"),     view(".debug_types"),       view(".debug_abbrev"), view(".debug_str"),
            view(".debug_line_str"), view(".debug_str_offsets"), view(".debug_addr"),   view(".debug_ranges"),
            view(".debug_rnglists"), view(".debug_line")};
}

inline dwarf::LocationLists location_lists(const SectionBytes& bytes) {
    const auto view = [&bytes](const char* name) {
        const auto found = bytes.find(name);
        return found == bytes.end() ? dwarf::Bytes() : dwarf::Bytes(found->second);
    };
    return {view(".debug_loc"), view(".debug_loclists")};
}

}  // namespace strobe::test
