/* export.h - a recording in the formats of other tools
 *
 * format     one of the table in formats.c: a name, how its files end, and the function that writes it. Each is one file.
 * choice     the stacks that are written: a format writes those of `selection`, with the amounts found there.
 * span       the part of the run that is written, as the profile's; a format may know no moments, or no intervals that begin late.
 * The events of a recording are not kept in memory: a format that needs them in order has them replayed.
 */
#ifndef HWI_EXPORT_EXPORT_H
#define HWI_EXPORT_EXPORT_H

#include <stdio.h>

#include "report/names/named_frames.h"
#include "report/report.h"
#include "report/selection.h"

/* What is asked for. All of it is borrowed. */
struct hwi_export_request {
  struct hwi_report report; /* of its options: cost, min_calls, thread, leaks */
  const char *table;        /* csv: which; NULL: stacks */
  uint64_t event_stacks;    /* chrome: of so many stacks, the costliest, allocations are written one by one */
  const char *name;         /* what the user calls the file */
  const char *path;         /* of the file behind `out`, which is empty so far */
  FILE *out;
  struct hwi_line remarks; /* filled: lines that say what of the choice matched nothing. To be released by the caller */
};

/* A request with what most formats need for it. */
struct hwi_export {
  struct hwi_export_request *request;
  const struct hwi_profile *profile;
  enum hwi_cost cost;
  struct hwi_selection selection; /* the choice */
  bool *is_chosen;                /* by stack */
  struct hwi_named_frames frames;
  FILE *out;
};

/* Which spans a format can hold. */
enum hwi_export_span {
  HWI_EXPORT_ANY_SPAN = 0,   /* it holds what is live, and sums */
  HWI_EXPORT_INTERVALS = 1,  /* it goes along time */
  HWI_EXPORT_BEGINNINGS = 2, /* it holds each block from its allocation on */
};

struct hwi_export_format {
  const char *name;
  const char *const *suffixes; /* with their dots, ended by NULL */
  const char *summary;         /* a phrase for the list of formats */
  bool is_binary;              /* not for a terminal */
  bool needs_file;             /* writes to request->path, not to `out` */
  bool one_process;            /* cannot hold the processes of a run together */
  bool compresses;             /* what it writes is compressed already */
  enum hwi_export_span spans;
  /* 0 or a negative status. Whether writing worked is for the caller to ask of the stream. */
  int (*write)(struct hwi_export *export, struct hwi_error *error);
};

extern const struct hwi_export_format *const hwi_export_formats[]; /* ended by NULL */

/* By its name; NULL: there is none of this name. */
const struct hwi_export_format *hwi_export_format_named(const char *name);

/* By how `path` ends, a compression's suffix set aside; NULL: none ends so. */
const struct hwi_export_format *hwi_export_format_of(const char *path);

int hwi_export_write(const struct hwi_export_format *format, struct hwi_export_request *request,
                     struct hwi_error *error);

/* --- for the formats --- */

/* Hands on the events of the chosen stacks and threads, and, where nothing is left out by the choice, all others too: from
 * the run's beginning to the span's end, of which those before hwi_export_from_ns only tell what is live then. Ends where the
 * profile's own reading did, should the recording have grown since. Not for moments. */
int hwi_export_events(struct hwi_export *export, const struct hwi_block_sink *sink, struct hwi_error *error);

/* Where the span begins and ends, since the run's start. Of a moment both are the moment. */
static inline uint64_t hwi_export_from_ns(const struct hwi_export *export)
{
  return hwi_profile_from_ns(export->profile);
}

static inline uint64_t hwi_export_end_ns(const struct hwi_export *export)
{
  return hwi_profile_end_ns(export->profile);
}

/* Of the image that stands for the run. */
const char *hwi_export_command(const struct hwi_export *export);
uint32_t hwi_export_pid(const struct hwi_export *export);

const char *hwi_export_entry_name(uint8_t entry); /* "malloc", ...; "?" for none */

static inline int hwi_export_no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to export the recording");
}

/* The formats, each in the file of its name. */
extern const struct hwi_export_format hwi_export_folded, hwi_export_speedscope, hwi_export_pprof, hwi_export_heaptrack,
    hwi_export_massif, hwi_export_sqlite, hwi_export_csv, hwi_export_chrome, hwi_export_dhat, hwi_export_heaplog,
    hwi_export_callgrind;

#endif
