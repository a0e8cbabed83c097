#include "selection.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "state.h"

namespace strobe::timeline {
namespace {

// A plan is a string of two letters per value handed to xFilter: the role, and how it is compared.
enum Compare : char { kEqual = '=', kLess = '<', kAtMost = 'l', kGreater = '>', kAtLeast = 'g', kIn = 'i' };

constexpr double kScanCost = 1e7;

char role_letter(Role role) { return static_cast<char>('A' + static_cast<int>(role)); }
Role letter_role(char letter) { return static_cast<Role>(letter - 'A'); }

bool is_parameter(Role role) { return role >= Role::kPath; }

bool takes_set(Role role) { return role == Role::kFunction || role == Role::kThreadIndex; }

std::optional<Compare> comparison(unsigned char op) {
    switch (op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
            return kEqual;
        case SQLITE_INDEX_CONSTRAINT_LT:
            return kLess;
        case SQLITE_INDEX_CONSTRAINT_LE:
            return kAtMost;
        case SQLITE_INDEX_CONSTRAINT_GT:
            return kGreater;
        case SQLITE_INDEX_CONSTRAINT_GE:
            return kAtLeast;
        default:
            return std::nullopt;
    }
}

// Which comparisons the scan can evaluate for a role.
bool is_supported(Role role, Compare compare) {
    switch (role) {
        case Role::kNone:
            return false;
        case Role::kNumber:
        case Role::kTimestamp:
            return true;
        case Role::kDuration:
            return compare == kGreater || compare == kAtLeast;
        default:
            return compare == kEqual;
    }
}

Role role_of(std::span<const Role> roles, int column) {
    if (column < 0) return Role::kNumber;  // the rowid
    return static_cast<size_t>(column) < roles.size() ? roles[column] : Role::kNone;
}

// An integer bound from whatever number was compared with. Nothing for text and blobs, which sort after all numbers.
struct Bound {
    int64_t value;
    bool exact;  // false: the bound was a fraction, and `value` is its floor
};

std::optional<Bound> bound_of(sqlite3_value* value) {
    if (sqlite3_value_numeric_type(value) == SQLITE_INTEGER) return Bound{sqlite3_value_int64(value), true};
    if (sqlite3_value_numeric_type(value) != SQLITE_FLOAT) return std::nullopt;
    const double number = std::clamp(sqlite3_value_double(value), -9.2e18, 9.2e18);
    const double floor = std::floor(number);
    return Bound{static_cast<int64_t>(floor), floor == number};
}

// The inclusive range of integers that pass a comparison.
struct Range {
    int64_t low = INT64_MIN;
    int64_t high = INT64_MAX;
};

Range range_of(Compare compare, Bound bound) {
    const int64_t above = bound.value == INT64_MAX ? INT64_MAX : bound.value + 1;
    const int64_t below = bound.exact ? bound.value - (bound.value != INT64_MIN) : bound.value;
    switch (compare) {
        case kLess:
            return {INT64_MIN, below};
        case kAtMost:
            return {INT64_MIN, bound.value};
        case kGreater:
            return {above, INT64_MAX};
        case kAtLeast:
            return {bound.exact ? bound.value : above, INT64_MAX};
        default:
            return bound.exact ? Range{bound.value, bound.value} : Range{1, 0};
    }
}

std::vector<uint64_t> json_integers(const char* text) {
    std::vector<uint64_t> found;
    const char* place = text + std::strspn(text, " [");
    while (*place && *place != ']') {
        char* end = nullptr;
        found.push_back(std::strtoull(place, &end, 10));
        if (end == place)
            throw std::runtime_error("a list of ids is a blob of 32-bit integers or a JSON list of integers");
        place = end + std::strspn(end, " ,");
    }
    return found;
}

template <class Word>
std::vector<Word> blob_words(sqlite3_value* value) {
    std::vector<Word> words(static_cast<size_t>(sqlite3_value_bytes(value)) / sizeof(Word));
    if (!words.empty()) std::memcpy(words.data(), sqlite3_value_blob(value), words.size() * sizeof(Word));
    return words;
}

std::vector<uint32_t> id_list(sqlite3_value* value) {
    if (sqlite3_value_type(value) == SQLITE_BLOB) return blob_words<uint32_t>(value);
    if (sqlite3_value_type(value) == SQLITE_INTEGER) return {static_cast<uint32_t>(sqlite3_value_int64(value))};
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    const std::vector<uint64_t> wide = json_integers(text ? text : "");
    return {wide.begin(), wide.end()};
}

// The right side of IN, all at once, or the single value of `=`.
std::vector<uint32_t> ids_of(Compare compare, sqlite3_value* value) {
    std::vector<uint32_t> ids;
    auto add = [&ids](sqlite3_value* item) {
        const std::optional<Bound> bound = bound_of(item);
        if (bound && bound->exact && bound->value >= 0 && bound->value <= UINT32_MAX) {
            ids.push_back(static_cast<uint32_t>(bound->value));
        }
    };
    if (compare == kEqual) {
        add(value);
        return ids;
    }
    sqlite3_value* item = nullptr;
    for (int status = sqlite3_vtab_in_first(value, &item); status == SQLITE_OK && item;
         status = sqlite3_vtab_in_next(value, &item)) {
        add(item);
    }
    return ids;
}

// Narrows a Selection by one constraint after the other.
class Narrowing {
  public:
    Narrowing(State& state, Selection& selection) : state_(state), selection_(selection) {}

