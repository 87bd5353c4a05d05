/* members.h - members of JSON objects that several documents share
 *
 * Each function writes into the object begun last, unless it says otherwise.
 */
#ifndef HWI_REPORT_JSON_MEMBERS_H
#define HWI_REPORT_JSON_MEMBERS_H

#include "report/content/durations.h"
#include "report/content/groups.h"
#include "report/content/tree.h"
#include "report/json/frames.h"
#include "report/json/json.h"
#include "report/report.h"
#include "report/selection/figures.h"
#include "report/selection/leaks.h"
#include "report/selection/selection.h"

/* --- figures: figures.c --- */

/* The figures of a list, or their changes; `of`, `old` and `new` are structs that the list is about. */
void hwi_json_figures(struct hwi_json *json, const struct hwi_figure *figures, const void *of);
void hwi_json_changes(struct hwi_json *json, const struct hwi_figure *figures, const void *old, const void *new);
void hwi_json_run(struct hwi_json *json, const struct hwi_profile *profile); /* its trace, command and totals */
void hwi_json_amount(struct hwi_json *json, const struct hwi_amount *amount);
void hwi_json_amount_of(struct hwi_json *json, const char *key, const struct hwi_amount *amount); /* an object */

/* Writes the array `suppressions`: each line of the list with its matches. */
void hwi_json_suppressions(struct hwi_json *json, const struct hwi_suppressions *suppressions);

/* The members of a report on a core dump about the signal that ended the process: core_crash.c. */
void hwi_json_core_crash(struct hwi_json *json, const struct hwi_report *report);

/* Writes "lifetimes": {...}. */
void hwi_json_lifetimes(struct hwi_json *json, const uint64_t lifetimes[HWI_LIFETIMES]);

/* --- lists by size, thread and entry point: tables.c --- */

/* With a filter: the amounts that are kept, and no maximum, which is not known for a part. */
void hwi_json_sizes(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_narrowing *filter);
void hwi_json_threads(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_narrowing *filter);

/* Writes the array `path`, the names of a path's scopes: scopes.c. */
void hwi_json_scope_path(struct hwi_json *json, const struct hwi_profile *profile, uint32_t path);

/* Writes the array `scopes`, if the program marked any: scopes.c. */
void hwi_json_scopes(struct hwi_json *json, const struct hwi_report *report, const struct hwi_narrowing *filter);

/* Writes "forbidden": [...], the calls in forbidden zones, if there are any: scopes.c. */
void hwi_json_breaches(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_stacks *stacks);

/* Write the arrays `marks` and `counters`, of these at most the first `most`, if there are any: annotations.c. */
void hwi_json_marks(struct hwi_json *json, const struct hwi_profile *profile);
void hwi_json_counters(struct hwi_json *json, const struct hwi_profile *profile, uint32_t most);

/* Writes the array `heaps`, of these at most the first `most`, if the program has heaps of its own; and `heap`, if the
 * profile is about one: heaps.c. */
void hwi_json_heaps(struct hwi_json *json, const struct hwi_profile *profile, uint32_t most);

/* Writes the array `by_entry`: the entry points that were called. */
void hwi_json_entries(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_selection *selection);

/* Writes "size_classes": {...}: the moments once, and the classes that ever held something. */
void hwi_json_size_classes(struct hwi_json *json, const struct hwi_profile *profile);

/* Writes "handovers": [...], one item for each pair of threads. */
void hwi_json_handovers(struct hwi_json *json, const struct hwi_profile *profile);

/* --- groups and the tree: groups.c --- */

/* Writes "by_function": [...] or another list, as options.by says; nothing if options.by is none of them. Returns 0 or a
 * negative status. */
int hwi_json_groups(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                    const struct hwi_named_frames *frames, struct hwi_error *error);

/* Writes "tree": {...}. Nothing is folded; branches are cut only if the options say so. Returns 0 or a negative
 * status. */
int hwi_json_tree(struct hwi_json *json, const struct hwi_report *report, const struct hwi_selection *selection,
                  struct hwi_named_frames *frames, struct hwi_error *error);

/* Returns how many of `count` rows are written. */
uint64_t hwi_json_rows(const struct hwi_report_options *options, uint64_t count);

/* --- findings and growing stacks: findings.c --- */

/* Writes "findings": [...]. */
void hwi_json_findings(struct hwi_json *json, const struct hwi_report *report, const struct hwi_json_stacks *stacks);

/* Writes "growing": [...]. */
void hwi_json_growing(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_json_stacks *stacks);

/* Writes the state of a core dump's heap, into the report: core.c. */
void hwi_json_core(struct hwi_json *json, const struct hwi_report *report);

/* Writes `recorded_to` and `last_calls`, if a recorder was in the process and there is no recording: core_last_calls.c. */
void hwi_json_core_last_calls(struct hwi_json *json, const struct hwi_report *report);

/* Writes its leaks. Returns 0 or a negative status. */
int hwi_json_core_leaks(struct hwi_json *json, const struct hwi_report *report, const struct hwi_json_stacks *stacks,
                        struct hwi_error *error);

/* --- process images: images.c --- */

/* Writes an object. `static_allocator` is the allocator that the program has linked in, or NULL. */
void hwi_json_image(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_image *image,
                    const char *static_allocator);

/* The parts of an image. */
void hwi_json_process(struct hwi_json *json, const struct hwi_trace_info *info); /* which process it is */
void hwi_json_silences(struct hwi_json *json, const struct hwi_trace_info *info);
void hwi_json_notes(struct hwi_json *json, const struct hwi_trace_info *info, const char *static_allocator);

/* Writes the sums over all images that are counted. */
void hwi_json_evidence(struct hwi_json *json, const struct hwi_profile *profile);

/* Writes "control_group": {...}, if it is known. */
void hwi_json_control_group(struct hwi_json *json, const struct hwi_profile *profile);

/* Writes the resident memory of all counted processes together, for each tenth of the run, as in the text. The
 * profile must be of a whole run. */
void hwi_json_rss_along_time(struct hwi_json *json, const struct hwi_profile *profile);

struct hwi_json_process_list {
  uint32_t most;       /* how many: the largest ones */
  size_t command_most; /* character cells of a command; SIZE_MAX: no limit */
  bool is_of_counted;  /* only those that the profile counts */
};

/* Writes "processes": [...] and, if some are left out, "processes_left_out". */
void hwi_json_processes(struct hwi_json *json, const struct hwi_profile *profile,
                        const struct hwi_json_process_list *wanted);

/* --- durations of calls: durations.c --- */

/* Replays the recording and writes the members. Returns 0 or a negative status. */
int hwi_json_durations(struct hwi_json *json, const struct hwi_report *report, const struct hwi_narrowing *narrowing,
                       struct hwi_json_frames *frames, struct hwi_error *error);

/* Writes the members of a tally's object. */
void hwi_json_duration_tally(struct hwi_json *json, const struct hwi_duration_tally *tally);

/* Writes the durations in `found`; `stacks` writes the stacks of the slowest calls. */
void hwi_json_durations_found(struct hwi_json *json, const struct hwi_profile *profile,
                              const struct hwi_report_durations *found, const struct hwi_json_stacks *stacks);

/* Writes only `durations` and `durations_of_all`, their histograms with eight ranges for each power of two. */
void hwi_json_durations_in_brief(struct hwi_json *json, const struct hwi_report_durations *found);

#endif
