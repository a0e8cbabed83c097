// SQLite's extension interface, for every file but the one that holds the entry point.
#pragma once

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT3
