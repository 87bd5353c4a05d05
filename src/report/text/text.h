/* text.h - functions that the parts of the text report share; other texts in the same style use them too
 *
 * Each part builds a line in `line` and prints it with hwi_text_end; nothing else writes to the stream.
 */
#ifndef HWI_REPORT_TEXT_TEXT_H
#define HWI_REPORT_TEXT_TEXT_H

#include "report/content/findings.h"
#include "report/content/groups.h"
#include "report/content/static_allocators.h"
#include "report/names/named_frames.h"
#include "report/names/stack_label.h"
#include "report/report.h"
#include "report/selection/leaks.h"
#include "report/selection/selection.h"
#include "report/words/line.h"
#include "report/words/number.h"
#include "report/words/style.h"

enum { HWI_WIDE_COLUMNS = 140, HWI_NARROW_COLUMNS = 90 };

struct hwi_core_heap_sum;

struct hwi_text {
  const struct hwi_report *report;
  const struct hwi_profile *profile;
  const struct hwi_style *style;
  enum hwi_cost cost;
  const struct hwi_image *image;            /* the image that the head names; may be NULL */
  uint32_t counted;                         /* images in this profile */
  const struct hwi_runtime_blocks *runtime; /* with --leaks: the blocks that are left out; else NULL */
  struct hwi_static_allocators static_allocators;
  struct hwi_line line;
  uint64_t printed; /* lines so far */
};

/* Prints the line with an emphasis, without blanks at its end, and clears it. */
void hwi_text_end(struct hwi_text *text, enum hwi_emphasis emphasis);
void hwi_text_blank(struct hwi_text *text);

/* The same, with line breaks between words if the line is too wide; further lines are indented by `indent`. */
void hwi_text_end_wrapped(struct hwi_text *text, size_t indent, enum hwi_emphasis emphasis);

/* The parts, in their order. */
void hwi_text_overview(struct hwi_text *text);
void hwi_text_core(struct hwi_text *text, const struct hwi_core *core); /* instead of the overview */
void hwi_text_core_crash(struct hwi_text *text);                        /* in it: how a signal ended the process */
/* A row: "  live   2.3 MB   3,335 blocks   in use by the program". */
void hwi_text_core_sum(struct hwi_text *text, const char *label, const struct hwi_core_heap_sum *sum, const char *more);
int hwi_text_core_leaks(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_error *error);
void hwi_text_core_contents(struct hwi_text *text, const struct hwi_core *core);
void hwi_text_core_parts(struct hwi_text *text, const struct hwi_core *core);
void hwi_text_core_recorder(struct hwi_text *text, const struct hwi_core *core); /* in the head */
void hwi_text_core_last_calls(struct hwi_text *text, const struct hwi_core *core);
void hwi_text_notes(struct hwi_text *text);        /* what the reader must know to interpret the figures */
void hwi_text_short_stacks(struct hwi_text *text); /* one of them */
void hwi_text_chart(struct hwi_text *text);
int hwi_text_findings(struct hwi_text *text, struct hwi_error *error);
void hwi_text_heaps(struct hwi_text *text);
void hwi_text_counters(struct hwi_text *text);
void hwi_text_rss(struct hwi_text *text);
void hwi_text_rss_along(struct hwi_text *text); /* instead of a ranking */
int hwi_text_stacks(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error);
int hwi_text_groups(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                    struct hwi_error *error);
int hwi_text_tree(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                  struct hwi_error *error);
/* Add a group's name, by options.by, and the second column next to it: a function's module, a line's function. */
void hwi_text_group_name(struct hwi_line *line, const struct hwi_text *text, const struct hwi_group *group,
                         size_t cells);
void hwi_text_group_second(struct hwi_line *line, const struct hwi_text *text, const struct hwi_group *group,
                           size_t cells);

/* Prints what each line of the user's list matched. */
void hwi_text_suppressions(struct hwi_text *text, const struct hwi_suppressions *suppressions);
int hwi_text_lifetimes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                       struct hwi_error *error);
int hwi_text_resizes(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                     struct hwi_error *error);
int hwi_text_durations(struct hwi_text *text, const struct hwi_selection *selection, struct hwi_named_frames *frames,
                       struct hwi_error *error);
void hwi_text_threads(struct hwi_text *text, const struct hwi_selection *selection);
void hwi_text_handovers(struct hwi_text *text); /* below the threads: which threads free blocks of which */
void hwi_text_sizes(struct hwi_text *text, const struct hwi_selection *selection);
void hwi_text_entries(struct hwi_text *text, const struct hwi_selection *selection);
void hwi_text_scopes(struct hwi_text *text, const struct hwi_selection *selection);
void hwi_text_scope_path(struct hwi_line *line, const struct hwi_text *text, uint32_t path); /* adds "frame > decode" */
void hwi_text_instances(struct hwi_text *text, const struct hwi_scope *scope);               /* below the scope's row */
/* Below the scopes: the calls in forbidden zones; nothing if there are none. */
int hwi_text_breaches(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_error *error);
void hwi_text_images(struct hwi_text *text);
void hwi_text_evidence(struct hwi_text *text);
void hwi_text_next_command(struct hwi_text *text); /* only on a terminal */

