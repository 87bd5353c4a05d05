/* report.h - a profile as text or JSON
 *
 * cost       the figure that stacks and groups are ranked by.
 * row        one line (or stack) of the ranking.
 * to fold    to leave out of the text the frames that are rarely of interest: see fold.h. JSON never folds.
 */
#ifndef HWI_REPORT_REPORT_H
#define HWI_REPORT_REPORT_H

#include <stdio.h>

#include "base/texts.h"
#include "memory/core.h"
#include "profile/profile.h"
#include "report/replayer.h"
#include "symbols/symbols.h"

enum hwi_cost {
  HWI_COST_PEAK = 0, /* bytes held at the run's peak */
  HWI_COST_LIVE,     /* bytes still allocated at the end */
  HWI_COST_CALLS,
  HWI_COST_BYTES, /* allocated in total */
  HWI_COST_TEMPORARY,
  HWI_COST_DEFAULT = -1, /* the peak; with `leaks`, the live bytes */
};

enum hwi_by {
  HWI_BY_STACK = 0,
  HWI_BY_FUNCTION,
  HWI_BY_FILE,
  HWI_BY_LINE,
  HWI_BY_MODULE,
  HWI_BY_THREAD,
  HWI_BY_SIZE,
  HWI_BY_ENTRY, /* entry points of malloc and new */
  HWI_BY_SCOPE, /* that the program marked */
};

/* Returns whether the rows are stacks or groups of frames; the others are lists of their own. */
static inline bool hwi_by_is_of_frames(int by)
{
  return by <= HWI_BY_MODULE;
}

/* How the stacks are shown as a tree. */
enum hwi_tree_order {
  HWI_TREE_NONE = 0,
  HWI_TREE_CALLERS, /* from the outermost frames inwards */
  HWI_TREE_CALLEES, /* from the innermost frames outwards */
  HWI_TREE_SCOPES,  /* scopes in the scopes around them. The commands turn it into `scopes_as_tree` */
};

/* Which instances of each scope are listed. */
enum hwi_instance_order {
  HWI_INSTANCES_NONE = 0,
  HWI_INSTANCES_COST,    /* the worst by the cost */
  HWI_INSTANCES_LONGEST, /* those that took longest */
};

#define HWI_TOP_DEFAULT UINT64_MAX /* ten in text, all in JSON; all branches of a tree */
#define HWI_MIN_SHARE_DEFAULT (-1) /* 1 % in text, unless `top` is 0; none in JSON */

struct hwi_report_options {
  int cost, by;                  /* enum hwi_cost, enum hwi_by */
  uint64_t top;                  /* rows; 0: all. For a tree: branches of each node */
  int tree;                      /* enum hwi_tree_order */
  double min_share;              /* percent: a tree's branches below it are summed up; or HWI_MIN_SHARE_DEFAULT */
  uint64_t min_calls;            /* stacks with fewer calls are left out */
  const char *thread;            /* the same as one more `only` "thread=..."; NULL: none */
  struct hwi_texts only, ignore; /* "KIND=PATTERN": see narrowing.h */
  bool leaks;                    /* blocks that are live at the end, without the runtime's own */
  bool lifetimes;                /* show how long blocks live, instead of the usual figures */
  bool resizes;                  /* show how blocks grow, instead */
  bool rss;                      /* in text: show resident memory along time, instead */
  bool durations;                /* show how long calls took, instead. Needs the report's replayer */
  int instances;                 /* enum hwi_instance_order. Needs instance_details of the profile */
  bool scopes_as_tree;           /* with HWI_BY_SCOPE: not a ranking */
  bool all_frames;               /* do not fold */
};

/* Look-ups in the files that ran: hwi_symbols_find and hwi_static_allocator, or a test's replacements. */
struct hwi_names {
  uint32_t (*find)(void *context, const struct hwi_symbol_module *module, uint64_t address, bool is_return_address,
                   const struct hwi_symbol **frames);
  void *context; /* for `find` */
  const char *(*static_allocator)(const struct hwi_symbol_module *program);
};

struct hwi_core_names;

/* The sources of a report. All pointers are borrowed. */
struct hwi_report {
  const struct hwi_profile *profile;
  const struct hwi_core *core;             /* that the profile was made of; NULL: a recording */
  const struct hwi_core_names *core_names; /* of its blocks; NULL: a recording */
  struct hwi_names names;
  struct hwi_report_options options;
  struct hwi_replayer replayer; /* for figures that need the events */
  const char *trace; /* the recording as the user named it, or NULL. It and `pid` are used in proposed commands */
  uint32_t pid;      /* the one process that the user asked for; 0: none */
  struct hwi_suppressions *suppressions; /* with `leaks`: the user's list of known leaks; it gets the counts of matches.
                                          * NULL: none */
};

struct hwi_style;

#define HWI_REPORT_SCHEMA "heapwright-report/1" /* of the JSON; docs/json.md describes it */

/* All return 0 or a negative status (no memory). Write errors are in the stream: the caller checks it. */
int hwi_report_text(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error);
/* Parts of the text, for a page with its own charts: figures and findings; tables, and how complete the recording
 * is. */
int hwi_report_text_summary(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error);
int hwi_report_text_ranking(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error);

/* Writes one object (docs/json.md). Nothing is folded. */
int hwi_report_json(const struct hwi_report *report, FILE *out, struct hwi_error *error);

#endif