    void open(sqlite3_value* path) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(path));
        selection_.segment = state_.segment(text ? text : "");
    }

    void apply(Role role, Compare compare, sqlite3_value* value) {
        if (compare != kIn && sqlite3_value_type(value) == SQLITE_NULL) {
            // an absent parameter asks for nothing; a comparison with NULL is never true
            selection_.nothing |= !is_parameter(role);
        } else if (role == Role::kFunction || role == Role::kFunctions) {
            keep_functions(role == Role::kFunction ? ids_of(compare, value) : id_list(value));
        } else if (role == Role::kThreadIndex || role == Role::kThreads) {
            keep_threads(role == Role::kThreadIndex ? ids_of(compare, value) : id_list(value));
        } else if (is_parameter(role)) {
            take_parameter(role, value);
        } else if (const std::optional<Bound> bound = bound_of(value)) {
            take_range(role, range_of(compare, *bound));
        } else {
            selection_.nothing |= compare != kLess && compare != kAtMost;  // all numbers sort before text
        }
    }

  private:
    void keep_functions(const std::vector<uint32_t>& ids) {
        FunctionSet kept;
        for (uint32_t id : ids) {
            if (!filter().functions || filter().functions->contains(id)) kept.insert(id);
        }
        filter().functions = kept;
    }

    void keep_threads(const std::vector<uint32_t>& indexes) {
        ThreadSet kept;
        for (uint32_t index : indexes) {
            if (index < kept.size()) kept.set(index);
        }
        filter().threads = filter().threads ? *filter().threads & kept : kept;
    }

    void take_parameter(Role role, sqlite3_value* value) {
        if (role == Role::kReturns) {
            filter().returns = ReturnTests(blob_words<ReturnTests::Row>(value));
        } else if (role == Role::kHosts) {
            selection_.hosts = blob_words<uint64_t>(value);
        } else if (role == Role::kSkip) {
            selection_.skip = static_cast<uint64_t>(std::max<int64_t>(0, sqlite3_value_int64(value)));
        }
    }

    void take_range(Role role, Range range) {
        if (range.low > range.high || (range.high < 0 && role != Role::kDuration)) {
            selection_.nothing = true;
        } else if (role == Role::kNumber) {
            narrow(filter().from_number, filter().to_number, static_cast<uint64_t>(std::max<int64_t>(0, range.low)),
                   range.high == INT64_MAX ? UINT64_MAX : static_cast<uint64_t>(range.high));
        } else if (role == Role::kTimestamp) {
            const Segment& segment = *selection_.segment;
            narrow(filter().from_ticks, filter().to_ticks, range.low <= 0 ? 0 : segment.ticks_from_ns(range.low),
                   range.high == INT64_MAX ? UINT64_MAX : segment.ticks_until_ns(range.high));
        } else if (role == Role::kDuration) {
            keep_long(range.low);
        } else if (role == Role::kKind) {
            filter().kinds &= range.low < 8 ? kind_bit(static_cast<uint8_t>(range.low)) : 0;
        } else if (role == Role::kTid) {
            selection_.nothing |= range.low > UINT32_MAX || (filter().tid && *filter().tid != range.low);
            filter().tid = static_cast<uint32_t>(range.low);
        }
    }