/* Returns whether the report is of the whole run by stack, without other options. */
bool hwi_text_is_first_screen(const struct hwi_text *text);

/* Adds a stack in a few words. */
void hwi_text_stack_label(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_stack_label *label);

/* Makes the words of several stacks distinct: see hwi_stack_labels_distinguish. */
void hwi_text_distinguish(struct hwi_text *text, struct hwi_named_frames *frames, struct hwi_stack_label *labels,
                          uint32_t count);

/* The names of a table's rows, and how many cells of a line are used by other text: next to the figures, and on a
 * separate line below them. */
struct hwi_row_names {
  struct hwi_stack_label *labels; /* with their stacks set */
  uint32_t count;
  size_t used_in_row, used_below;
};

/* Chooses one place for all names, and makes them distinct. Returns true for "next to the figures", if no name is
 * cut more there than below or if there is much room; false for "below". */
bool hwi_text_place_names(struct hwi_text *text, struct hwi_named_frames *frames, const struct hwi_row_names *names);

/* After a row's figures: moves to the place of its name, `gap_cells` further or on the next line. */
void hwi_text_go_to_name(struct hwi_text *text, bool is_in_row, size_t gap_cells);

/* Names for the time of the peak and of the end: "the peak", "the end", or "5.0 s" if the report is about a moment
 * or an interval. */
struct hwi_number hwi_text_peak_name(const struct hwi_text *text);
struct hwi_number hwi_text_end_name(const struct hwi_text *text);
struct hwi_number hwi_text_cost_name(const struct hwi_text *text); /* the one that the ranking is of; "" for none */

/* --- tables of figures, used by several parts --- */

#define HWI_TEXT_BY_OF_CORE "[--by type|size]"
#define HWI_TEXT_BY "[--by stack|function|file|line|module|thread|size|entry|scope]"

/* Prints the heading of a ranking; on the right the option that changes it, if there is room. */
void hwi_text_heading(struct hwi_text *text, const char *heading, const char *option);

/* Adds what a ranking or tree is of, after its noun: " at the peak", " by allocations". */
void hwi_text_cost_words(struct hwi_line *line, const struct hwi_text *text);

/* Prints, below a ranking, which stacks --min-calls left out. */
void hwi_text_few_calls(struct hwi_text *text, const struct hwi_selection *selection);

/* Prints, below a heading, what the ranking is narrowed to and what was left out. */
void hwi_text_narrowing(struct hwi_text *text, const struct hwi_selection *selection);

/* Adds "only func=a or func=b, thread=c; not module=d". */
void hwi_text_rules(struct hwi_line *line, const struct hwi_narrowing *filter);

/* Prints only the part about the filter, and the patterns that match nothing. */
void hwi_text_filter(struct hwi_text *text, const struct hwi_selection *selection);

/* Adds " 1 148.9 MB 36.1 %"; rank 0 is left blank. */
enum { HWI_RANK_CELLS = 4, HWI_AMOUNT_CELLS = 12, HWI_SHARE_CELLS = 8 };
void hwi_text_cost(struct hwi_text *text, uint64_t rank, uint64_t cost, uint64_t all);

/* In a sample: the column of the cost's error, which the next two functions also add. */
void hwi_text_error_title(struct hwi_text *text);
void hwi_text_error(struct hwi_text *text, const struct hwi_amount *amount);

/* The figures next to the cost, as many as the width allows: one line of titles, then one line of values for each
 * row. */
void hwi_text_amount_titles(struct hwi_text *text);
void hwi_text_amounts(struct hwi_text *text, const struct hwi_amount *amount);

/* Adds a description of the sum below a ranking: "in 15 more stacks (--top 0)". */
void hwi_text_rest(struct hwi_text *text, uint64_t count, const char *noun);

/* Prints the line for a table without rows. */
void hwi_text_none(struct hwi_text *text);

/* Returns whether a row is so small that it is left out by default. */
bool hwi_text_is_crumb(const struct hwi_text *text, uint64_t row, uint64_t cost, uint64_t all);

/* Returns how many of `count` rows are shown at most. */
uint64_t hwi_text_rows(const struct hwi_text *text, uint64_t count);

/* --- findings, for documents --- */

/* Words each finding as in the text report, always in UTF-8. The caller releases the lines, also after a failure.
 * The label is a word or two to print before the line. */
int hwi_findings_word(const struct hwi_findings *findings, const struct hwi_report *report,
                      struct hwi_line lines[HWI_FINDINGS_MAX], struct hwi_error *error);
const char *hwi_finding_label(enum hwi_finding_kind kind);

#endif
