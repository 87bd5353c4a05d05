/* missing_names.c - modules of a run without names */
#include "compare/missing_names.h"

#include <stdlib.h>

int hwi_missing_names_init(struct hwi_missing_names *missing, const struct hwi_named_frames *frames,
                           struct hwi_error *error)
{
  const struct hwi_profile *profile = frames->profile;
  *missing = (struct hwi_missing_names){.reasons = calloc((size_t)profile->module_count + 1, sizeof *missing->reasons)};
  bool *asked = calloc((size_t)profile->module_count + 1, sizeof *asked);
  if (!missing->reasons || !asked) {
    free(asked);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u modules", profile->module_count);
  }
  for (uint32_t i = 1; i < profile->frame_count; i++) {
    uint32_t module = profile->frames[i].module;
    if (module == 0 || asked[module] || profile->frames[i].cut || hwi_module_path(profile, module)[0] != '/')
      continue; /* [vdso] has no file and needs none */
    const struct hwi_symbol *symbol;
    hwi_named_frames_find(frames, i, &symbol);
    asked[module] = true;
    if (symbol->reason != HWI_SYMBOL_CHANGED && symbol->reason != HWI_SYMBOL_NO_FILE &&
        symbol->reason != HWI_SYMBOL_NO_BUILD_ID)
      continue;
    missing->reasons[module] = symbol->reason;
    missing->first = missing->count++ == 0 ? module : missing->first;
  }
  free(asked);
  return HW_OK;
}

void hwi_missing_names_release(struct hwi_missing_names *missing)
{
  free(missing->reasons);
  *missing = (struct hwi_missing_names){0};
}
