#include "totals_table.h"

#include <array>
#include <vector>

#include "segment/read/totals.h"
#include "totals_row.h"
#include "vtab.h"

namespace strobe::timeline {
namespace {

class TotalsRows {
  public:
    explicit TotalsRows(State& state) : state_(state) {}

    static const char* schema() {
        return "create table strobe_totals(" STROBE_TOTALS_COLUMNS ", path hidden, functions hidden, threads hidden)";
    }
    static bool plan(sqlite3_index_info* info) {
        static constexpr auto roles = [] {
            std::array<Role, kTotalsColumns + 3> all{};
            all[0] = Role::kFunction;
            all[1] = Role::kThreadIndex;
            all[kTotalsColumns] = Role::kPath;
            all[kTotalsColumns + 1] = Role::kFunctions;
            all[kTotalsColumns + 2] = Role::kThreads;
            return all;
        }();
        return plan_selection(info, roles, kTotalsColumns);
    }

    void filter(const char* plan, int, sqlite3_value** values) {
        rows_.clear();
        next_ = 0;
        selection_ = read_selection(state_, plan, values);
        if (selection_.nothing) return;
        const Filter& filter = selection_.filter;
        for_each_totals(*selection_.segment, [&](const strobe_totals& totals) {
            if (filter.functions && !filter.functions->contains(totals.function)) return;
            if (filter.threads && !filter.threads->test(totals.thread_index)) return;
            rows_.push_back({totals, totals.self_ticks});
        });
    }
    bool eof() const { return next_ >= rows_.size(); }
    void next() { ++next_; }
    int64_t rowid() const { return static_cast<int64_t>(next_) + 1; }
    void column(sqlite3_context* context, int column) const {
        totals_column(context, column, rows_[next_], *selection_.segment);
    }

  private:
    State& state_;
    Selection selection_;
    std::vector<TotalsRow> rows_;
    size_t next_ = 0;
};

}  // namespace

int create_totals_table(sqlite3* database, State* state) {
    return EponymousTable<State, TotalsRows>::create(database, "strobe_totals", state);
}

}  // namespace strobe::timeline
