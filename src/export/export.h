/* export.h - a recording in the formats of other tools
 *
 * format     an entry of the table in export.c: a name, the suffixes of its files, and the function that writes it.
 *            Each format is one source file.
 * choice     the stacks to write: a format writes the stacks of `selection`, with their amounts.
 * span       the part of the run to write, from the profile. Some formats cannot hold moments, or intervals that begin
 *            after the run's start.
 * The events of a recording are not in memory: a format that needs them in order replays them.
 */
#ifndef HWI_EXPORT_EXPORT_H
#define HWI_EXPORT_EXPORT_H

#include <stdio.h>

#include "export/sites.h"
#include "report/report.h"

/* The request. Its pointers are borrowed. */
struct hwi_export_request {
  struct hwi_report report; /* options used: cost, min_calls, thread, leaks */
  const char *table;        /* csv: name of the table; NULL: stacks */
  uint64_t event_stacks;    /* chrome: number of the costliest stacks whose allocations are written one by one */
  bool with_scopes;         /* folded, speedscope: the scopes of each stack's blocks are written in front of it */
  bool is_present;          /* pprof: in use is what is live at present, whatever the cost */
  bool is_sent;             /* pprof: others get it; without arguments of the command, which may have secrets */
  const char *name;         /* the file as the user named it */
  const char *path;         /* the file that `out` writes to, which is empty so far */
  FILE *out;
  struct hwi_line remarks; /* output: lines about parts of the choice that matched nothing. The caller releases it */
};

/* A request, with data that most formats need. */
struct hwi_export {
  struct hwi_export_request *request;
  const struct hwi_profile *profile;
  enum hwi_cost cost;
  struct hwi_selection selection; /* the choice */
  bool *is_chosen;                /* by stack */
  struct hwi_named_frames frames;
  struct hwi_sites sites; /* of the choice; empty for a format without names */
  FILE *out;
};

/* The spans that a format can hold. */
enum hwi_export_span {
  HWI_EXPORT_ANY_SPAN = 0,   /* live amounts and sums */
  HWI_EXPORT_INTERVALS = 1,  /* data over time: no moments */
  HWI_EXPORT_BEGINNINGS = 2, /* each block from its allocation on: the span begins with the run */
};

struct hwi_export_format {
  const char *name;
  const char *const *suffixes; /* with dots, ended by NULL */
  const char *summary;         /* a phrase for the list of formats */
  bool is_binary;              /* not for a terminal */
  bool needs_file;             /* writes to request->path, not to `out` */
  bool one_process;            /* cannot hold the processes of a run together */
  bool compresses;             /* by gzip, by itself */
  bool without_names;          /* writes no functions, files or stacks */
  bool needs_all_events;       /* lists single events, so that a sample is useless to it */
  enum hwi_export_span spans;
  /* Returns 0 or a negative status. The caller checks the stream for write errors. */
  int (*write)(struct hwi_export *export, struct hwi_error *error);
};

extern const struct hwi_export_format *const hwi_export_formats[]; /* ended by NULL */

/* Returns the format with this name, or NULL. */
const struct hwi_export_format *hwi_export_format_named(const char *name);

/* Returns the format by the suffix of `path`, ignoring a suffix of compression, or NULL if there is none. */
const struct hwi_export_format *hwi_export_format_of(const char *path);

/* Writes the recording in a format. Returns 0 or a negative status. */
int hwi_export_write(const struct hwi_export_format *format, struct hwi_export_request *request,
                     struct hwi_error *error);

/* --- for the formats --- */

/* Passes the events of the chosen stacks and threads to the sink, and also all other events if the choice leaves
 * nothing out. Scopes are those of the chosen threads. The events are those from the run's beginning to the span's
 * end; those before hwi_export_from_ns are only needed to know what is live then. If the recording has grown, it
 * ends where the profile ended. Not for moments. Returns 0 or a negative status. */
int hwi_export_events(struct hwi_export *export, const struct hwi_block_sink *sink, struct hwi_error *error);

/* Return the begin and the end of the span since the run's start. Both are equal for a moment. */
static inline uint64_t hwi_export_from_ns(const struct hwi_export *export)
{
  return hwi_profile_from_ns(export->profile);
}

static inline uint64_t hwi_export_end_ns(const struct hwi_export *export)
{
  return hwi_profile_end_ns(export->profile);
}

/* Returns the command of the image that represents the run. */
const char *hwi_export_command(const struct hwi_export *export);

/* Adds the command and, of a sampled recording, that the figures are estimates. */
void hwi_export_title(struct hwi_line *line, const struct hwi_export *export);
uint32_t hwi_export_pid(const struct hwi_export *export);

const char *hwi_export_entry_name(uint8_t entry); /* "malloc", ...; "?" for none */

static inline int hwi_export_no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to export the recording");
}

/* The formats, each in the file of its name. */
extern const struct hwi_export_format hwi_export_folded, hwi_export_speedscope, hwi_export_pprof, hwi_export_heaptrack,
    hwi_export_massif, hwi_export_sqlite, hwi_export_csv, hwi_export_chrome, hwi_export_dhat, hwi_export_heaplog,
    hwi_export_callgrind, hwi_export_heapprof;

#endif
