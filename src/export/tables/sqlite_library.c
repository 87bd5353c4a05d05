/* sqlite_library.c - SQLite, loaded when a database is written */
#include "export/tables/sqlite_library.h"

#include "base/library.h"

#define SYMBOL(name)                                            \
  {                                                             \
    "sqlite3_" #name, offsetof(struct hwi_sqlite_library, name) \
  }
static const struct hwi_library_symbol symbols[] = {
    SYMBOL(open_v2),     SYMBOL(close),     SYMBOL(exec),      SYMBOL(prepare_v2), SYMBOL(finalize), SYMBOL(bind_int64),
    SYMBOL(bind_double), SYMBOL(bind_text), SYMBOL(bind_null), SYMBOL(step),       SYMBOL(reset),    SYMBOL(errstr),
};
_Static_assert(sizeof(struct hwi_sqlite_library) == sizeof symbols / sizeof *symbols * sizeof(void *),
               "each has its line above");

static const struct hwi_library library = {
    .user = "an SQLite database",
    .file = HWI_SQLITE3_FILE,
    .package = "libsqlite3-0",
    .version = "3.7.15",
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
};
HWI_LIBRARY_NOTE(HWI_SQLITE3_FILE, "sqlite", "writes SQLite databases");

int hwi_sqlite_library_load(struct hwi_sqlite_library *sqlite, struct hwi_error *error)
{
  return hwi_library_load(&library, sqlite, error);
}
