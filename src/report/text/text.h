/* text.h - what the parts of the text report share; other texts in the same style print with it, too
 *
 * Each part builds a line in `line` and hands it over with hwi_text_end; nothing else writes to the stream.
 */
#ifndef HWI_REPORT_TEXT_TEXT_H
#define HWI_REPORT_TEXT_TEXT_H

#include "report/groups.h"
#include "report/linked_in.h"
#include "report/names/named_frames.h"
#include "report/names/who.h"
#include "report/report.h"
#include "report/runtime_blocks.h"
#include "report/selection.h"
#include "report/text/line.h"
#include "report/text/number.h"

enum { HWI_WIDE_COLUMNS = 140, HWI_NARROW_COLUMNS = 90 };

struct hwi_text {
  const struct hwi_report *report;
  const struct hwi_profile *profile;
  const struct hwi_style *style;
  enum hwi_cost cost;
  const struct hwi_image *image; /* the one that the head names: the largest of those that are counted; may be NULL */
  uint32_t counted;              /* images in this profile */
  const struct hwi_runtime_blocks *runtime; /* with --leaks: what is left out; else NULL */
  struct hwi_linked_in linked_in;
  struct hwi_line line;
  uint64_t printed; /* lines so far */
};

/* Ends the line: prints it with its emphasis, without blanks at its end, and clears it. */
void hwi_text_end(struct hwi_text *text, enum hwi_emphasis emphasis);
void hwi_text_blank(struct hwi_text *text);

/* Ends the line, broken between words where it is too wide; further lines are indented by `indent`. */
void hwi_text_end_wrapped(struct hwi_text *text, size_t indent, enum hwi_emphasis emphasis);

/* The parts, in their order. */
void hwi_text_head(struct hwi_text *text);
void hwi_text_notes(struct hwi_text *text); /* what the reader must know before believing the figures */
void hwi_text_chart(struct hwi_text *text);
int hwi_text_findings(struct hwi_text *text, struct hwi_error *error);
void hwi_text_rss(struct hwi_text *text);
void hwi_text_rss_along(struct hwi_text *text); /* in place of a ranking */
int hwi_text_stacks(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error);
int hwi_text_groups(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error);
int hwi_text_tree(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                  struct hwi_error *error);
/* What a group is called, by options.by, and what stands beside it: a function's module, a line's function. */
void hwi_text_group_name(struct hwi_line *line, const struct hwi_text *text, const struct hwi_group *group,
                         size_t cells);
void hwi_text_group_second(struct hwi_line *line, const struct hwi_text *text, const struct hwi_group *group,
                           size_t cells);

/* No stack of the recording is known: nothing to rank; what is printed instead. */
bool hwi_text_is_stackless(const struct hwi_text *text);
void hwi_text_stackless(struct hwi_text *text, const struct hwi_selection *selection);

/* What each line of the user's list matched. */
void hwi_text_suppressions(struct hwi_text *text, const struct hwi_suppressions *suppressions);
int hwi_text_lifetimes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                       struct hwi_error *error);
int hwi_text_resizes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                     struct hwi_error *error);
int hwi_text_durations(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                       struct hwi_error *error);
void hwi_text_threads(struct hwi_text *text, const struct hwi_selection *selection);
void hwi_text_handovers(struct hwi_text *text); /* below the threads: the matrix of who frees whose blocks */
void hwi_text_sizes(struct hwi_text *text, const struct hwi_selection *selection);
void hwi_text_size_classes(struct hwi_text *text); /* below the sizes */
void hwi_text_entries(struct hwi_text *text, const struct hwi_selection *selection);
void hwi_text_images(struct hwi_text *text);
void hwi_text_evidence(struct hwi_text *text);
void hwi_text_next(struct hwi_text *text); /* only for somebody who sits there */

/* The whole run by stack, with nothing else asked. */
bool hwi_text_is_first_screen(const struct hwi_text *text);

/* Adds a stack in a few words. */
void hwi_text_who(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_who *who);

/* hwi_whos_tell_apart */
void hwi_text_tell_apart(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_who *whos, uint32_t count);

/* The names of a table's rows, and how many cells of a line are not theirs: beside the figures, and on a line of their own below
 * them. */
struct hwi_row_names {
  struct hwi_who *whos; /* of which the stacks are given */
  uint32_t count;
  size_t used_beside, used_below;
};

/* Chooses one place for all of them, and tells them apart. True: beside the figures, where none is cut more than below, or there
 * is much room; false: below. */
bool hwi_text_place_names(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_row_names *names);

/* When the peak was, and the end: "the peak", "the end", or "5.0 s" where the report is about a moment or an interval. */
struct hwi_number hwi_text_peak_name(const struct hwi_text *text);
struct hwi_number hwi_text_end_name(const struct hwi_text *text);
struct hwi_number hwi_text_cost_name(const struct hwi_text *text); /* whichever the ranking is of; "" for none */

/* --- tables of figures, which several parts print --- */

#define HWI_TEXT_BY "[--by stack|function|file|line|module|thread|size|entry]"

/* The heading of a ranking, with the option that changes it on the right where there is room. */
void hwi_text_heading(struct hwi_text *text, const char *heading, const char *option);

/* What a ranking or tree is of, behind its noun: " at the peak", " by allocations". */
void hwi_text_cost_words(struct hwi_line *line, const struct hwi_text *text);

/* Below a ranking: the stacks that --min-calls left out. */
void hwi_text_few_calls(struct hwi_text *text, const struct hwi_selection *selection);

/* Below a heading: what the ranking is narrowed to, and what was left out of it. */
void hwi_text_narrowing(struct hwi_text *text, const struct hwi_selection *selection);

/* Adds "only func=a or func=b, thread=c; not module=d". */
void hwi_text_rules(struct hwi_line *line, const struct hwi_narrowing *filter);

/* The part of it that is about the filter; which of its patterns match nothing. */
void hwi_text_filter(struct hwi_text *text, const struct hwi_selection *selection);

/* "   1   148.9 MB  36.1 %": rank 0 leaves its place blank. */
enum { HWI_RANK_CELLS = 4, HWI_AMOUNT_CELLS = 12, HWI_SHARE_CELLS = 8 };
void hwi_text_cost(struct hwi_text *text, uint64_t rank, uint64_t cost, uint64_t all);

/* The figures beside the cost: as many as the width allows. One line of titles, then one of values for each row. */
void hwi_text_amount_titles(struct hwi_text *text);
void hwi_text_amounts(struct hwi_text *text, const struct hwi_amount *amount);

/* Adds "in 15 more stacks (--top 0)": what the sum below a ranking is of. */
void hwi_text_rest(struct hwi_text *text, uint64_t count, const char *noun);

/* In place of rows. */
void hwi_text_none(struct hwi_text *text);

/* Whether a row is so small that nobody asked for it: the default shows none of these. */
bool hwi_text_is_crumb(const struct hwi_text *text, uint64_t row, uint64_t cost, uint64_t all);

/* How many of `count` rows are shown at most. */
uint64_t hwi_text_rows(const struct hwi_text *text, uint64_t count);

#endif
