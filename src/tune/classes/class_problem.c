/* class_problem.c - sorts a demand by alignment, and adds the blocks of sizes that were not recorded */
#include "tune/classes/class_problem.h"

#include <stdlib.h>

#include "allocators/heap/classes.h"

/* Share of all bytes that `other` blocks have, as many for each power of two of sizes. */
#define OTHER_SHARE 0.03

double hwi_class_block_bytes(size_t class_bytes)
{
  const size_t page = hwi_class_slices(class_bytes) * HWI_SLICE_BYTES;
  return (double)page / (double)(page / class_bytes);
}

static void find_other_blocks(struct hwi_class_problem *problem)
{
  const struct hwi_class_demand *demand = problem->demand;
  double bytes = 0, harmonic = 0;
  for (size_t i = 0; i < demand->use_count; i++) {
    const struct hwi_class_use *use = &demand->uses[i];
    bytes += hwi_class_weight(use) * (double)(use->granules * HWI_CLASS_GRANULE_BYTES);
  }
  for (unsigned i = 1; i <= demand->granules; i++)
    harmonic += 1.0 / i;
  double other = (bytes > 0 ? OTHER_SHARE * bytes : 1) / (harmonic * HWI_CLASS_GRANULE_BYTES);
  for (unsigned i = 1; i <= demand->granules; i++)
    problem->other[i] = other / ((double)i * i);
}

static bool init_level(struct hwi_class_level *level, const struct hwi_class_demand *demand, unsigned align_log2)
{
  *level = (struct hwi_class_level){.step = 1u << align_log2};
  level->uses = calloc(demand->use_count + 1, sizeof *level->uses);
  level->weights = calloc(demand->use_count + 1, sizeof *level->weights);
  level->least_weights = calloc(demand->use_count + 1, sizeof *level->least_weights);
  if (!level->uses || !level->weights || !level->least_weights)
    return false;
  for (size_t i = 0; i < demand->use_count; i++) {
    const struct hwi_class_use *use = &demand->uses[i];
    if (use->align_log2 != align_log2)
      continue;
    const size_t count = level->use_count++;
    level->uses[count] = use;
    level->weights[count + 1] = level->weights[count] + hwi_class_weight(use);
    level->least_weights[count + 1] = level->least_weights[count] + use->mean_blocks + (double)use->most_blocks;
  }
  for (unsigned i = 1, count = 0; i <= demand->granules; i++) {
    while (count < level->use_count && level->uses[count]->granules <= i)
      count++;
    level->until[i] = count;
  }
  return true;
}

static bool init_levels(struct hwi_class_problem *problem)
{
  const struct hwi_class_demand *demand = problem->demand;
  unsigned logs = 0; /* a bit for each alignment */
  for (size_t i = 0; i < demand->use_count; i++)
    logs |= 1u << demand->uses[i].align_log2;
  for (unsigned log2 = 1; logs >> log2; log2++)
    if (logs >> log2 & 1 && !init_level(&problem->levels[problem->level_count++], demand, log2))
      return false;
  return true;
}

double hwi_class_waiting_cost(const struct hwi_class_problem *problem, unsigned number, const size_t *waiting)
{
  double cost = 0;
  for (unsigned i = hwi_class_level_count(problem, number); i < problem->level_count; i++) {
    const struct hwi_class_level *level = &problem->levels[i];
    const unsigned next = (number / level->step + 1) * level->step;
    if (waiting[i] < level->until[number])
      cost += (level->weights[level->until[number]] - level->weights[waiting[i]]) * problem->block_bytes[next];
  }
  return cost;
}

bool hwi_class_problem_init(struct hwi_class_problem *problem, const struct hwi_class_demand *demand)
{
  *problem = (struct hwi_class_problem){.demand = demand};
  size_t count = 0;
  for (unsigned i = 1; i <= demand->granules; i++) {
    while (count < demand->use_count && demand->uses[count].granules <= i)
      count++;
    problem->until[i] = count;
    problem->block_bytes[i] = hwi_class_block_bytes((size_t)i * HWI_CLASS_GRANULE_BYTES);
  }
  find_other_blocks(problem);
  bool done = init_levels(problem);
  if (!done)
    hwi_class_problem_release(problem);
  return done;
}

void hwi_class_problem_release(struct hwi_class_problem *problem)
{
  for (unsigned i = 0; i < problem->level_count; i++) {
    free(problem->levels[i].uses);
    free(problem->levels[i].weights);
    free(problem->levels[i].least_weights);
  }
}
