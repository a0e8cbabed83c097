#include "dwarf/unit_rows.h"

#include <algorithm>

#include "dwarf/units/expression.h"

namespace strobe::dwarf {
namespace {

constexpr size_t kMaxDamage = 8;  // complaints about one unit

void append(std::string& strings, std::string_view text) { strings.append(text).push_back('\0'); }

uint8_t flags_of(const Unit& unit, const Declaration& declaration) {
    return static_cast<uint8_t>((declaration.is_external ? kExternalRow : 0) | (unit.in_types ? kInTypesRow : 0));
}

// Names of lambdas and of implementations of Rust's traits, whose mangled names tell them apart.
bool says_little(std::string_view name) {
    return name.find("{impl#") != name.npos || name.find("<lambda") != name.npos || name.find(kUnnamed) != name.npos;
}

// Whether the mangled name has a scope and debug information does not, as with -g1.
bool lost_its_scope(const Declaration& declaration) {
    constexpr std::string_view kInScope[] = {"_ZN", "_ZZ", "_ZSt", "_R"};
    const auto begins = [&](std::string_view start) { return declaration.linkage_name.starts_with(start); };
    return declaration.parent == ParentKind::kUnit && std::any_of(std::begin(kInScope), std::end(kInScope), begins);
}

uint32_t line_number(const Declaration& declaration) {
    return declaration.line > UINT32_MAX ? 0 : static_cast<uint32_t>(declaration.line);
}

}  // namespace

UnitRows RowMaker::make(const Unit& unit, Found&& found) {
    rows_ = {};
    namer_.forget();
    headers_.clear();
    paths_.clear();
    if (!found.damage.empty()) rows_.damage.push_back({unit.offset, found.damage});
    const uint64_t type_bytes = type_bytes_;
    const auto each = [&](const std::vector<uint32_t>& offsets, auto add) {
        for (const uint32_t offset : offsets) {
            try {
                (this->*add)(unit, unit.offset + offset);
            } catch (const DwarfError& error) {
                if (rows_.damage.size() < kMaxDamage) rows_.damage.push_back({unit.offset, error.what()});
            }
            if (name_bytes() + type_bytes_ - type_bytes > max_row_bytes(units_))
                throw DwarfError("more names than memory");
        }
    };
    each(found.functions, &RowMaker::add_function);
    each(found.variables, &RowMaker::add_variable);
    each(found.types, &RowMaker::add_type);
    count_inlined(unit, found);
    return std::move(rows_);
}

uint64_t RowMaker::name_bytes() const {
    return rows_.function_names.size() + rows_.linkage_names.size() + rows_.variable_names.size() +
           rows_.variable_linkage_names.size() + 16 * rows_.ranges.size();
}

void RowMaker::add_function(const Unit& unit, uint64_t offset) {
    Die die;
    units_.read(unit, offset, die);
    const auto ranges = units_.ranges(unit, die.attributes);
    if (ranges.empty() || !is_code(ranges[0].first)) return;
    const Declaration declaration = namer_.declaration(unit, die, offset);
    const Place place = place_of(unit, offset, declaration);
    const std::string_view name = namer_.qualified(unit, offset);
    const auto& called = ranges[called_range(unit, die, ranges)];
    FunctionRow row{};
    row.die = offset;
    row.address = called.first;
    row.size = called.second - called.first;
    row.unit = unit.index;
    row.file = place.file;
    row.line = place.line;
    row.first_range = static_cast<uint32_t>(rows_.ranges.size());
    row.range_count = static_cast<uint32_t>(ranges.size());
    row.flags = flags_of(unit, declaration);
    row.parent = declaration.parent;
    rows_.functions.push_back(row);
    rows_.ranges.insert(rows_.ranges.end(), ranges.begin(), ranges.end());
    append(rows_.function_names, name);
    append(rows_.linkage_names, declaration.linkage_name);
}

// DW_AT_entry_pc, where there is one, says which range begins with the entry (DWARF 5, section 2.18): an address, or
// how far it lies from the first range's start.
size_t RowMaker::called_range(const Unit& unit, const Die& die,
                              const std::vector<std::pair<uint64_t, uint64_t>>& ranges) const {
    const Attribute* attribute = die.attributes.find(kEntryPc);
    if (attribute == nullptr || ranges.size() == 1) return 0;
    const bool is_address = attribute->form == kFormAddr || is_addrx(attribute->form);
    const uint64_t entry = is_address ? units_.address(unit, *attribute) : ranges[0].first + attribute->value;
    const auto found =
        std::find_if(ranges.begin(), ranges.end(), [entry](const auto& range) { return range.first == entry; });
    return found == ranges.end() ? 0 : static_cast<size_t>(found - ranges.begin());
}

void RowMaker::add_variable(const Unit& unit, uint64_t offset) {
    Die die;
    units_.read(unit, offset, die);
    const auto where = static_place(units_, unit, *die.attributes.find(kLocation));
    if (!where) return;
    const Declaration declaration = namer_.declaration(unit, die, offset);
    const std::string_view name = namer_.qualified(unit, offset);
    VariableRow row{};
    row.die = offset;
    row.address = where->address;
    row.unit = unit.index;
    row.file = declaration.file_unit == nullptr ? kNone : file_index(*declaration.file_unit, declaration.file);
    row.line = line_number(declaration);
    row.flags = static_cast<uint8_t>(flags_of(unit, declaration) | (where->is_thread_local ? kThreadLocalRow : 0));
    row.parent = declaration.parent;
    rows_.variables.push_back(row);
    append(rows_.variable_names, name);
    append(rows_.variable_linkage_names, declaration.linkage_name);
}

void RowMaker::add_type(const Unit& unit, uint64_t offset) {
    Die die;
    units_.read(unit, offset, die);
    const auto tag = static_cast<uint16_t>(die.plan->tag);
    scratch_.assign(reinterpret_cast<const char*>(&tag), sizeof tag);
    const auto own = units_.text(unit, die.attributes.find(kName));
    const auto place = namer_.enclosing(unit, offset);
    if (!own || own->empty() || die.attributes.has(kSpecification)) {
        scratch_ += namer_.qualified(unit, offset);
        if (scratch_.ends_with(kUnnamed)) return;  // only its declaration could have named it
    } else {
        if (place) scratch_.append(namer_.qualified(unit, *place)).append("::");
        scratch_ += *own;
    }
    const TypeRow row{offset, unit.index, tag, static_cast<uint8_t>(unit.in_types ? kInTypesRow : 0)};
    const auto known = types_.find(scratch_);
    if (known == types_.end()) {
        types_.emplace(type_texts_->joined({scratch_}), row);
        type_bytes_ += scratch_.size();
    } else if (row.unit < known->second.unit) {
        known->second = row;
    }
}

// Also of what was inlined where nothing is left of it, with no site.
void RowMaker::count_inlined(const Unit& unit, const Found& found) {
    std::vector<uint64_t> origins;
    origins.reserve(found.inlined.size());
    for (const InlinedDie& site : found.inlined) origins.push_back(site.origin);
    std::sort(origins.begin(), origins.end());
    for (const uint32_t offset : found.inlinable) {
        if (!std::binary_search(origins.begin(), origins.end(), unit.offset + offset))
            add_inlined(unit.offset + offset, 0);
    }
    for (auto first = origins.begin(); first != origins.end();) {
        const auto last = std::upper_bound(first, origins.end(), *first);
        add_inlined(*first, static_cast<uint64_t>(last - first));
        first = last;
    }
}

void RowMaker::add_inlined(uint64_t origin, uint64_t sites) {
    try {
        const Unit& unit = units_.at(origin);
        Die die;
        units_.read(unit, origin, die);
        const Declaration declaration = namer_.declaration(unit, die, origin);
        const uint32_t file = place_of(unit, origin, declaration).file;
        const std::string_view name = namer_.qualified(unit, origin);
        const bool is_clearer = says_little(name) || lost_its_scope(declaration);
        const std::string_view mangled = is_clearer ? declaration.linkage_name : "";
        // a function without name has it in an alternate file that is missing
        if (!name.ends_with(kUnnamed)) rows_.inlined.push_back({std::string(name), std::string(mangled), sites, file});
    } catch (const DwarfError& error) {
        // a damaged name leaves the function uncounted; the unit that holds it says why
    }
}

// gcc gives the code of a lambda no line: then those of the lambda's class.
RowMaker::Place RowMaker::place_of(const Unit& unit, uint64_t offset, Declaration declaration) {
    if (!declaration.has_line) {
        if (const auto around = namer_.enclosing(unit, offset)) {
            Die die;
            units_.read(unit, *around, die);
            declaration = namer_.declaration(unit, die, *around);
        }
    }
    const Unit* file_unit = declaration.file_unit;
    return {file_unit == nullptr ? kNone : file_index(*file_unit, declaration.file), line_number(declaration)};
}

uint32_t RowMaker::file_index(const Unit& unit, uint64_t number) {
    if (number > UINT32_MAX) return kNone;
    const auto [known, is_new] = paths_.try_emplace(uint64_t{unit.index} << 32 | number, kNone);
    if (!is_new) return known->second;
    auto [header, is_unread] = headers_.try_emplace(unit.index);
    std::string path;
    try {
        if (is_unread) header->second = std::make_unique<LineHeader>(units_, unit);
        if (header->second) path = header->second->path(number);
    } catch (const DwarfError&) {
        return kNone;  // functions are worth having without their files
    }
    if (path.empty()) return kNone;
    rows_.paths.push_back(std::move(path));
    return known->second = static_cast<uint32_t>(rows_.paths.size() - 1);
}

bool RowMaker::is_code(uint64_t address) const {
    const auto& parts = options_.executable;
    return parts.empty() || std::any_of(parts.begin(), parts.end(), [address](const auto& part) {
               return part.first <= address && address < part.second;
           });
}

}  // namespace strobe::dwarf
