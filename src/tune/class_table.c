/* class_table.c - finds the size classes of a heap that need least memory
 *
 * The cost of a class depends on the sizes that it is for, and on nothing else: those above the next smaller class, up to
 * its own. So the best k classes up to size j, the last of them j itself, are the best k - 1 classes up to some i < j, and
 * the class j for what is between. For each j, the costs of all i are computed once, from the largest i down, and then
 * serve for every k. A class that is for more sizes never costs less, so that the search for i ends where the class alone
 * costs more than the best that was found. All 2,048 sizes may be classes: a class between two recorded sizes costs more than the smaller one,
 * but alignments may want it, and `other` blocks have every size.
 */
#include "tune/class_table.h"

#include <math.h>
#include <stdlib.h>

#include "allocators/heap/classes.h"
#include "platform/os.h"

/* Share of all bytes that `other` blocks have, as many for each power of two of sizes. */
#define OTHER_SHARE 0.03

enum { GRANULES_MAX = HWI_CLASS_GRANULES, COUNT_MAX = HWI_CLASS_COUNT_MAX, PART_BYTES = HWI_OS_PAGE_BYTES / 2 };

static size_t page_bytes(size_t class_bytes)
{
  return hwi_class_slices(class_bytes) * HWI_SLICE_BYTES;
}

double hwi_class_block_bytes(size_t class_bytes)
{
  size_t page = page_bytes(class_bytes);
  return (double)page / (double)(page / class_bytes);
}

/* How often a use counts. */
static double weight_of(const struct hwi_class_use *use)
{
  return (double)use->peak_blocks + use->mean_blocks + (double)use->most_blocks;
}

static bool fits(const struct hwi_class_use *use, size_t granules)
{
  return granules % ((size_t)1 << use->align_log2) == 0;
}

/* `blocks` by granules, from 1. */
static void find_other_blocks(double blocks[GRANULES_MAX + 1], const struct hwi_class_demand *demand)
{
  double bytes = 0, harmonic = 0;
  for (size_t i = 0; i < demand->use_count; i++) {
    const struct hwi_class_use *use = &demand->uses[i];
    bytes += weight_of(use) * (double)(use->granules * HWI_CLASS_GRANULE_BYTES);
  }
  for (unsigned i = 1; i <= demand->granules; i++)
    harmonic += 1.0 / i;
  double other = (bytes > 0 ? OTHER_SHARE * bytes : 1) / (harmonic * HWI_CLASS_GRANULE_BYTES);
  for (unsigned i = 1; i <= demand->granules; i++)
    blocks[i] = other / ((double)i * i);
}

/* --- the search --- */

struct search {
  const struct hwi_class_demand *demand;
  uint32_t *seen;                 /* by owner: the class that it uses as far as was looked */
  double other[GRANULES_MAX + 1]; /* by granules */
  double row[GRANULES_MAX];       /* of the class j: by i */
  double best[COUNT_MAX + 1][GRANULES_MAX + 1];
  uint16_t from[COUNT_MAX + 1][GRANULES_MAX + 1];
};

/* Sets the costs of a class of `number` granules for all that it may be for. `last` is the number of uses up to it. */
static void find_row(struct search *search, unsigned number, size_t last)
{
  double block_bytes = hwi_class_block_bytes((size_t)number * HWI_CLASS_GRANULE_BYTES);
  double blocks = 0, parts = 0;
  bool is_possible = true;
  for (unsigned i = number; i > 0; i--) {
    blocks += search->other[i];
    for (; last > 0 && search->demand->uses[last - 1].granules == i; last--) {
      const struct hwi_class_use *use = &search->demand->uses[last - 1];
      is_possible &= fits(use, number);
      blocks += weight_of(use);
      parts += search->seen[use->owner] == number ? 0 : PART_BYTES;
      search->seen[use->owner] = number;
    }
    search->row[i - 1] = is_possible ? blocks * block_bytes + parts : INFINITY;
  }
}

static void find_best(struct search *search, unsigned number)
{
  for (unsigned count = 1; count <= COUNT_MAX; count++) {
    const double *before = search->best[count - 1];
    double found = INFINITY;
    unsigned from = 0;
    for (unsigned i = number; i-- >= count && search->row[i] < found;) { /* the row grows from here on */
      double cost = before[i] + search->row[i];
      if (cost < found) {
        found = cost;
        from = i;
      }
    }
    search->best[count][number] = found;
    search->from[count][number] = (uint16_t)from;
  }
}

