#include "dwarf/lines/line_search.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace strobe::dwarf {
namespace {

bool ends_with_path(std::string_view path, std::string_view file) {
    if (!path.ends_with(file)) return false;
    return path.size() == file.size() || file.starts_with('/') || path[path.size() - file.size() - 1] == '/';
}

std::string_view last_part(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

class FileSearch {
  public:
    FileSearch(const Units& units, std::string_view file) : units_(units), file_(file) {}

    void search(const Unit& unit) {
        const LineHeader header(units_, unit);
        std::unordered_map<uint32_t, uint32_t> wanted;  // number in this unit -> index in paths
        for (size_t number = 0; number < header.file_count(); ++number) {
            if (last_part(header.name(number)) != last_part(file_)) continue;
            std::string path = header.path(number);
            if (ends_with_path(path, file_)) wanted[static_cast<uint32_t>(number)] = path_index(std::move(path));
        }
        if (!wanted.empty()) take(unit, wanted);
    }

    FoundLines found;

  private:
    void take(const Unit& unit, const std::unordered_map<uint32_t, uint32_t>& wanted) {
        const LineRow* before = nullptr;
        const std::vector<LineRow> rows = line_rows(units_, unit);
        for (const LineRow& row : rows) {
            const bool repeats = before != nullptr && before->file == row.file && before->line == row.line &&
                                 (before->flags & LineRow::kIsStatement) >= (row.flags & LineRow::kIsStatement);
            const auto file = wanted.find(row.file);
            const bool ends = (row.flags & LineRow::kEndSequence) != 0;
            before = ends ? nullptr : &row;
            if (file == wanted.end() || ends || repeats) continue;
            found.rows.push_back({row.address, unit.index, file->second, row.line, row.column, row.flags});
        }
    }

    uint32_t path_index(std::string&& path) {
        const auto known = std::find(found.paths.begin(), found.paths.end(), path);
        if (known != found.paths.end()) return static_cast<uint32_t>(known - found.paths.begin());
        found.paths.push_back(std::move(path));
        return static_cast<uint32_t>(found.paths.size() - 1);
    }

    const Units& units_;
    const std::string_view file_;
};

bool begins_statement(const LineRow& row) { return (row.flags & LineRow::kIsStatement) != 0; }

// Optimizers put several rows at an address; the last one that begins a statement says most. `index` where none does.
size_t statement_at_same_address(const std::vector<LineRow>& rows, size_t index) {
    for (size_t before = index; before > 0; --before) {
        const LineRow& row = rows[before - 1];
        if (row.address != rows[index].address || (row.flags & LineRow::kEndSequence) != 0) return index;
        if (begins_statement(row)) return before - 1;
    }
    return index;
}

// Type units and partial units have the table of a unit with code.
bool has_lines(const Unit& unit) {
    return unit.kind != UnitKind::kType && unit.kind != UnitKind::kPartial && unit.own.has(kStmtList);
}

// Line programs that several units share, as those that dwz makes do, are wanted once. Damaged ones could overlap a
// thousand times: what goes beyond twice their section is not wanted either.
class Programs {
  public:
    explicit Programs(const Units& units) : section_(units.sections().line), left_(2 * section_.size()) {}

    bool is_new(const Unit& unit) {
        const uint64_t offset = unit.own.number(kStmtList, 0);
        const uint64_t bytes = size_at(offset);
        if (bytes > left_ || !known_.insert(offset).second) return false;
        left_ -= bytes;
        return true;
    }

  private:
    uint64_t size_at(uint64_t offset) const {
        if (offset >= section_.size() || section_.size() - offset < 12) return 0;
        Cursor cursor(section_, offset);
        const uint64_t length = cursor.fixed(4);
        return std::min(length == UINT32_MAX ? cursor.fixed(8) : length, section_.size() - offset);
    }

    const Bytes section_;
    uint64_t left_;
    std::unordered_set<uint64_t> known_;
};

}  // namespace

FoundLines lines_of_file(const Units& units, std::string_view file) {
    FileSearch search(units, file);
    Programs programs(units);
    for (const Unit& unit : units.all()) {
        if (!has_lines(unit) || !programs.is_new(unit)) continue;
        try {
            search.search(unit);
        } catch (const DwarfError&) {
            continue;  // other units may have what is looked for
        }
    }
    return std::move(search.found);
}

AddressLines::AddressLines(const Units& units) : units_(units) {
    Programs programs(units);
    std::vector<uint32_t> unplaced;
    for (const Unit& unit : units.all()) {
        if (!has_lines(unit)) continue;
        const size_t before = parts_.size();
        try {
            for (const auto& [start, end] : units.ranges(unit, unit.own)) parts_.push_back({start, end, unit.index});
        } catch (const DwarfError&) {
            parts_.resize(before);
        }
        if (parts_.size() == before) {
            unplaced.push_back(unit.index);
        } else {
            programs.is_new(unit);  // where a unit is known to be, those without a place need not be searched
        }
    }
    for (const uint32_t unit : unplaced) {
        if (programs.is_new(units.all()[unit])) unplaced_.push_back(unit);
    }
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& left, const Part& right) { return left.start < right.start; });
}

std::optional<LineAt> AddressLines::at(uint64_t address) const {
    auto part = std::upper_bound(parts_.begin(), parts_.end(), address,
                                 [](uint64_t wanted, const Part& part) { return wanted < part.start; });
    if (part != parts_.begin() && address < (--part)->end) {
        if (auto found = in_unit(units_.all()[part->unit], address)) return found;
    }
    for (const uint32_t unit : unplaced_) {
        if (auto found = in_unit(units_.all()[unit], address)) return found;
    }
    return std::nullopt;
}

std::optional<LineAt> AddressLines::in_unit(const Unit& unit, uint64_t address) const {
    const std::vector<LineRow> rows = line_rows(units_, unit);
    for (size_t next = 1; next < rows.size(); ++next) {
        size_t index = next - 1;
        const bool ends = (rows[index].flags & LineRow::kEndSequence) != 0;
        if (ends || rows[index].address > address || address >= rows[next].address) continue;
        if (!begins_statement(rows[index])) index = statement_at_same_address(rows, index);
        return LineAt{LineHeader(units_, unit).path(rows[index].file), rows[index]};
    }
    return std::nullopt;
}

}  // namespace strobe::dwarf
