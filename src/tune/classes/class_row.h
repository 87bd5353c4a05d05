/* class_row.h - what one size class costs, for each smallest size that it may be for
 *
 * A class is for the blocks of the sizes above the class before it, up to its own, unless it is no multiple of their alignment;
 * and for those that waited: smaller aligned blocks that fit no class between. The row of a class begins with no size, and is
 * widened by one size at a time. It has two costs:
 *
 * cost       of the class without any block that waited. It never falls when the row is widened, or when blocks that waited
 *            are added.
 * least cost what the class costs at least, besides the weight of the blocks that waited. They may fill a page that is counted
 *            here as partly filled, so all of them that there may be are taken to be in it.
 */
#ifndef HWI_TUNE_CLASS_ROW_H
#define HWI_TUNE_CLASS_ROW_H

#include "tune/classes/class_problem.h"

/* What an owner has of a class. */
struct hwi_class_share {
  uint32_t row_id; /* for which the rest is; 0: none */
  bool is_used;
  double peak_blocks;
  uint64_t most_blocks; /* of one size */
};

static inline void hwi_class_share_add(struct hwi_class_share *share, const struct hwi_class_use *use)
{
  share->is_used = true;
  share->peak_blocks += (double)use->peak_blocks;
  if (share->most_blocks < use->most_blocks)
    share->most_blocks = use->most_blocks;
}

/* Returns the memory of a share at the peak that is in no block: its page is half filled, or was full before. */
double hwi_class_part_bytes(const struct hwi_class_share *share, size_t class_bytes);

struct hwi_class_row {
  const struct hwi_class_problem *problem;
  uint32_t id;                             /* another one for each row that was begun */
  unsigned number;                         /* the class's granules */
  unsigned after;                          /* it is for the sizes above this */
  unsigned level_count;                    /* of which the class is a multiple */
  struct hwi_class_share *shares, *filled; /* by owner; the second with all that may have waited */
  struct hwi_class_share *saved;           /* for hwi_class_row_waited */
  size_t use_count;                        /* uses of at most `after` granules */
  double blocks, parts, least_parts;       /* so far */
};

/* The problem must outlive the row. Returns false if there is no memory; then there is nothing to release. */
bool hwi_class_row_init(struct hwi_class_row *row, const struct hwi_class_problem *problem);
void hwi_class_row_release(struct hwi_class_row *row);

/* Begins the row of another class. */
void hwi_class_row_begin(struct hwi_class_row *row, unsigned number);

/* The class is for one size more. */
void hwi_class_row_widen(struct hwi_class_row *row);

static inline double hwi_class_row_cost(const struct hwi_class_row *row)
{
  return row->blocks * row->problem->block_bytes[row->number] + row->parts;
}

static inline double hwi_class_row_least_cost(const struct hwi_class_row *row)
{
  return row->blocks * row->problem->block_bytes[row->number] + row->least_parts;
}

/* Returns by how much the cost grows with the blocks that waited: of each level of which the class is a multiple, the uses from
 * `waiting[level]` on whose size is at most `after`. */
double hwi_class_row_waited(struct hwi_class_row *row, const size_t *waiting);

#endif
