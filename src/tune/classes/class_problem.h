/* class_problem.h - a demand as the search for size classes reads it: by size, and by alignment
 *
 * level      an alignment of more than a granule that some of the blocks have. A class that is a multiple of one level is a
 *            multiple of all lower ones.
 * weight     how often a block counts (class_table.h): a use's blocks at the peak, at most, and over time.
 */
#ifndef HWI_TUNE_CLASS_PROBLEM_H
#define HWI_TUNE_CLASS_PROBLEM_H

#include "tune/classes/class_table.h"

enum { HWI_CLASS_LEVELS = 12 }; /* more than there are powers of two from 2 to HWI_CLASS_GRANULES */

struct hwi_class_level {
  unsigned step;                     /* the alignment, in granules */
  const struct hwi_class_use **uses; /* ascending by granules */
  size_t use_count;
  size_t until[HWI_CLASS_GRANULES + 1]; /* how many of these have at most so many granules */
  double *weights, *least_weights;      /* the sums of the first n uses; the second without the blocks at the peak */
};

struct hwi_class_problem {
  const struct hwi_class_demand *demand;
  double block_bytes[HWI_CLASS_GRANULES + 1]; /* what a block takes, by its class */
  double other[HWI_CLASS_GRANULES + 1];       /* `other` blocks, by size */
  size_t until[HWI_CLASS_GRANULES + 1];       /* how many uses have at most so many granules */
  unsigned level_count;
  struct hwi_class_level levels[HWI_CLASS_LEVELS]; /* ascending by step */
};

static inline double hwi_class_weight(const struct hwi_class_use *use)
{
  return (double)use->peak_blocks + use->mean_blocks + (double)use->most_blocks;
}

/* Whether blocks of a class of so many granules are aligned as the use wants. */
static inline bool hwi_class_fits(const struct hwi_class_use *use, size_t granules)
{
  return granules % ((size_t)1 << use->align_log2) == 0;
}

/* Returns what a block of a class takes with its part of the page's end. */
double hwi_class_block_bytes(size_t class_bytes);

/* Returns how many levels a class of so many granules is a multiple of: those are the first ones. */
static inline unsigned hwi_class_level_count(const struct hwi_class_problem *problem, unsigned granules)
{
  unsigned count = 0;
  while (count < problem->level_count && granules % problem->levels[count].step == 0)
    count++;
  return count;
}

/* Blocks of each level may have found no class up to one of `number` granules: `waiting[level]` is the level's first use that
 * has none. Returns how much they will weigh at least: each in the next multiple of its alignment. */
double hwi_class_waiting_cost(const struct hwi_class_problem *problem, unsigned number, const size_t *waiting);

/* The demand must outlive the problem. Returns false if there is no memory; then there is nothing to release. */
bool hwi_class_problem_init(struct hwi_class_problem *problem, const struct hwi_class_demand *demand);
void hwi_class_problem_release(struct hwi_class_problem *problem);

#endif
