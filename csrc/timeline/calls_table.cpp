#include "calls_table.h"

#include <algorithm>
#include <array>
#include <optional>

#include "segment/read/merge.h"
#include "vtab.h"

namespace strobe::timeline {
namespace {

enum Column {
    kNumber,
    kTimestampNs,
    kKind,
    kFunctionId,
    kThreadIndex,
    kTid,
    kDepth,
    kDurationNs,
    kReturnValue,
    kArguments,
    kFlags,
    kParentNumber,
    kTotal,
    kPath,
    kFunctions,
    kThreads,
    kReturns,
    kHosts,
    kSkip,
};

constexpr std::array<Role, 19> kRoles = {
    Role::kNumber,    Role::kTimestamp, Role::kKind,    Role::kFunction, Role::kThreadIndex, Role::kTid,  Role::kNone,
    Role::kDuration,  Role::kNone,      Role::kNone,    Role::kNone,     Role::kNone,        Role::kNone, Role::kPath,
    Role::kFunctions, Role::kThreads,   Role::kReturns, Role::kHosts,    Role::kSkip,
};

// Rows come by number, and so by time as well: a timestamp is the number's upper part in ns, rounded down.
bool is_by_time(const sqlite3_index_info* info) {
    if (info->nOrderBy < 1 || info->nOrderBy > 2) return false;
    auto is = [info](int term, int column) {
        const auto& order = info->aOrderBy[term];
        return !order.desc && (order.iColumn == column || (order.iColumn < 0 && column == kNumber));
    };
    if (info->nOrderBy == 1) return is(0, kNumber) || is(0, kTimestampNs);
    return is(0, kTimestampNs) && is(1, kNumber);
}

class CallRows {
  public:
    explicit CallRows(State& state) : state_(state) {}

    static const char* schema() {
        return "create table strobe_calls(number integer, timestamp_ns integer, kind integer, function_id integer,"
               " thread_index integer, tid integer, depth integer, duration_ns integer, return_value integer,"
               " arguments blob, flags integer, parent_number integer, total integer,"
               " path hidden, functions hidden, threads hidden, returns hidden, hosts hidden, skip hidden)";
    }

    static bool plan(sqlite3_index_info* info) {
        info->orderByConsumed = is_by_time(info);
        info->idxNum = (info->colUsed >> kTotal & 1) != 0;
        return plan_selection(info, kRoles, kPath);
    }

    void filter(const char* plan, int total_is_wanted, sqlite3_value** values) {
        merge_.reset();
        index_.reset();
        call_.reset();
        selection_ = read_selection(state_, plan, values);
        next_host_ = 0;
        if (selection_.nothing) selection_.filter.kinds = 0;
        if (selection_.skip > 0 || total_is_wanted) {
            start_behind_skipped();
        } else {
            merge_.emplace(*selection_.segment, selection_.filter);
        }
        next();
    }

    bool eof() const { return !is_host_ && !call_; }

    void next() {
        if (!is_host_) call_ = fetch();
        is_host_ = host_is_due();
        if (is_host_) host_ = selection_.hosts[next_host_++];
    }

    int64_t rowid() const { return static_cast<int64_t>(is_host_ ? host_ : call_->number()); }

    void column(sqlite3_context* context, int column) {
        if (column == kTotal) {
            sqlite3_result_int64(context, static_cast<int64_t>(index().total() + selection_.hosts.size()));
        } else if (is_host_) {
            host_column(context, column);
        } else {
            call_column(context, column);
        }
    }

  private:
    const MatchIndex& index() {
        if (!index_) index_ = state_.matches(selection_);
        return *index_;
    }

    void start_behind_skipped() {
        const auto [number, before] = index().place_of(selection_.skip, selection_.hosts);
        Filter rest = selection_.filter;
        rest.from_number = std::max(rest.from_number, number);
        merge_.emplace(*selection_.segment, rest, index().chunks());
        const auto first = std::lower_bound(selection_.hosts.begin(), selection_.hosts.end(), number);
        next_host_ = static_cast<size_t>(first - selection_.hosts.begin());
        pass_over(selection_.skip - before);
    }

    void pass_over(uint64_t count) {
        const bool has_hosts = next_host_ < selection_.hosts.size();
        if (!has_hosts) {
            merge_->skip(count);
            return;
        }
        call_ = fetch();
        for (; count > 0 && (call_ || next_host_ < selection_.hosts.size()); --count) {
            if (host_is_due()) {
                ++next_host_;
            } else {
                call_ = fetch();
            }
        }
        is_host_ = true;  // keeps next() from fetching: call_ is ahead already
    }

    std::optional<Event> fetch() {
        Event event;
        return merge_->next(event) ? std::optional(event) : std::nullopt;
    }

    bool host_is_due() const {
        return next_host_ < selection_.hosts.size() && (!call_ || selection_.hosts[next_host_] < call_->number());
    }

    void host_column(sqlite3_context* context, int column) const {
        if (column == kNumber) sqlite3_result_int64(context, rowid());
        if (column == kKind) sqlite3_result_int(context, 0);
        if (column == kThreadIndex) sqlite3_result_int(context, STROBE_THREAD_INDEX_HOST);
        if (column == kTimestampNs) {
            sqlite3_result_int64(context, selection_.segment->to_ns(selection_.segment->ticks_of(host_)));
        }
    }

    void call_column(sqlite3_context* context, int column) const {
        const Event& call = *call_;
        switch (column) {
            case kNumber:
                return sqlite3_result_int64(context, rowid());
            case kTimestampNs:
                return sqlite3_result_int64(context, selection_.segment->to_ns(call.ticks));
            case kKind:
                return sqlite3_result_int(context, call.kind);
            case kFunctionId:
                return sqlite3_result_int64(context, call.function);
            case kThreadIndex:
                return sqlite3_result_int(context, call.thread_index);
            case kTid:
                return sqlite3_result_int64(context, call.tid);
            case kDepth:
                return sqlite3_result_int(context, call.depth);
            case kFlags:
                return sqlite3_result_int(context, call.flags);
            case kDurationNs:
                if (!call.is_enter())
                    sqlite3_result_int64(context, selection_.segment->duration_ns(call.duration_ticks()));
                return;
            default:
                payload_column(context, column);
        }
    }

    void payload_column(sqlite3_context* context, int column) const {
        if (column == kReturnValue) {
            if (const auto word = call_->return_word()) sqlite3_result_int64(context, static_cast<int64_t>(*word));
        } else if (column == kArguments) {
            const auto words = call_->values();
            sqlite3_result_blob(context, words.data(), static_cast<int>(words.size_bytes()), SQLITE_TRANSIENT);
        } else if (column == kParentNumber) {
            if (const auto parent = merge_->parent_number())
                sqlite3_result_int64(context, static_cast<int64_t>(*parent));
        }
    }

    State& state_;
    Selection selection_;
    std::optional<Merge> merge_;
    std::shared_ptr<const MatchIndex> index_;
    std::optional<Event> call_;  // the next call that was not handed out, or the current row
    size_t next_host_ = 0;
    bool is_host_ = false;  // the current row is a host's, and call_ is still to come
    uint64_t host_ = 0;
};

}  // namespace

int create_calls_table(sqlite3* database, State* state) {
    return EponymousTable<State, CallRows>::create(database, "strobe_calls", state);
}

}  // namespace strobe::timeline