static void take_table(struct hwi_class_table *table, const struct search *search, unsigned count)
{
  unsigned number = search->demand->granules;
  table->count = isinf(search->best[count][number]) ? 0 : count;
  for (size_t i = table->count; i > 0; i--) {
    table->bytes[i - 1] = (size_t)number * HWI_CLASS_GRANULE_BYTES;
    number = search->from[i][number];
  }
}

static void run_search(struct search *search)
{
  const struct hwi_class_demand *demand = search->demand;
  size_t last = 0;
  find_other_blocks(search->other, demand);
  for (unsigned i = 0; i <= demand->granules; i++)
    search->best[0][i] = i == 0 ? 0 : INFINITY;
  for (unsigned count = 1; count <= COUNT_MAX; count++)
    search->best[count][0] = INFINITY;
  for (unsigned number = 1; number <= demand->granules; number++) {
    while (last < demand->use_count && demand->uses[last].granules <= number)
      last++;
    find_row(search, number, last);
    find_best(search, number);
  }
}

bool hwi_class_optimize(struct hwi_class_optimum *optimum, const struct hwi_class_demand *demand)
{
  struct search *search = malloc(sizeof *search);
  uint32_t *seen = calloc((size_t)demand->owner_count + 1, sizeof *seen);
  if (search && seen) {
    search->demand = demand;
    search->seen = seen;
    run_search(search);
    for (unsigned count = 1; count <= COUNT_MAX; count++) {
      take_table(&optimum->tables[count], search, count);
      optimum->costs[count] = search->best[count][demand->granules];
    }
  }
  bool done = search && seen;
  free(search);
  free(seen);
  return done;
}

/* --- the cost of a table --- */

/* The index of the class that the heap gives to the blocks of a use. */
static size_t class_of(const struct hwi_class_table *table, const struct hwi_class_use *use)
{
  size_t i = 0;
  while (table->bytes[i] < (size_t)use->granules * HWI_CLASS_GRANULE_BYTES ||
         !fits(use, table->bytes[i] / HWI_CLASS_GRANULE_BYTES))
    i++; /* the last class has room for every use, and is a multiple of every alignment */
  return i;
}

bool hwi_class_cost_of(struct hwi_class_cost *cost, const struct hwi_class_demand *demand,
                       const struct hwi_class_table *table)
{
  bool *is_used = calloc((size_t)demand->owner_count * table->count + 1, sizeof *is_used);
  *cost = (struct hwi_class_cost){0};
  if (!is_used)
    return false;
  for (size_t i = 0; i < demand->use_count; i++) {
    const struct hwi_class_use *use = &demand->uses[i];
    const size_t class = class_of(table, use), share = use->owner * table->count + class;
    const double class_bytes = (double)table->bytes[class], block_bytes = hwi_class_block_bytes(table->bytes[class]);
    cost->block_bytes += (double)use->peak_blocks * class_bytes;
    cost->end_bytes += (double)use->peak_blocks * (block_bytes - class_bytes);
    cost->part_bytes += is_used[share] ? 0 : PART_BYTES;
    cost->mean_bytes += use->mean_blocks * block_bytes;
    cost->most_bytes += (double)use->most_blocks * block_bytes;
    is_used[share] = true;
  }
  free(is_used);
  return true;
}

bool hwi_class_objective(double *sum, const struct hwi_class_demand *demand, const struct hwi_class_table *table)
{
  double other[GRANULES_MAX + 1];
  struct hwi_class_cost cost;
  if (!hwi_class_cost_of(&cost, demand, table))
    return false;
  *sum = hwi_class_peak_bytes(&cost) + cost.mean_bytes + cost.most_bytes;
  find_other_blocks(other, demand);
  size_t class = 0;
  for (unsigned i = 1; i <= demand->granules; i++) {
    class += table->bytes[class] < (size_t)i * HWI_CLASS_GRANULE_BYTES;
    *sum += other[i] * hwi_class_block_bytes(table->bytes[class]);
  }
  return true;
}
