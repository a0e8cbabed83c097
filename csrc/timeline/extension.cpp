// Entry point of the SQLite extension `_timeline.so`; docs/architecture.md describes what it adds.
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <new>

#include "aggregates.h"
#include "calls_table.h"
#include "kept_tables.h"
#include "newest.h"
#include "state.h"
#include "totals_table.h"

using strobe::timeline::State;

namespace {

// The state must go with the connection and not with the first module that is dropped, so it hangs on a function.
int create_state(sqlite3* database, State** state) {
    *state = new (std::nothrow) State();
    if (!*state) return SQLITE_NOMEM;
    auto version = [](sqlite3_context* context, int, sqlite3_value**) {
        sqlite3_result_int(context, STROBE_ABI_VERSION);
    };
    auto destroy = [](void* owned) { delete static_cast<State*>(owned); };
    return sqlite3_create_function_v2(database, "strobe_abi_version", 0, SQLITE_UTF8, *state, version, nullptr, nullptr,
                                      destroy);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int sqlite3_timeline_init(sqlite3* database, char**,
                                                                            const sqlite3_api_routines* api) {
    SQLITE_EXTENSION_INIT2(api);
    State* state = nullptr;
    int status = create_state(database, &state);
    if (status == SQLITE_OK) status = strobe::timeline::create_calls_table(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_counts_table(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_kept_totals_table(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_totals_table(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_newest(database, state);
    if (status == SQLITE_OK) status = strobe::timeline::create_aggregates(database);
    return status;
}
