/* class_search.h - finds better tables of size classes than those of the bound, where blocks are aligned */
#ifndef HWI_TUNE_CLASS_SEARCH_H
#define HWI_TUNE_CLASS_SEARCH_H

#include "tune/classes/class_bound.h"

/* The optimum has the tables of the bound and their costs. Replaces those that are not the best, and raises `bounds`. Returns false if there is
 * no memory. */
bool hwi_class_search(struct hwi_class_optimum *optimum, const struct hwi_class_bound *bound,
                      struct hwi_class_row *row);

#endif
