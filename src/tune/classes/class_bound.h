/* class_bound.h - a cost that no table of size classes is below
 *
 * As long as no block is aligned to more than a granule, the bound is the least cost itself.
 */
#ifndef HWI_TUNE_CLASS_BOUND_H
#define HWI_TUNE_CLASS_BOUND_H

#include "tune/classes/class_row.h"

struct hwi_class_bound {
  /* What n classes for all sizes above i cost at least; INFINITY if so many are impossible. Of blocks that wait at i, only
   * what they do not weigh is in it (class_row.h). */
  double costs[HWI_CLASS_COUNT_MAX + 1][HWI_CLASS_GRANULES + 1];
  uint16_t next[HWI_CLASS_COUNT_MAX + 1][HWI_CLASS_GRANULES + 1]; /* the first one of these classes */
};

void hwi_class_bound_find(struct hwi_class_bound *bound, struct hwi_class_row *row);

/* Sets *table to the one that the bound is of, which may cost more. Its count is 0 if there is none. */
void hwi_class_bound_table(const struct hwi_class_bound *bound, unsigned count, struct hwi_class_table *table);

#endif
