/* row_table.h - the figures of what is live, by row */
#ifndef HWI_LIVE_ROW_TABLE_H
#define HWI_LIVE_ROW_TABLE_H

#include "live/rows.h"
#include "report/content/group_table.h"
#include "report/names/named_frames.h"
#include "report/selection/selection.h"

struct hwi_row_table {
  const struct hwi_profile *profile;
  const struct hwi_live_question *question;
  struct hwi_report report; /* with the rules */
  struct hwi_narrowing filter;
  uint32_t pid; /* of a rule; 0: none */
  struct hwi_named_frames frames;
  struct hwi_group_table functions;
  struct hwi_live_row *rows;
  uint32_t *index_of_row; /* of its thread, size, image, or one of its stacks, in the profile's list; or the class */
  uint32_t *row_of_cell;
  uint64_t *stack_keys; /* by stack */
  bool knows_calls;     /* of all rows, exactly, though other figures are estimates */
  uint32_t row_count;
  uint32_t *order;           /* [0, head.all_rows): the rows that are not empty, in the order of the question */
  struct hwi_live_rows head; /* how long growth and recent are, recent calls, what is kept, and the number of rows */
};

/* `report` and `question` must outlive the table. Returns 0 or a negative status. Release the table in either case. */
int hwi_row_table_init(struct hwi_row_table *table, const struct hwi_report *report,
                       const struct hwi_live_question *question, struct hwi_error *error);
void hwi_row_table_release(struct hwi_row_table *table);

/* Writes the most that was live in each of `count` parts of the run, as far as it was counted. `chart` is all zero. */
void hwi_row_table_chart(const struct hwi_row_table *table, uint64_t *chart, uint32_t count);

/* Returns the process of an image; 0 if it is not known. */
uint32_t hwi_row_pid(const struct hwi_profile *profile, uint32_t image);

#endif
