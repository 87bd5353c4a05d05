/* followed_run.c - a run that goes on, as an analyst of it needs it */
#include "cli/followed_run.h"

#include "cli/ranking_options.h"
#include "live/resident.h"
#include "symbols/symbols.h"

int hwi_followed_run_init(struct hwi_followed_run *followed, const struct hwi_reading *reading, const char *path,
                          struct hwi_error *error)
{
  static const struct hwi_ranking usual = HWI_RANKING_DEFAULTS;
  *followed = (struct hwi_followed_run){.reading = *reading, .source = {&followed->reading, path}};
  followed->reading.children = reading->pid == 0;
  if (hwi_reading_symbols_of(reading, path, &followed->symbols) != 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "cannot look up names of functions");
  followed->run = (struct hwi_live_run){
      .path = path,
      .options = {.images = reading->pid ? HWI_IMAGES_PID : HWI_IMAGES_ALL,
                  .pid = (uint32_t)reading->pid,
                  .heap = reading->heap,
                  .history = true},
      .report = hwi_ranking_options(&usual),
      .names = hwi_reading_names(followed->symbols),
      .replayer = hwi_reading_replayer(&followed->source),
      .is_usual = !reading->pid && !reading->heap && reading->debug_dirs.count == 0,
  };
  return 0;
}

void hwi_followed_run_release(struct hwi_followed_run *followed)
{
  hwi_symbols_destroy(followed->symbols);
}

void hwi_followed_run_be_resident(const char *name)
{
  static const struct hwi_reading usual = {0};
  struct hwi_followed_run followed;
  if (hwi_followed_run_init(&followed, &usual, name, NULL) < 0)
    return;
  hwi_resident_be(&followed.run);
  hwi_followed_run_release(&followed);
}
