/* sites.c - the places in code that the chosen stacks go through */
#include "export/sites.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trace/grow.h"

/* Returns the site's number, or 0 if there is no memory. */
static uint32_t find_site(struct hwi_sites *sites, uint32_t at)
{
  const struct hwi_frame *frame = &sites->frames->profile->frames[at];
  uint32_t number = hwi_numbering_of(&sites->keys, frame->address, (uint64_t)frame->module << 1 | frame->cut);
  if (number == 0 || number <= sites->count)
    return number;
  if (!hwi_grow((void **)&sites->items, &sites->capacity, (size_t)number + 1, sizeof *sites->items))
    return 0;
  struct hwi_site *site = &sites->items[number];
  *site = (struct hwi_site){.address = frame->address, .module = frame->module, .cut = frame->cut};
  site->symbol_count = hwi_named_frames_find(sites->frames, at, &site->symbols);
  sites->count = number;
  return number;
}

int hwi_sites_init(struct hwi_sites *sites, const struct hwi_export *export, struct hwi_error *error)
{
  const struct hwi_profile *profile = export->profile;
  *sites = (struct hwi_sites){.frames = &export->frames};
  sites->of_frame = calloc((size_t)profile->frame_count + 1, sizeof *sites->of_frame);
  if (!sites->of_frame)
    return hwi_export_no_memory(error);
  for (uint32_t i = 0; i < export->selection.stack_count; i++) {
    uint32_t at = profile->stacks[export->selection.stacks[i]].frame;
    for (; at != 0 && sites->of_frame[at] == 0; at = profile->frames[at].caller) {
      sites->of_frame[at] = find_site(sites, at);
      if (sites->of_frame[at] == 0)
        return hwi_export_no_memory(error);
    }
  }
  return HW_OK;
}

void hwi_sites_release(struct hwi_sites *sites)
{
  free(sites->items);
  free(sites->of_frame);
  free(sites->path);
  hwi_numbering_release(&sites->keys);
  *sites = (struct hwi_sites){0};
}

int hwi_sites_load(struct hwi_sites *sites, uint32_t stack, struct hwi_error *error)
{
  const struct hwi_profile *profile = sites->frames->profile;
  sites->path_count = 0;
  for (uint32_t at = profile->stacks[stack].frame; at != 0; at = profile->frames[at].caller) {
    if (!hwi_grow((void **)&sites->path, &sites->path_capacity, (size_t)sites->path_count + 1, sizeof *sites->path))
      return hwi_export_no_memory(error);
    sites->path[sites->path_count++] = at;
  }
  return HW_OK;
}

const char *hwi_site_function(const struct hwi_sites *sites, const struct hwi_site *site, uint32_t symbol,
                              struct hwi_line *line)
{
  hwi_line_clear(line);
  if (site->cut && site->address == 0) {
    hwi_line_puts(line, "[frames left out]");
  } else if (site->cut) {
    hwi_line_printf(line, "[%" PRIu64 " frames left out]", site->address);
  } else if (site->symbols[symbol].function) {
    return site->symbols[symbol].function;
  } else if (site->module == 0) {
    hwi_line_printf(line, "?? 0x%" PRIx64, site->address);
  } else {
    uint64_t start = site->symbols[symbol].start;
    hwi_line_printf(line, "?? %s+0x%" PRIx64, hwi_module_name(sites->frames->profile, site->module),
                    start != 0 ? start : site->address - sites->frames->profile->modules[site->module].bias);
  }
  return hwi_line_text(line);
}

const char *hwi_site_file(const struct hwi_site *site, uint32_t symbol)
{
  const char *file = site->cut ? NULL : site->symbols[symbol].file;
  return file ? file : "";
}

uint32_t hwi_site_line(const struct hwi_site *site, uint32_t symbol)
{
  return site->cut ? 0 : site->symbols[symbol].line;
}
