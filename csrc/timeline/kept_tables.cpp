#include "kept_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "segment/read/count.h"
#include "segment/read/histogram.h"
#include "segment/read/scan.h"
#include "totals_row.h"
#include "vtab.h"

namespace strobe::timeline {
namespace {

// Columns by which these tables are narrowed; they have no values of their own.
#define STROBE_CONSTRAINT_COLUMNS                                                                          \
    ", path hidden, functions hidden, threads hidden, returns hidden, number hidden, timestamp_ns hidden," \
    " tid hidden, duration_ns hidden"
constexpr std::array<Role, 8> kConstraints = {Role::kPath,   Role::kFunctions, Role::kThreads, Role::kReturns,
                                              Role::kNumber, Role::kTimestamp, Role::kTid,     Role::kDuration};

template <size_t own>
constexpr std::array<Role, own + kConstraints.size()> with_constraints(std::array<Role, own> roles) {
    std::array<Role, own + kConstraints.size()> all{};
    std::copy(roles.begin(), roles.end(), all.begin());
    std::copy(kConstraints.begin(), kConstraints.end(), all.begin() + own);
    return all;
}

// Rows that are made at once when the scan begins, numbered from 1.
template <class Row>
class MadeRows {
  public:
    bool eof() const { return next_ >= rows_.size(); }
    void next() { ++next_; }
    int64_t rowid() const { return static_cast<int64_t>(next_) + 1; }

  protected:
    void begin() {
        rows_.clear();
        next_ = 0;
    }
    const Row& row() const { return rows_[next_]; }

    std::vector<Row> rows_;
    size_t next_ = 0;
};

struct KindCount {
    uint32_t function;
    uint8_t kind;
    uint64_t count;
};

class CountRows : public MadeRows<KindCount> {
  public:
    explicit CountRows(State& state) : state_(state) {}

    static const char* schema() {
        return "create table strobe_counts(function_id integer, kind integer, count integer" STROBE_CONSTRAINT_COLUMNS
               ")";
    }
    static bool plan(sqlite3_index_info* info) {
        static constexpr auto roles = with_constraints(std::array{Role::kFunction, Role::kKind, Role::kNone});
        return plan_selection(info, roles, 3);
    }
    void filter(const char* plan, int, sqlite3_value** values) {
        begin();
        const Selection selection = read_selection(state_, plan, values);
        if (selection.nothing) return;
        for (const FunctionCount& count : count_by_function(*selection.segment, selection.filter)) {
            if (count.enters) rows_.push_back({count.function, STROBE_RECORD_ENTER, count.enters});
            if (count.exits) rows_.push_back({count.function, STROBE_RECORD_EXIT, count.exits});
        }
    }
    void column(sqlite3_context* context, int column) const {
        if (column == 0) sqlite3_result_int64(context, row().function);
        if (column == 1) sqlite3_result_int(context, row().kind);
        if (column == 2) sqlite3_result_int64(context, static_cast<int64_t>(row().count));
    }

  private:
    State& state_;
};

// Calls that have returned, of which a later one may turn out to have been the caller: they come in the order in which
// they ended, so a caller comes behind everything that it called. What a caller encloses that never comes stays until
// the query ends: 16 bytes for each such call, at most for each that the segment keeps, which its size bounds.
class Enclosed {
  public:
    // Notes a call; how many ticks of it were spent in those that are known.
    uint64_t add(const Event& exit) {
        const uint64_t duration = exit.duration_ticks();
        const uint64_t start = exit.ticks - std::min(duration, exit.ticks);
        uint64_t within = 0;
        for (; !calls_.empty() && calls_.back().start >= start; calls_.pop_back()) within += calls_.back().duration;
        if (exit.depth == 0)
            calls_.clear();  // nobody called it, nor what was before it
        else
            calls_.push_back({start, duration});
        return std::min(within, duration);
    }

