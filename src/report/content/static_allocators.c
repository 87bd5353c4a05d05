/* static_allocators.c - allocators that programs of the run have linked in, whose calls the recorder cannot see
 *
 * The file at an executable's path may have been replaced. It is the one that ran if it has the recorded build ID.
 * The recording may have no build ID (the linker made none, or no stack has a frame in the executable, as when none
 * of its allocations were seen): then the file must not have changed since the process began.
 */
#include "report/content/static_allocators.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_unchanged_since(const char *path, uint64_t realtime_ns)
{
  enum { NS_PER_S = 1000000000 };
  struct stat about;
  if (stat(path, &about) != 0 || about.st_ctim.tv_sec < 0)
    return false;
  return (uint64_t)about.st_ctim.tv_sec * NS_PER_S + (uint64_t)about.st_ctim.tv_nsec <= realtime_ns;
}

/* Returns the module at `path`; NULL if there is none, or if there are several because the file was replaced during
 * the run. */
static const struct hwi_profile_module *module_at(const struct hwi_profile *profile, const char *path)
{
  const struct hwi_profile_module *found = NULL;
  for (uint32_t i = 1; i < profile->module_count; i++) {
    if (strcmp(profile->modules[i].path, path) != 0)
      continue;
    if (found)
      return NULL;
    found = &profile->modules[i];
  }
  return found;
}

static const char *look_up(const struct hwi_report *report, const struct hwi_trace_info *info)
{
  const struct hwi_profile_module *known = module_at(report->profile, info->exe);
  struct hwi_symbol_module program = {.path = info->exe};
  if (known && known->build_id_bytes > 0)
    program.build_id = known->build_id, program.build_id_bytes = known->build_id_bytes;
  else if (!is_unchanged_since(info->exe, info->header.start_realtime_ns))
    return NULL;
  return report->names.static_allocator(&program);
}

/* A build may run one program a thousand times: its file is read once. */
static const char *known_of(const struct hwi_static_allocators *allocators, const struct hwi_profile *profile,
                            uint32_t image)
{
  for (uint32_t i = 0; i < image; i++) {
    if (allocators->texts[i] && strcmp(profile->images[i].info->exe, profile->images[image].info->exe) == 0)
      return allocators->texts[i];
  }
  return NULL;
}

int hwi_static_allocators_init(struct hwi_static_allocators *allocators, const struct hwi_report *report,
                               struct hwi_error *error)
{
  static const char nothing[] = "";
  const struct hwi_profile *profile = report->profile;
  allocators->texts = calloc(profile->image_count + 1, sizeof *allocators->texts);
  if (!allocators->texts)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to look into the programs of the run");
  for (uint32_t i = 0; i < profile->image_count; i++) {
    if (!profile->images[i].counted)
      continue;
    const char *text = known_of(allocators, profile, i);
    if (!text)
      text = look_up(report, profile->images[i].info);
    allocators->texts[i] = text ? text : nothing;
  }
  for (uint32_t i = 0; i < profile->image_count; i++) {
    if (allocators->texts[i] == nothing)
      allocators->texts[i] = NULL;
  }
  return HW_OK;
}

void hwi_static_allocators_release(struct hwi_static_allocators *allocators)
{
  free(allocators->texts);
  *allocators = (struct hwi_static_allocators){0};
}
