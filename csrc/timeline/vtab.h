// Boilerplate of a read-only table-valued function, so that each of ours is only its columns and its rows.
#pragma once

#include <exception>
#include <memory>
#include <new>

#include "sqlite.h"

namespace strobe::timeline {

// Runs a callback of SQLite; what it throws becomes the statement's error.
template <class Body>
int guarded(sqlite3_vtab* table, Body body) {
    try {
        body();
        return SQLITE_OK;
    } catch (const std::bad_alloc&) {
        return SQLITE_NOMEM;
    } catch (const std::exception& error) {
        sqlite3_free(table->zErrMsg);
        table->zErrMsg = sqlite3_mprintf("%s", error.what());
        return SQLITE_ERROR;
    }
}

// Rows has: `static const char* schema()`, `static void plan(sqlite3_index_info*)`, a constructor from State&,
// `void filter(const char* plan, int order, sqlite3_value** values)`, `bool eof()`, `void next()`,
// `void column(sqlite3_context*, int)`, `int64_t rowid()`. One State is shared by all cursors of a connection.
template <class State, class Rows>
class EponymousTable {
  public:
    static int create(sqlite3* database, const char* name, State* state) {
        return sqlite3_create_module(database, name, &module_, state);
    }

  private:
    struct Table : sqlite3_vtab {
        State* state;
    };
    struct Cursor : sqlite3_vtab_cursor {
        explicit Cursor(State& state) : sqlite3_vtab_cursor{}, rows(state) {}
        Rows rows;
    };

    static Rows& rows(sqlite3_vtab_cursor* cursor) { return static_cast<Cursor*>(cursor)->rows; }

    static int connect(sqlite3* database, void* state, int, const char* const*, sqlite3_vtab** table, char**) {
        const int status = sqlite3_declare_vtab(database, Rows::schema());
        if (status != SQLITE_OK) return status;
        sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
        auto* made = new (std::nothrow) Table{};
        if (!made) return SQLITE_NOMEM;
        made->state = static_cast<State*>(state);
        *table = made;
        return SQLITE_OK;
    }
    static int disconnect(sqlite3_vtab* table) {
        delete static_cast<Table*>(table);
        return SQLITE_OK;
    }
    static int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
        int status = SQLITE_OK;
        const int guard = guarded(table, [&] { status = Rows::plan(info) ? SQLITE_OK : SQLITE_CONSTRAINT; });
        return guard == SQLITE_OK ? status : guard;
    }
    static int open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
        return guarded(table, [&] { *cursor = new Cursor(*static_cast<Table*>(table)->state); });
    }
    static int close(sqlite3_vtab_cursor* cursor) {
        delete static_cast<Cursor*>(cursor);
        return SQLITE_OK;
    }
    static int filter(sqlite3_vtab_cursor* cursor, int order, const char* plan, int, sqlite3_value** values) {
        return guarded(cursor->pVtab, [&] { rows(cursor).filter(plan, order, values); });
    }
    static int next(sqlite3_vtab_cursor* cursor) {
        return guarded(cursor->pVtab, [&] { rows(cursor).next(); });
    }
    static int eof(sqlite3_vtab_cursor* cursor) { return rows(cursor).eof(); }
    static int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
        return guarded(cursor->pVtab, [&] { rows(cursor).column(context, index); });
    }
    static int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* rowid) {
        *rowid = rows(cursor).rowid();
        return SQLITE_OK;
    }

    static constexpr sqlite3_module make_module() {
        sqlite3_module module{};
        module.xConnect = connect;  // no xCreate: the table exists under its own name and nowhere else
        module.xBestIndex = best_index;
        module.xDisconnect = disconnect;
        module.xOpen = open;
        module.xClose = close;
        module.xFilter = filter;
        module.xNext = next;
        module.xEof = eof;
        module.xColumn = column;
        module.xRowid = rowid;
        return module;
    }
    static constexpr sqlite3_module module_ = make_module();
};

}  // namespace strobe::timeline
