#include "dwarf/index.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "dwarf/unit_rows.h"

namespace strobe::dwarf {
namespace {

constexpr unsigned kMaxThreads = 8;

using UnitList = std::vector<const Unit*>;

// Runs `work(unit, thread)` for each unit, on some threads; the first exception ends it.
void for_each_unit(const UnitList& units, unsigned threads, const std::function<void(const Unit&, unsigned)>& work) {
    std::atomic<size_t> next = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    const auto run = [&](unsigned thread) {
        try {
            for (size_t index = next++; index < units.size(); index = next++) work(*units[index], thread);
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            next = units.size();
        }
    };
    std::vector<std::thread> others;
    try {
        for (unsigned thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
    } catch (const std::system_error&) {
        // The system allows no more: those that there are do it all.
    }
    run(0);
    for (std::thread& other : others) other.join();
    if (failure) std::rethrow_exception(failure);
}

unsigned thread_count(const Units& units, unsigned wanted) {
    const unsigned most = wanted != 0 ? wanted : std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
    return static_cast<unsigned>(std::clamp<size_t>(units.all().size(), 1, most));
}

uint64_t bytes_of(const UnitRows& rows) {
    uint64_t bytes = rows.function_names.size() + rows.linkage_names.size() + rows.variable_names.size() +
                     rows.variable_linkage_names.size();
    bytes += rows.functions.size() * sizeof(FunctionRow) + rows.variables.size() * sizeof(VariableRow);
    bytes += rows.ranges.size() * 16;
    for (const InlinedRow& row : rows.inlined) bytes += row.name.size() + sizeof row;
    for (const std::string& path : rows.paths) bytes += path.size() + sizeof path;
    return bytes;
}

// Puts the rows of all units together, in the units' order.
class Merger {
  public:
    explicit Merger(Index& index) : index_(index) {}

    void add(UnitRows&& rows) {
        std::vector<uint32_t> files;
        for (std::string& path : rows.paths) files.push_back(file_index(std::move(path)));
        const auto renumber = [&files](uint32_t file) { return file == kNone ? kNone : files[file]; };
        const auto first_range = static_cast<uint32_t>(index_.ranges.size());
        for (FunctionRow& row : rows.functions) {
            row.file = renumber(row.file);
            row.first_range += first_range;
        }
        for (VariableRow& row : rows.variables) row.file = renumber(row.file);
        append(index_.functions, rows.functions);
        append(index_.ranges, rows.ranges);
        append(index_.variables, rows.variables);
        append(index_.damage, rows.damage);
        index_.function_names += rows.function_names;
        index_.linkage_names += rows.linkage_names;
        index_.variable_names += rows.variable_names;
        index_.variable_linkage_names += rows.variable_linkage_names;
        for (InlinedRow& row : rows.inlined) {
            const auto [known, is_new] = inlined_.try_emplace(std::move(row.name));
            if (is_new) known->second = {std::move(row.linkage_name), 0, renumber(row.file)};
            known->second.sites += row.sites;
        }
        rows = {};
    }

    // Their texts must stay until finish().
    void add_types(TypeTable&& types) {
        if (types_.empty()) {
            types_ = std::move(types);
            return;
        }
        for (auto& [key, row] : types) {
            auto [known, is_new] = types_.try_emplace(key, row);
            if (!is_new && row.unit < known->second.unit) known->second = row;
        }
        types.clear();
    }

    void finish() {
        std::vector<const std::pair<const std::string, Inlined>*> inlined_order;
        for (const auto& row : inlined_) inlined_order.push_back(&row);
        std::sort(inlined_order.begin(), inlined_order.end(),
                  [](const auto* left, const auto* right) { return left->first < right->first; });
        for (const auto* row : inlined_order) {
            const auto& [name, inlined] = *row;
            index_.inlined_names.append(name).push_back('\0');
            index_.inlined_linkage_names.append(inlined.linkage_name).push_back('\0');
            index_.inlined_sites.push_back(inlined.sites);
            index_.inlined_files.push_back(inlined.file);
        }
        std::vector<const TypeTable::value_type*> order;
        for (const auto& type : types_) order.push_back(&type);
        std::sort(order.begin(), order.end(), [](const auto* left, const auto* right) {
            return std::pair(left->second.unit, left->second.die) < std::pair(right->second.unit, right->second.die);
        });
        for (const auto* type : order) {
            index_.types.push_back(type->second);
            index_.type_names.append(type->first.substr(sizeof type->second.tag)).push_back('\0');
        }
    }

  private:
    template <typename Row>
    static void append(std::vector<Row>& all, const std::vector<Row>& some) {
        all.insert(all.end(), some.begin(), some.end());
    }

    uint32_t file_index(std::string&& path) {
        const auto [known, is_new] = files_.try_emplace(std::move(path), static_cast<uint32_t>(index_.files.size()));
        if (is_new) index_.files.push_back(known->first);
        return known->second;
    }

    struct Inlined {
        std::string linkage_name;
        uint64_t sites = 0;
        uint32_t file = kNone;
    };

    Index& index_;
    std::unordered_map<std::string, uint32_t> files_;
    std::unordered_map<std::string, Inlined> inlined_;
    TypeTable types_;
};

}  // namespace

// Units of the alternate file that `importing` ask for, and that are not among `known`, by index.
UnitList imported(const Units& units, const UnitList& importing, std::vector<Found>& found, std::vector<bool>& known) {
    UnitList imported;
    for (const Unit* unit : importing) {
        for (const uint64_t offset : found[unit->index].imports) {
            try {
                const Unit& other = units.at(offset);
                if (!known[other.index]) imported.push_back(&other);
                known[other.index] = true;
            } catch (const DwarfError& error) {
                found[unit->index].damage = error.what();
            }
        }
    }
    return imported;
}

Index build_index(const Units& units, const IndexOptions& options) {
    const unsigned threads = thread_count(units, options.threads);
    ScopeTable scopes(units);
    std::vector<Found> found(units.count());
    UnitList reached;
    std::vector<bool> known(units.count());
    UnitList more;
    for (const Unit& unit : units.all()) more.push_back(&unit);
    // a function's name may stand in any other unit, so that all scopes must be known first
    while (!more.empty()) {
        for_each_unit(more, threads, [&](const Unit& unit, unsigned) {
            Found& own = found[unit.index] = walk(units, unit, true);
            scopes.put(unit, std::move(own.scopes));
        });
        reached.insert(reached.end(), more.begin(), more.end());
        more = imported(units, more, found, known);
    }
    std::vector<RowMaker> makers;
    for (unsigned thread = 0; thread < threads; ++thread) makers.emplace_back(units, scopes, options);
    std::vector<UnitRows> rows(units.count());
    std::atomic<uint64_t> row_bytes = 0;
    for_each_unit(reached, threads, [&](const Unit& unit, unsigned thread) {
        RowMaker& maker = makers[thread];
        const uint64_t types_before = maker.type_bytes();
        rows[unit.index] = maker.make(unit, std::move(found[unit.index]));
        found[unit.index] = {};
        row_bytes += bytes_of(rows[unit.index]) + maker.type_bytes() - types_before;
        if (row_bytes > max_row_bytes(units)) throw DwarfError("more names than memory");
    });
    Index index;
    index.damage = units.damage();
    Merger merger(index);
    for (UnitRows& unit_rows : rows) merger.add(std::move(unit_rows));
    for (RowMaker& maker : makers) merger.add_types(maker.take_types());
    merger.finish();
    return index;
}

}  // namespace strobe::dwarf
