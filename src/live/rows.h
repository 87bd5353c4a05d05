/* rows.h - what is live, row by row, and what it does along time: the document that a terminal shows
 *
 * row        a stack, a function, a thread, a size, sizes up to a power of two, or a process. The rows of a question add up
 *            to what its rules keep; a function has the stacks whose memory it requested, as in report --by function.
 * live       in processes that go on: what the blocks along time add up to.
 * growth     of the live bytes, since a moment.
 * recent     the last few seconds: from the last begin of a slice that is at least HWI_LIVE_RECENT_NS ago.
 *
 * The analyst's child writes the document, and the process that asked for it reads it: both are the same program, so
 * that it has the structs below as they are.
 */
#ifndef HWI_LIVE_ROWS_H
#define HWI_LIVE_ROWS_H

#include "report/report.h"

enum hwi_live_by {
  HWI_LIVE_BY_STACK = 0,
  HWI_LIVE_BY_FUNCTION,
  HWI_LIVE_BY_THREAD,
  HWI_LIVE_BY_SIZE,
  HWI_LIVE_BY_CLASS, /* of sizes: see hwi_size_class */
  HWI_LIVE_BY_PROCESS,
  HWI_LIVE_BYS
};

enum hwi_live_column {
  HWI_LIVE_BYTES = 0,
  HWI_LIVE_BLOCKS,
  HWI_LIVE_GROWTH,
  HWI_LIVE_GROWTH_RATE,
  HWI_LIVE_CALL_RATE,
  HWI_LIVE_CALLS,
  HWI_LIVE_PEAK, /* bytes at the run's peak */
  HWI_LIVE_COLUMNS
};

enum { HWI_LIVE_RULES = 6, HWI_LIVE_RULE_BYTES = 256, HWI_LIVE_CHART_MAX = 512 };
#define HWI_LIVE_RECENT_NS UINT64_C(1000000000)
#define HWI_LIVE_GROWTH_NS UINT64_C(10000000000) /* growth is that of so long, if it has no beginning of its own */
#define HWI_LIVE_NO_BEGIN UINT64_MAX
#define HWI_LIVE_PID_RULE "pid=" /* the rule for one process */

struct hwi_live_question {
  uint32_t by, sort;     /* enum hwi_live_by; enum hwi_live_column, the largest first */
  uint32_t row_count;    /* at most */
  uint32_t cells, width; /* for a row's name; for a line of a stack's frames */
  uint32_t chart_count;  /* parts of the run for its chart, at most HWI_LIVE_CHART_MAX */
  uint32_t has_utf8;
  uint64_t stack;    /* the key of a stack that is shown alone, with its frames; 0: rows */
  uint64_t since_ns; /* growth counts from here; or HWI_LIVE_NO_BEGIN */
  uint64_t lag_ns;   /* set by the analyst: what was counted is so old; 0: all that is certain was counted */
  uint32_t rule_count;
  char rules[HWI_LIVE_RULES][HWI_LIVE_RULE_BYTES]; /* as in report --only; or HWI_LIVE_PID_RULE and a process */
};

struct hwi_live_row {
  uint64_t key; /* the same in the next document */
  uint64_t live_bytes, live_blocks, peak_bytes, calls;
  int64_t growth_bytes;
  uint64_t recent_calls;
  int64_t recent_growth_bytes;
  uint64_t name_off, full_off; /* of texts. full_off: the name in the whole width, of stacks and functions */
  uint64_t rule_off;           /* of the text of a rule that keeps this row alone; "": there is none */
};

/* The head of a document. It is followed by the rows, the chart's bytes as uint64_t, the offsets of the lines with frames as
 * uint64_t, and texts, each ended by NUL. */
struct hwi_live_rows {
  struct hwi_live_question question;                   /* since_ns is known then, if it was to cut */
  uint64_t duration_ns, growth_ns, recent_ns;          /* the latter two: how long growth and recent are */
  uint64_t live_bytes, live_blocks, peak_bytes, calls; /* of the run */
  uint64_t recent_calls, recent_frees;
  uint64_t rss_bytes;                                       /* 0: not known */
  uint64_t sample_bytes;                                    /* 0: the figures are exact */
  uint64_t live_bytes_error, peak_bytes_error, calls_error; /* of a sample */
  uint64_t kept_bytes, kept_blocks;                         /* live bytes and blocks that the rules keep */
  uint64_t command_off, heap_off, remark_off; /* of texts. heap_off: whose name is shown; remark_off: about the rules */
  uint32_t pid, process_count, ended_count, thread_count; /* pid: of the first process */
  uint32_t row_count, all_rows;                           /* in the document; without a limit */
  uint32_t chart_count, line_count;                       /* line_count: of frames */
  uint32_t is_off;                                        /* the recording is switched off */
};

/* Returns whether a later rule is of the same kind: only that one counts. */
bool hwi_live_rule_is_replaced(const struct hwi_live_question *question, uint32_t rule);

/* Writes the document of a profile that has a history. Returns 0 or a negative status. */
int hwi_live_rows_write(const struct hwi_report *report, const struct hwi_live_question *question, FILE *out,
                        struct hwi_error *error);

static inline const struct hwi_live_row *hwi_live_row_list(const struct hwi_live_rows *rows)
{
  return (const struct hwi_live_row *)(rows + 1);
}

static inline const uint64_t *hwi_live_chart(const struct hwi_live_rows *rows)
{
  return (const uint64_t *)(hwi_live_row_list(rows) + rows->row_count);
}

static inline const uint64_t *hwi_live_lines(const struct hwi_live_rows *rows)
{
  return hwi_live_chart(rows) + rows->chart_count;
}

static inline const char *hwi_live_text(const struct hwi_live_rows *rows, uint64_t off)
{
  return (const char *)(hwi_live_lines(rows) + rows->line_count) + off;
}

#endif
