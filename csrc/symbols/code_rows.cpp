#include "symbols/code_rows.h"

namespace strobe::symbols {
namespace {

// The next of strings that are each ended by a zero byte.
std::string_view take(std::string_view& strings) {
    const std::string_view text = strings.substr(0, strings.find('\0'));
    strings.remove_prefix(std::min(text.size() + 1, strings.size()));
    return text;
}

}  // namespace

void CodeRows::add(const dwarf::Index& index) {
    std::vector<uint32_t> files;
    for (const std::string& path : index.files) files.push_back(file_index(path));
    std::string_view names = index.function_names, linkage_names = index.linkage_names;
    rows_.reserve(rows_.size() + index.functions.size());
    for (const dwarf::FunctionRow& row : index.functions) {
        const uint32_t file = row.file == dwarf::kNone ? kNoFile : files[row.file];
        const uint32_t line = row.line == 0 ? kNoLine : row.line;
        const std::string_view name = take(names);
        rows_.push_back({name, take(linkage_names), row.address, row.size, row.die, file, line});
    }
}

void CodeRows::add(const std::string& name, uint64_t address, uint64_t size, const std::optional<std::string>& file,
                   std::optional<uint32_t> line) {
    const std::string_view kept = texts_.emplace_back(name);
    rows_.push_back({kept, "", address, size, kNoDie, file ? file_index(*file) : kNoFile, line.value_or(kNoLine)});
}

uint32_t CodeRows::file_index(const std::string& path) {
    const auto [known, is_new] = known_files_.try_emplace(path, static_cast<uint32_t>(files_.size()));
    if (is_new) files_.push_back(path);
    return known->second;
}

}  // namespace strobe::symbols