    // A duration is only known of exits, so any bound leaves out the enters.
    void keep_long(int64_t low_ns) {
        filter().kinds &= kind_bit(STROBE_RECORD_EXIT);
        const uint64_t ticks = low_ns <= 0 ? 0 : selection_.segment->duration_from_ns(low_ns);
        filter().min_duration_ticks = std::max(filter().min_duration_ticks, ticks);
    }

    static void narrow(uint64_t& from, uint64_t& to, uint64_t low, uint64_t high) {
        from = std::max(from, low);
        to = std::min(to, high);
    }

    Filter& filter() { return selection_.filter; }

    State& state_;
    Selection& selection_;
};

// Two constraints of the same letters, type and bytes are the same constraint.
void append_key(std::string& key, const char* plan, sqlite3_value* value) {
    key.append(plan, 2);
    const int64_t bytes = sqlite3_value_bytes(value);
    const int type = sqlite3_value_type(value);
    key.append(std::to_string(type)).append(":").append(std::to_string(bytes)).append(":");
    if (bytes) key.append(static_cast<const char*>(sqlite3_value_blob(value)), static_cast<size_t>(bytes));
}

}  // namespace

bool plan_selection(sqlite3_index_info* info, std::span<const Role> roles, int first_column_without_values) {
    std::string plan;
    double cost = kScanCost;
    for (int i = 0; i < info->nConstraint; ++i) {
        const auto& constraint = info->aConstraint[i];
        const Role role = role_of(roles, constraint.iColumn);
        std::optional<Compare> compare = comparison(constraint.op);
        if (!compare || !is_supported(role, *compare)) {
            const bool checkable = constraint.iColumn < first_column_without_values;
            if (checkable || role == Role::kNone) continue;
            throw std::runtime_error("this column can only be compared with =, >, >=, <, <= where that makes sense");
        }
        if (!constraint.usable) {
            if (constraint.iColumn >= first_column_without_values) return false;
            continue;
        }
        if (takes_set(role) && sqlite3_vtab_in(info, i, 1)) compare = kIn;
        plan += {role_letter(role), static_cast<char>(*compare)};
        info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.size() / 2);
        info->aConstraintUsage[i].omit = 1;
        if (!is_parameter(role)) cost /= 4;
    }
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    info->needToFreeIdxStr = 1;
    info->estimatedCost = cost;
    info->estimatedRows = static_cast<sqlite3_int64>(cost);
    return info->idxStr != nullptr;
}

Selection read_selection(State& state, const char* plan, sqlite3_value** values) {
    Selection selection;
    Narrowing narrowing(state, selection);
    const size_t count = std::strlen(plan) / 2;
    for (size_t i = 0; i < count; ++i) {
        if (letter_role(plan[2 * i]) == Role::kPath) narrowing.open(values[i]);
    }
    if (!selection.segment) throw std::runtime_error("the segment's path is missing: strobe_calls('<path>')");
    bool has_set = false;
    for (size_t i = 0; i < count; ++i) {
        const Role role = letter_role(plan[2 * i]);
        const auto compare = static_cast<Compare>(plan[2 * i + 1]);
        if (role != Role::kPath) narrowing.apply(role, compare, values[i]);
        if (role != Role::kHosts && role != Role::kSkip) append_key(selection.key, plan + 2 * i, values[i]);
        has_set |= compare == kIn;
    }
    if (has_set) selection.key.clear();  // the members of an IN are not in its value
    return selection;
}

}  // namespace strobe::timeline
