/* program_names.c - what programs were run as, where that is not what their files are called */
#include "profile/program_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/command_name.h"

/* What a module was run as so far. */
struct name {
  const char *text; /* in an image's command; NULL: it was not */
  size_t bytes;
  bool is_one_of_several;
};

static void take_name(struct name *name, const char *command)
{
  size_t bytes;
  const char *text = hwi_command_name(command, &bytes);
  if (!bytes)
    return;
  if (name->text && (name->bytes != bytes || memcmp(name->text, text, bytes) != 0))
    name->is_one_of_several = true;
  name->text = text;
  name->bytes = bytes;
}

static bool set_name(struct hwi_profile_module *module, const struct name *name)
{
  const char *file = hwi_base_name(module->path);
  bool is_files = strlen(file) == name->bytes && name->text && memcmp(file, name->text, name->bytes) == 0;
  if (!name->text || name->is_one_of_several || is_files)
    return true;
  module->run_as = strndup(name->text, name->bytes);
  return module->run_as != NULL;
}

bool hwi_program_names_find(struct hwi_frames *frames, const struct hwi_image *images, size_t count)
{
  bool done = true;
  for (size_t i = 1; i < frames->module_count && done; i++) {
    struct hwi_profile_module *module = &frames->modules[i];
    struct name name = {0};
    for (size_t k = 0; k < count; k++)
      if (images[k].counted && strcmp(images[k].info->exe, module->path) == 0)
        take_name(&name, images[k].info->command);
    done = set_name(module, &name);
  }
  return done;
}
