/* classes.h - the size classes of a heap with which a recorded program needs least memory
 *
 * The blocks of the recording (class_demand.h) have an optimal table of each number of classes (class_table.h). If the
 * number is not given, it is the smallest one whose cost is within the tolerance of the least cost: classes beyond that
 * would fit this run more than others.
 */
#ifndef HWI_TUNE_CLASSES_H
#define HWI_TUNE_CLASSES_H

#include <stdio.h>

#include "report/words/style.h"
#include "tune/classes/class_demand.h"

enum { HWI_CLASSES_CHOSEN = 0 };
#define HWI_CLASSES_TOLERANCE 0.0003

/* With fewer requests, a table is not worth much. If n requests were seen, all others together may be 3/n of the program's requests
 * (the rule of three, which is right 19 times of 20). From this n on, that is no more than the share that the cost gives to sizes that
 * were not seen (class_table.c). */
enum { HWI_CLASSES_FEW_REQUESTS = 100 };

/* The tables that are compared. */
enum hwi_class_tables { HWI_CLASSES_TUNED, HWI_CLASSES_DEFAULT, HWI_CLASSES_POWERS, HWI_CLASS_TABLES };

/* What a recording needs in each table. */
struct hwi_class_needs {
  struct hwi_recorded_demand recorded;
  struct hwi_class_cost costs[HWI_CLASS_TABLES];
};

struct hwi_classes {
  const struct hwi_profile *profile;
  bool is_chosen; /* the number of classes was not given */
  struct hwi_class_table tables[HWI_CLASS_TABLES];
  struct hwi_class_needs needs;
  const char *check_name; /* of another recording, or NULL: then the next three are 0 */
  uint64_t check_sample_bytes;
  bool check_is_whole;
  struct hwi_class_needs check;
  double objective; /* of the tuned table: what the optimum minimizes */
  double bound; /* no table of as many classes costs less; the objective itself if this is known to be the best one */
  size_t best_count; /* the number of classes that costs least, at most HWI_CLASS_COUNT_MAX */
  double best_objective;
};

/* `count`: up to HWI_CLASS_COUNT_MAX, or HWI_CLASSES_CHOSEN. The profile is of the whole run and must outlive the result;
 * the replayer is of the same run. Returns 0, or a negative status that is described in `error`; then there is nothing to
 * release. */
int hwi_classes_init(struct hwi_classes *classes, const struct hwi_profile *profile, size_t count,
                     const struct hwi_replayer *replayer, struct hwi_error *error);

/* Adds what another recording needs in the same tables. Its profile is not used afterwards, and `name` must outlive the
 * result. Returns 0, or a negative status that is described in `error`. */
int hwi_classes_check(struct hwi_classes *classes, const char *name, const struct hwi_profile *profile,
                      const struct hwi_replayer *replayer, struct hwi_error *error);

void hwi_classes_release(struct hwi_classes *classes);

/* Whether the recording has too few requests; and the sentence that says so. */
struct hwi_line;
bool hwi_classes_are_few(const struct hwi_classes *classes);
void hwi_classes_say_few(const struct hwi_classes *classes, struct hwi_line *line);

/* These print the result. They return 0, or a negative status if there is no memory; a failed write must be checked on the
 * stream. */
int hwi_classes_text(const struct hwi_classes *classes, const struct hwi_style *style, struct hwi_error *error);
int hwi_classes_json(const struct hwi_classes *classes, FILE *out, struct hwi_error *error);

/* Adds the sizes, with commas between them: the value of the variable that the heap reads. */
#define HWI_CLASSES_VARIABLE "HEAPWRIGHT_HEAP_CLASS_BYTES"
void hwi_classes_list(const struct hwi_classes *classes, struct hwi_line *line);

/* The same for the table, with comments that say what it saves: as a file for HEAPWRIGHT_HEAP_CONFIG, and as an array for struct
 * hw_heap_config. */
int hwi_classes_config(const struct hwi_classes *classes, FILE *out, struct hwi_error *error);
int hwi_classes_c(const struct hwi_classes *classes, FILE *out, struct hwi_error *error);

#endif
