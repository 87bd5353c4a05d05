/* fuzz_tune.c - arbitrary bytes as a recording for which a pool is sized, and whose blocks are counted for size classes: the
 * named size was tried, and its parts add up; the counts are possible
 *
 * An input is a trace as in tests/trace/fuzz_reader.c.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fuzz_file.h"
#include "../fuzz_trace.h"
#include "allocators/heap/classes.h"
#include "tune/classes/class_demand.h"
#include "tune/tune.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST};

static int replay(void *path, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  return hwi_profile_events(path, &options, sink, error);
}

static void check(const struct hwi_tuned *tuned)
{
  const struct hwi_pool_figures *figures = &tuned->figures;
  if (figures->refused_count || figures->used_bytes < figures->asked_bytes ||
      figures->extent_bytes < figures->tables_bytes || tuned->pool_bytes < figures->extent_bytes ||
      figures->extent_bytes - figures->tables_bytes < figures->used_bytes)
    abort();
}

static void size_pool(char *path, const struct hwi_profile *profile)
{
  const struct hwi_tune_question question = {
      .profile = profile, .margin_percent = HWI_TUNE_MARGIN_DEFAULT, .replayer = {replay, path}};
  struct hwi_error error = {.text = ""};
  struct hwi_tune tune;
  int status = hwi_tune_init(&tune, &question, &error);
  if (status < 0 && !error.text[0])
    abort(); /* an error without a text */
  if (status < 0)
    return;
  for (size_t i = 0; i < tune.count; i++)
    check(&tune.processes[i]);
  hwi_tune_release(&tune);
}

static bool is_possible(const struct hwi_class_demand *demand, const struct hwi_class_use *use)
{
  return use->owner < demand->owner_count && use->granules >= 1 && use->granules <= HWI_CLASS_GRANULES &&
         use->granules % (1u << use->align_log2) == 0 && use->peak_blocks <= use->most_blocks && use->mean_blocks >= 0;
}

/* The search itself does not depend on what a file may have, and would take most of the time. */
static void count_blocks(char *path, const struct hwi_profile *profile)
{
  const struct hwi_replayer replayer = {replay, path};
  struct hwi_class_table table = {.count = HWI_DEFAULT_CLASS_COUNT};
  struct hwi_class_cost cost;
  struct hwi_error error = {.text = ""};
  struct hwi_recorded_demand recorded;
  int status = hwi_recorded_demand_init(&recorded, profile, &replayer, &error);
  if (status < 0 && !error.text[0])
    abort();
  if (status < 0)
    return;
  for (size_t i = 0; i < recorded.demand.use_count; i++)
    if (!is_possible(&recorded.demand, &recorded.demand.uses[i]))
      abort();
  memcpy(table.bytes, hwi_default_classes, sizeof hwi_default_classes);
  if (!hwi_class_cost_of(&cost, &recorded.demand, &table) ||
      cost.block_bytes * (1 + 1e-9) < (double)recorded.asked_bytes || !(cost.mean_bytes >= 0))
    abort();
  hwi_recorded_demand_release(&recorded);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  struct fuzz_file file = fuzz_file_open();
  fuzz_write_trace(file.fd, bytes, count);
  struct hwi_profile *profile;
  struct hwi_error error = {.text = ""};
  if (hwi_profile_create(&profile, file.path, &options, &error) == 0) {
    size_pool(file.path, profile);
    count_blocks(file.path, profile);
    hwi_profile_destroy(profile);
  }
  close(file.fd);
  return 0;
}
