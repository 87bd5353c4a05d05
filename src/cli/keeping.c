/* keeping.c - copies the executed files next to a recording */
#include "cli/keeping.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "profile/profile.h"
#include "report/words/number.h"
#include "symbols/keep.h"

/* [vdso] and similar modules are not files. */
static bool is_file(const struct hwi_profile_module *module)
{
  return module->path && module->path[0] == '/';
}

static int keep_all(struct hwi_kept_files *files, const char *folder, const struct hwi_profile *profile,
                    struct hwi_error *error)
{
  int status = HW_OK;
  for (uint32_t i = 1; i < profile->module_count && status == HW_OK; i++) {
    const struct hwi_profile_module *module = &profile->modules[i];
    const struct hwi_symbol_module wanted = {.path = module->path,
                                             .build_id = module->build_id,
                                             .build_id_bytes = module->build_id_bytes,
                                             .bias = module->bias};
    if (is_file(module))
      status = hwi_symbols_keep(files, folder, &wanted, error);
  }
  return status;
}

static void say(const struct hwi_kept_files *files, const char *folder)
{
  hwi_warn("files: %s (%u, %s more than before)", folder, files->kept, hwi_bytes_text(files->copied_bytes).text);
  if (files->nameless > 0)
    hwi_warn(
        "%u file%s not kept: without a build-id (ld --build-id) a copy could not be verified to be the file that ran",
        files->nameless, files->nameless > 1 ? "s were" : " was");
  if (files->not_found > 0)
    hwi_warn("%u file%s not kept: gone, or replaced since the program ran", files->not_found,
             files->not_found > 1 ? "s were" : " was");
}

void hwi_keep_files(const char *path, bool quiet)
{
  struct hwi_kept_files files = {0};
  struct hwi_error error = {0};
  struct hwi_profile *profile = NULL;
  const struct hwi_profile_options all = {.images = HWI_IMAGES_ALL};
  char *folder = hwi_kept_files_folder(path);
  int status = folder ? hwi_profile_create(&profile, path, &all, &error)
                      : hwi_error_set(&error, HW_ERR_MEMORY, "no memory to keep the files that ran");
  if (status == HW_OK) {
    status = keep_all(&files, folder, profile, &error);
    hwi_profile_destroy(profile);
  }
  if (status < 0)
    hwi_warn("%s; the trace is complete", error.text);
  else if (!quiet)
    say(&files, folder);
  free(folder);
}
