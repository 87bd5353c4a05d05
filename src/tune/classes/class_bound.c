/* class_bound.c - finds the bound, from the largest class down
 *
 * The cost of a class depends on the sizes that it is for: those above the next smaller class, up to its own. So the best n
 * classes for the sizes above i are some class j > i, and the best n - 1 classes for the sizes above j. From the largest j
 * down, the costs of all i are computed once, and then serve for every n. All 2,048 sizes may be classes: a class between
 * two recorded sizes costs no less than the smaller one, but alignments may want it, and `other` blocks have every size.
 *
 * Aligned blocks of these sizes of which j is no multiple wait for a larger class; which, is not known here. They are taken
 * to weigh what they do in the next multiple of their alignment, whether that is a class or not. In a class, those that
 * waited may fill a page that is counted as partly filled: all that may be there are taken to be (class_row.h), unless the
 * class below has all the alignments of this one, so that nothing waited. All of this only makes the costs less.
 */
#include "tune/classes/class_bound.h"

#include <math.h>

enum { GRANULES_MAX = HWI_CLASS_GRANULES, COUNT_MAX = HWI_CLASS_COUNT_MAX };

/* Sets the least costs of a class: for all sizes above i, and up to it. */
static void find_costs(double costs[GRANULES_MAX], struct hwi_class_row *row, unsigned number)
{
  const struct hwi_class_problem *problem = row->problem;
  hwi_class_row_begin(row, number);
  const unsigned step = row->level_count ? problem->levels[row->level_count - 1].step : 1;
  while (row->after > 0) {
    hwi_class_row_widen(row);
    size_t waiting[HWI_CLASS_LEVELS];
    for (unsigned i = 0; i < problem->level_count; i++)
      waiting[i] = problem->levels[i].until[row->after];
    costs[row->after] = (row->after % step ? hwi_class_row_least_cost(row) : hwi_class_row_cost(row)) +
                        hwi_class_waiting_cost(problem, number, waiting);
  }
}

/* Adds the class to the tables of `count` classes. */
static void add_class(struct hwi_class_bound *bound, const double costs[GRANULES_MAX], unsigned number, unsigned count)
{
  const double rest = bound->costs[count - 1][number];
  if (isinf(rest))
    return;
  for (unsigned i = 0; i < number; i++)
    if (costs[i] + rest < bound->costs[count][i]) {
      bound->costs[count][i] = costs[i] + rest;
      bound->next[count][i] = (uint16_t)number;
    }
}

void hwi_class_bound_find(struct hwi_class_bound *bound, struct hwi_class_row *row)
{
  const unsigned granules = row->problem->demand->granules;
  double costs[GRANULES_MAX];
  for (unsigned count = 0; count <= COUNT_MAX; count++)
    for (unsigned i = 0; i <= granules; i++)
      bound->costs[count][i] = count == 0 && i == granules ? 0 : INFINITY;
  for (unsigned number = granules; number > 0; number--) {
    find_costs(costs, row, number);
    for (unsigned count = 1; count <= COUNT_MAX; count++)
      add_class(bound, costs, number, count);
  }
}

void hwi_class_bound_table(const struct hwi_class_bound *bound, unsigned count, struct hwi_class_table *table)
{
  unsigned number = 0;
  table->count = isinf(bound->costs[count][0]) ? 0 : count;
  for (unsigned i = 0; i < table->count; i++) {
    number = bound->next[count - i][number];
    table->bytes[i] = (size_t)number * HWI_CLASS_GRANULE_BYTES;
  }
}
