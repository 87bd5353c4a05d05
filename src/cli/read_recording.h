/* read_recording.h - the options by which a command finds and reads a recording, and the reading itself
 *
 * Shared by the commands that explain recordings (report, diff, check, ...). The functions report errors on stderr and
 * return 0 or an exit status.
 */
#ifndef HWI_CLI_READ_RECORDING_H
#define HWI_CLI_READ_RECORDING_H

#include "cli/command.h"
#include "profile/profile.h"
#include "report/json/saved.h"
#include "report/report.h"
#include "report/selection/scope_rules.h"

enum { HWI_READING_PATH_BYTES = 4096 };

/* Part of a command's values. */
struct hwi_reading {
  bool children;
  uint64_t pid;                  /* 0: the largest */
  const char *heap, *shown_path; /* see struct hwi_profile_options */
  struct hwi_texts debug_dirs;
  struct hwi_span span;                  /* the part of the run that hwi_reading_profile covers; see cli/span.h */
  bool instance_details;                 /* see struct hwi_profile_options */
  struct hwi_texts scopes;               /* rules for scopes */
  const char *scope_rules;               /* a file of them, or NULL */
  const struct hwi_scope_chains *chains; /* set by hwi_reading_find_scopes */
};

/* Rows of the command's table of options, for `struct hwi_reading field` in its `struct values`: which processes to
 * read (`usual`: without these options) and, for commands that name functions, where debug files are. */
/* clang-format off */
#define HWI_READING_PROCESSES(field, usual)                                                                            \
  {.name = "children",                                                                                                 \
   HWI_VALUE(ON, field.children),                                                                                      \
   .help = "all processes of the run together"},                                                                       \
  {.name = "pid",                                                                                                      \
   HWI_VALUE(COUNT, field.pid),                                                                                        \
   .value = "PID",                                                                                                     \
   .help = "this process of the run (default: " usual ")"},                                                              \
  {.name = "heap",                                                                                                     \
   HWI_VALUE(TEXT, field.heap),                                                                                        \
   .value = "NAME",                                                                                                    \
   .help = "the program's own heaps with this name, instead of malloc"}

#define HWI_DEBUG_DIR_OPTION(field)                                                                                    \
  {.name = "debug-dir",                                                                                                \
   HWI_VALUE(TEXTS, field.debug_dirs),                                                                                 \
   .value = "DIR",                                                                                                     \
   .help = "look for debug files below DIR, too, which may be the root\n"                                              \
           "of the system that the program ran on; may be given again"}

#define HWI_READING_OPTIONS(field)                                                                                     \
  HWI_READING_PROCESSES(field, "the one that allocated most"),                                                         \
  {.name = "scope",                                                                                                    \
   HWI_VALUE(TEXTS, field.scopes),                                                                                     \
   .value = "KIND=PATTERN",                                                                                            \
   .help = "regard each stretch of a thread in func=, file= or module= as a scope; may be given again"},               \
  {.name = "scope-rules",                                                                                              \
   HWI_VALUE(TEXT, field.scope_rules),                                                                                 \
   .value = "FILE",                                                                                                    \
   .help = "a file of such scopes, one KIND=PATTERN per line; lines that begin with # are comments"},                  \
  HWI_DEBUG_DIR_OPTION(field),                                                                                         \
  {.name = "sysroot",                                                                                                  \
   HWI_VALUE(TEXTS, field.debug_dirs),                                                                                 \
   .value = "DIR",                                                                                                     \
   .help = "the same as --debug-dir DIR"}
/* clang-format on */

/* Returns 0, or an exit status after a message if the options are invalid or contradict each other. So do the functions
 * below that return an int, unless their comment says otherwise. */
int hwi_reading_check(const struct hwi_reading *reading);

/* Reads the recording at `path`: a trace, its folder NAME.children, or a folder, of which the newest recording is read.
 * Progress is shown on a terminal. The caller owns *profile and frees it with hwi_profile_destroy. */
int hwi_reading_profile(const struct hwi_reading *reading, const char *path, struct hwi_profile **profile);

/* The same, but nothing is reported on stderr. Returns 0, or a negative value if the recording cannot be read. */
int hwi_reading_try_profile(const struct hwi_reading *reading, const char *path, struct hwi_profile **profile);

/* If the options have rules for scopes: reads the recording at `path`, which comes from hwi_reading_find, and sets
 * reading->chains to what its stacks match. A rule that matches nothing causes a warning. The caller releases `rules`, after
 * the last use of reading->chains, also after a failure. */
int hwi_reading_find_scopes(struct hwi_reading *reading, const char *path, struct hwi_scope_rules *rules);

/* Returns whether `path` is a folder of recordings, not the folder NAME.children of one. */
bool hwi_reading_is_folder(const char *path);

/* Sets `found` to the newest recording if `path` is a folder of recordings, else to `path` itself. */
int hwi_reading_find(const char *path, char *found, size_t found_bytes);

/* A recording that can be read again for its events; `path` comes from hwi_reading_find. */
struct hwi_reading_source {
  const struct hwi_reading *reading;
  const char *path;
};

/* Returns a replayer for the source, which must outlive it. */
struct hwi_replayer hwi_reading_replayer(struct hwi_reading_source *source);

/* Loads the names of the executed files, including files that were copied next to the recordings at `paths` (ended by
 * NULL). Several profiles may share them. */
struct hwi_symbols;
int hwi_reading_symbols(const struct hwi_reading *reading, const char *const *paths, struct hwi_symbols **symbols);

/* The same for one recording, whose path comes from hwi_reading_find, with the names that earlier reports stored next
 * to it. */
int hwi_reading_symbols_of(const struct hwi_reading *reading, const char *path, struct hwi_symbols **symbols);
struct hwi_names hwi_reading_names(struct hwi_symbols *symbols);

/* Warns that processes of a recording are left out though none was chosen, that it is not complete, or sampled, which other tools'
 * formats have no field for. `done`: "exported" or "sent". */
void hwi_reading_warn(const struct hwi_reading *reading, const struct hwi_profile *profile, const char *done);

/* --- runs that are compared: recordings, or reports saved as JSON --- */

struct hwi_compared {
  char path[HWI_READING_PATH_BYTES];
  struct hwi_reading reading; /* with the chains of this run */
  struct hwi_scope_rules scope_rules;
  struct hwi_reading_source source;  /* for a recording, which may be read again */
  const struct hwi_profile *profile; /* NULL: not opened */
  struct hwi_profile *recorded;      /* set for a recording ... */
  struct hwi_saved *saved;           /* ... or this is set, for a saved report; the other is NULL */
};

/* Reads the recording or saved report at `path`. Call hwi_compared_close even after a failure; it does nothing if `run`
 * is all zero. */
int hwi_compared_open(struct hwi_compared *run, const struct hwi_reading *reading, const char *path);
void hwi_compared_close(struct hwi_compared *run);

/* Returns the names of a run. `symbols` has those of recordings; a saved report contains its own names. */
struct hwi_names hwi_compared_names(const struct hwi_compared *run, struct hwi_symbols *symbols);

/* Returns the path near which its debug files may be, for hwi_reading_symbols, or NULL for a report, which needs
 * none. */
const char *hwi_compared_trace(const struct hwi_compared *run);

#endif
