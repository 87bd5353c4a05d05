/* classes.c - chooses the number of size classes, and compares their table with others */
#include "tune/classes/classes.h"

#include <stdlib.h>
#include <string.h>

#include "allocators/heap/classes.h"
#include "report/content/evidence.h"
#include "tune/tune_text.h"

static int no_memory(struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to find the size classes");
}

static size_t find_best_count(const struct hwi_class_optimum *optimum)
{
  size_t best = 1;
  for (size_t i = 2; i <= HWI_CLASS_COUNT_MAX; i++)
    if (optimum->costs[i] < optimum->costs[best])
      best = i;
  return best;
}

static size_t choose_count(const struct hwi_class_optimum *optimum, size_t best)
{
  size_t count = 1;
  while (optimum->costs[count] > optimum->costs[best] * (1 + HWI_CLASSES_TOLERANCE))
    count++;
  return count;
}

static void set_default(struct hwi_class_table *table)
{
  memcpy(table->bytes, hwi_default_classes, sizeof hwi_default_classes);
  table->count = HWI_DEFAULT_CLASS_COUNT;
}

static void set_powers(struct hwi_class_table *table)
{
  for (size_t bytes = HW_HEAP_ALIGN; bytes <= HW_HEAP_LARGEST_CLASS_BYTES; bytes *= 2)
    table->bytes[table->count++] = bytes;
}

static bool find_costs(struct hwi_class_needs *needs, const struct hwi_class_table *tables)
{
  bool done = true;
  for (size_t i = 0; i < HWI_CLASS_TABLES; i++)
    done = done && hwi_class_cost_of(&needs->costs[i], &needs->recorded.demand, &tables[i]);
  return done;
}

static bool find_tables(struct hwi_classes *classes, size_t count)
{
  struct hwi_class_optimum *optimum = malloc(sizeof *optimum);
  bool done = optimum && hwi_class_optimize(optimum, &classes->needs.recorded.demand);
  if (done) {
    classes->best_count = find_best_count(optimum);
    classes->is_chosen = count == HWI_CLASSES_CHOSEN;
    if (classes->is_chosen)
      count = choose_count(optimum, classes->best_count);
    classes->tables[HWI_CLASSES_TUNED] = optimum->tables[count];
    set_default(&classes->tables[HWI_CLASSES_DEFAULT]);
    set_powers(&classes->tables[HWI_CLASSES_POWERS]);
    classes->objective = optimum->costs[count];
    classes->bound = optimum->bounds[count];
    classes->best_objective = optimum->costs[classes->best_count];
    done = find_costs(&classes->needs, classes->tables);
  }
  free(optimum);
  return done;
}

/* Returns 0, or a negative status that is described in `error`; then there is nothing to release. */
static int read_demand(struct hwi_recorded_demand *recorded, const struct hwi_profile *profile,
                       const struct hwi_replayer *replayer, struct hwi_error *error)
{
  int status = hwi_need_all_events(profile, "a table of size classes", error);
  if (status == 0)
    status = hwi_recorded_demand_init(recorded, profile, replayer, error);
  if (status == 0 && recorded->request_count == 0) {
    hwi_recorded_demand_release(recorded);
    status =
        hwi_error_set(error, HW_ERR_LIMIT, "the recording has no block of at most 32 KiB%s: there is nothing to tune",
                      hwi_tune_is_whole(profile) ? "" : ", and does not hold the whole run");
  }
  return status;
}

int hwi_classes_init(struct hwi_classes *classes, const struct hwi_profile *profile, size_t count,
                     const struct hwi_replayer *replayer, struct hwi_error *error)
{
  *classes = (struct hwi_classes){.profile = profile};
  int status = read_demand(&classes->needs.recorded, profile, replayer, error);
  if (status < 0)
    return status;
  if (!find_tables(classes, count)) {
    hwi_classes_release(classes);
    return no_memory(error);
  }
  return HW_OK;
}

int hwi_classes_check(struct hwi_classes *classes, const char *name, const struct hwi_profile *profile,
                      const struct hwi_replayer *replayer, struct hwi_error *error)
{
  struct hwi_error why;
  int status = read_demand(&classes->check.recorded, profile, replayer, &why);
  if (status < 0)
    return hwi_error_set(error, status, "%s: %s", name, why.text);
  if (!find_costs(&classes->check, classes->tables))
    return no_memory(error);
  classes->check_name = name;
  classes->check_sample_bytes = profile->sample_bytes;
  classes->check_is_whole = hwi_tune_is_whole(profile);
  return HW_OK;
}

void hwi_classes_release(struct hwi_classes *classes)
{
  hwi_recorded_demand_release(&classes->needs.recorded);
  hwi_recorded_demand_release(&classes->check.recorded);
}
