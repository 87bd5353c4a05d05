/* class_table.c - what a table of size classes costs, and the best tables
 *
 * If no block is aligned to more than 16 bytes, the bound (class_bound.c) is of the best tables. If some are, it may be below
 * what these cost, and the search (class_search.c) goes on from there.
 */
#include "tune/classes/class_table.h"

#include <stdlib.h>
#include <string.h>

#include "tune/classes/class_search.h"

/* --- the cost of a table --- */

/* The index of the class that the heap gives to the blocks of a use. */
static size_t class_of(const struct hwi_class_table *table, const struct hwi_class_use *use)
{
  size_t i = 0;
  while (table->bytes[i] < (size_t)use->granules * HWI_CLASS_GRANULE_BYTES ||
         !hwi_class_fits(use, table->bytes[i] / HWI_CLASS_GRANULE_BYTES))
    i++; /* the last class has room for every use, and is a multiple of every alignment */
  return i;
}

static size_t share_count_of(const struct hwi_class_demand *demand, size_t class_count)
{
  return demand->owner_count * class_count;
}

/* `shares` have room for each owner and class. */
static void find_cost(struct hwi_class_cost *cost, const struct hwi_class_demand *demand,
                      const struct hwi_class_table *table, struct hwi_class_share *shares)
{
  const size_t share_count = share_count_of(demand, table->count);
  *cost = (struct hwi_class_cost){0};
  memset(shares, 0, share_count * sizeof *shares);
  for (size_t i = 0; i < demand->use_count; i++) {
    const struct hwi_class_use *use = &demand->uses[i];
    const size_t class = class_of(table, use);
    const double class_bytes = (double)table->bytes[class], block_bytes = hwi_class_block_bytes(table->bytes[class]);
    cost->block_bytes += (double)use->peak_blocks * class_bytes;
    cost->end_bytes += (double)use->peak_blocks * (block_bytes - class_bytes);
    cost->mean_bytes += use->mean_blocks * block_bytes;
    hwi_class_share_add(&shares[use->owner * table->count + class], use);
  }
  for (size_t i = 0; i < share_count; i++)
    cost->part_bytes += hwi_class_part_bytes(&shares[i], table->bytes[i % table->count]);
}

bool hwi_class_cost_of(struct hwi_class_cost *cost, const struct hwi_class_demand *demand,
                       const struct hwi_class_table *table)
{
  struct hwi_class_share *shares = calloc(share_count_of(demand, table->count) + 1, sizeof *shares);
  *cost = (struct hwi_class_cost){0};
  if (shares)
    find_cost(cost, demand, table, shares);
  free(shares);
  return shares;
}

/* --- the best tables --- */

/* Returns what the header says that a table costs, with `other` blocks. */
static double objective_of(const struct hwi_class_problem *problem, const struct hwi_class_table *table,
                           struct hwi_class_share *shares)
{
  const struct hwi_class_demand *demand = problem->demand;
  struct hwi_class_cost cost;
  find_cost(&cost, demand, table, shares);
  double sum = hwi_class_peak_bytes(&cost) + cost.mean_bytes;
  for (size_t i = 0; i < demand->use_count; i++) {
    const struct hwi_class_use *use = &demand->uses[i];
    sum += (double)use->most_blocks * hwi_class_block_bytes(table->bytes[class_of(table, use)]);
  }
  for (unsigned i = 1, class = 0; i <= demand->granules; i++) {
    class += table->bytes[class] < (size_t)i * HWI_CLASS_GRANULE_BYTES;
    sum += problem->other[i] * hwi_class_block_bytes(table->bytes[class]);
  }
  return sum;
}

/* Sets the tables of the bound. If no block is aligned, these are the best ones. */
static void take_bound(struct hwi_class_optimum *optimum, const struct hwi_class_bound *bound,
                       const struct hwi_class_problem *problem, struct hwi_class_share *shares)
{
  for (unsigned count = 1; count <= HWI_CLASS_COUNT_MAX; count++) {
    struct hwi_class_table *table = &optimum->tables[count];
    hwi_class_bound_table(bound, count, table);
    optimum->costs[count] = optimum->bounds[count] = bound->costs[count][0];
    if (problem->level_count && table->count)
      optimum->costs[count] = objective_of(problem, table, shares);
  }
}

static bool optimize(struct hwi_class_optimum *optimum, struct hwi_class_row *row)
{
  const struct hwi_class_demand *demand = row->problem->demand;
  struct hwi_class_bound *bound = malloc(sizeof *bound);
  struct hwi_class_share *shares = calloc(share_count_of(demand, HWI_CLASS_COUNT_MAX) + 1, sizeof *shares);
  bool done = bound && shares;
  if (done) {
    hwi_class_bound_find(bound, row);
    take_bound(optimum, bound, row->problem, shares);
    done = hwi_class_search(optimum, bound, row);
  }
  free(bound);
  free(shares);
  return done;
}

bool hwi_class_optimize(struct hwi_class_optimum *optimum, const struct hwi_class_demand *demand)
{
  struct hwi_class_problem *problem = malloc(sizeof *problem);
  struct hwi_class_row row;
  bool done = problem && hwi_class_problem_init(problem, demand);
  if (done) {
    done = hwi_class_row_init(&row, problem);
    if (done) {
      done = optimize(optimum, &row);
      hwi_class_row_release(&row);
    }
    hwi_class_problem_release(problem);
  }
  free(problem);
  return done;
}
