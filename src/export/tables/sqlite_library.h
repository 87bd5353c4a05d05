/* sqlite_library.h - SQLite, loaded when a database is written */
#ifndef HWI_EXPORT_TABLES_SQLITE_LIBRARY_H
#define HWI_EXPORT_TABLES_SQLITE_LIBRARY_H

#include <sqlite3.h>

#include "base/error.h"

struct hwi_sqlite_library {
  __typeof__(&sqlite3_open_v2) open_v2;
  __typeof__(&sqlite3_close) close;
  __typeof__(&sqlite3_exec) exec;
  __typeof__(&sqlite3_prepare_v2) prepare_v2;
  __typeof__(&sqlite3_finalize) finalize;
  __typeof__(&sqlite3_bind_int64) bind_int64;
  __typeof__(&sqlite3_bind_double) bind_double;
  __typeof__(&sqlite3_bind_text) bind_text;
  __typeof__(&sqlite3_bind_null) bind_null;
  __typeof__(&sqlite3_step) step;
  __typeof__(&sqlite3_reset) reset;
  __typeof__(&sqlite3_errstr) errstr;
};

/* Loads it. Returns 0 or a negative status. */
int hwi_sqlite_library_load(struct hwi_sqlite_library *sqlite, struct hwi_error *error);

#endif
