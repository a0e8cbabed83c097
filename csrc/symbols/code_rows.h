// What is known of functions beside the symbol tables.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dwarf/index.h"
#include "symbols/merged_functions.h"

namespace strobe::symbols {

// Owns the texts of its rows, save for those of an index.
class CodeRows {
  public:
    // Functions with code, in the order of the units. The index must stay.
    void add(const dwarf::Index& index);
    // One that another table with sources has.
    void add(const std::string& name, uint64_t address, uint64_t size, const std::optional<std::string>& file,
             std::optional<uint32_t> line);

    const std::vector<CodeRow>& rows() const { return rows_; }
    const std::vector<std::string>& files() const { return files_; }

  private:
    uint32_t file_index(const std::string& path);

    std::deque<std::string> texts_;  // names are these, which stay where they are
    std::vector<CodeRow> rows_;
    std::vector<std::string> files_;
    std::unordered_map<std::string, uint32_t> known_files_;
};

}  // namespace strobe::symbols