  private:
    struct Call {
        uint64_t start;
        uint64_t duration;
    };
    std::vector<Call> calls_;
};

// Adds events up per function and thread. Consecutive events mostly are of one thread, so its table is at hand.
class KeptTotals {
  public:
    void add(const Event& event) {
        if (event.thread_index != thread_index_ || !of_thread_) {
            thread_index_ = event.thread_index;
            of_thread_ = &threads_[event.thread_index];
        }
        Row& kept = row(event.function);
        strobe_totals& totals = kept.row.totals;
        if (event.is_enter()) {
            ++totals.calls;
            return;
        }
        const uint64_t ticks = event.duration_ticks();
        ++totals.exits;
        totals.duration_ticks += ticks;
        totals.total_ticks += ticks - kept.enclosed.add(event);
        kept.row.own_ticks += ticks - of_thread_->enclosed.add(event);
        totals.min_ticks = std::min(totals.min_ticks, ticks);
        totals.max_ticks = std::max(totals.max_ticks, ticks);
        ++totals.histogram[histogram_bucket(ticks)];
    }
    void clear() {
        threads_.clear();
        of_thread_ = nullptr;
    }
    std::vector<TotalsRow> rows() const {
        std::vector<TotalsRow> all;
        for (const auto& [index, thread] : threads_) {
            for (const auto& kept : thread.functions) {
                if (kept) all.push_back(kept->row);
            }
        }
        return all;
    }

  private:
    struct Row {
        TotalsRow row{};
        Enclosed enclosed;  // calls of this function
    };
    struct OfThread {
        std::vector<std::unique_ptr<Row>> functions;  // by id
        Enclosed enclosed;                            // calls of all functions
    };

    Row& row(uint32_t function) {
        auto& functions = of_thread_->functions;
        if (function >= functions.size()) functions.resize(function + 1);
        if (!functions[function]) {
            functions[function] = std::make_unique<Row>();
            strobe_totals& totals = functions[function]->row.totals;
            totals.function = function;
            totals.thread_index = static_cast<uint16_t>(thread_index_);
            totals.min_ticks = UINT64_MAX;
            totals.self_ticks = kUnknownTicks;
        }
        return *functions[function];
    }

    std::map<uint32_t, OfThread> threads_;
    OfThread* of_thread_ = nullptr;
    uint32_t thread_index_ = 0;
};

class KeptTotalsRows : public MadeRows<TotalsRow> {
  public:
    explicit KeptTotalsRows(State& state) : state_(state) {}

    static const char* schema() {
        return "create table strobe_kept_totals(" STROBE_TOTALS_COLUMNS STROBE_CONSTRAINT_COLUMNS ")";
    }
    static bool plan(sqlite3_index_info* info) {
        static constexpr auto roles = [] {
            std::array<Role, kTotalsColumns> own{};
            own[0] = Role::kFunction;
            own[1] = Role::kThreadIndex;
            return with_constraints(own);
        }();
        return plan_selection(info, roles, kTotalsColumns);
    }
    void filter(const char* plan, int, sqlite3_value** values) {
        begin();
        selection_ = read_selection(state_, plan, values);
        if (selection_.nothing) return;
        KeptTotals totals;
        scan(
            *selection_.segment, selection_.filter, [&](const Event& event) { totals.add(event); },
            [&] { totals.clear(); });
        rows_ = totals.rows();
    }
    void column(sqlite3_context* context, int column) const {
        totals_column(context, column, row(), *selection_.segment);
    }

  private:
    State& state_;
    Selection selection_;
};

}  // namespace

int create_counts_table(sqlite3* database, State* state) {
    return EponymousTable<State, CountRows>::create(database, "strobe_counts", state);
}

int create_kept_totals_table(sqlite3* database, State* state) {
    return EponymousTable<State, KeptTotalsRows>::create(database, "strobe_kept_totals", state);
}

}  // namespace strobe::timeline
