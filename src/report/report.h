/* report.h - a profile as text or JSON
 *
 * cost       what stacks and groups are ranked by.
 * row        one line (or stack) of the ranking.
 * to fold    to leave frames out of the text that hardly ever say anything: see fold.h. JSON never folds.
 */
#ifndef HWI_REPORT_REPORT_H
#define HWI_REPORT_REPORT_H

#include <stdio.h>

#include "base/texts.h"
#include "profile/profile.h"
#include "report/replayer.h"
#include "report/text/style.h"
#include "symbols/symbols.h"

enum hwi_cost {
  HWI_COST_PEAK = 0, /* bytes held at the run's peak */
  HWI_COST_LIVE,     /* bytes still allocated at the end */
  HWI_COST_CALLS,
  HWI_COST_BYTES, /* allocated in all */
  HWI_COST_TEMPORARY,
  HWI_COST_DEFAULT = -1, /* the peak; with `leaks`, what is live */
};

enum hwi_by {
  HWI_BY_STACK = 0,
  HWI_BY_FUNCTION,
  HWI_BY_FILE,
  HWI_BY_LINE,
  HWI_BY_MODULE,
  HWI_BY_THREAD,
  HWI_BY_SIZE,
  HWI_BY_ENTRY, /* of malloc's and new's entry points */
};

/* How the stacks are shown as a tree. */
enum hwi_tree_order {
  HWI_TREE_NONE = 0,
  HWI_TREE_CALLERS, /* from the outermost frames inwards */
  HWI_TREE_CALLEES, /* from what allocated outwards */
};

#define HWI_TOP_DEFAULT UINT64_MAX /* ten in text, all in JSON; all of a tree's branches */
#define HWI_MIN_SHARE_DEFAULT (-1) /* 1 % in text, unless `top` is 0; none in JSON */

struct hwi_report_options {
  int cost, by;                  /* enum hwi_cost, enum hwi_by */
  uint64_t top;                  /* rows; 0: all. Of a tree: branches of each node */
  int tree;                      /* enum hwi_tree_order */
  double min_share;              /* percent: branches of a tree below that are summed up; HWI_MIN_SHARE_DEFAULT */
  uint64_t min_calls;            /* stacks with fewer calls are left out */
  const char *thread;            /* short for one more of `only`: "thread=..."; NULL: none */
  struct hwi_texts only, ignore; /* "KIND=PATTERN": see narrowing.h */
  bool leaks;                    /* what is live at the end, without the runtime's own blocks */
  bool lifetimes;                /* how long blocks live instead of the ranking's figures */
  bool resizes;                  /* how they grow, instead */
  bool rss;                      /* in text: resident memory along time, instead */
  bool durations;                /* how long calls took, instead. Needs the report's replayer */
  bool all_frames;               /* do not fold */
};

/* What is asked of the files that ran: hwi_symbols_find and hwi_static_allocator, or a test's stand-ins. */
struct hwi_names {
  uint32_t (*find)(void *context, const struct hwi_symbol_module *module, uint64_t address, bool is_return_address,
                   const struct hwi_symbol **frames);
  void *context; /* for `find` */
  const char *(*static_allocator)(const struct hwi_symbol_module *program);
};

/* What a report is made from. All of it is borrowed. */
struct hwi_report {
  const struct hwi_profile *profile;
  struct hwi_names names;
  struct hwi_report_options options;
  struct hwi_replayer replayer; /* for what only the events tell */
  const char
      *trace;   /* as the user named the recording; NULL: not at all. It and `pid` are for commands that are proposed */
  uint32_t pid; /* of the one process that was asked for; 0: none was */
  struct hwi_suppressions *suppressions; /* with `leaks`: what a user's list leaves out; gets the counts. NULL: none */
};

#define HWI_REPORT_SCHEMA "heapwright-report/1" /* the JSON's; what it holds is in docs/json.md */

/* All return 0 or a negative status (no memory); whether writing worked is for the caller to ask of the stream. */
int hwi_report_text(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error);
/* Parts of the text for a page that has charts of its own: figures and what stands out; tables, and what they are worth. */
int hwi_report_text_summary(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error);
int hwi_report_text_ranking(const struct hwi_report *report, const struct hwi_style *style, struct hwi_error *error);

/* One object (docs/json.md), whatever the options fold in text. */
int hwi_report_json(const struct hwi_report *report, FILE *out, struct hwi_error *error);

#endif
