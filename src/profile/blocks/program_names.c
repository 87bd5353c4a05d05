/* program_names.c - finds under which names programs were run, if these differ from the names of their files */
#include "profile/blocks/program_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/command_name.h"

/* The name under which a module was run so far. */
struct name {
  struct hwi_command_name run_as; /* empty: it was not run so far */
  bool is_one_of_several;
};

static void take_name(struct name *name, const char *command)
{
  struct hwi_command_name run_as = hwi_command_name(command);
  if (run_as.text[0] == '\0')
    return;
  if (name->run_as.text[0] != '\0' && strcmp(name->run_as.text, run_as.text) != 0)
    name->is_one_of_several = true;
  name->run_as = run_as;
}

static bool set_name(struct hwi_profile_module *module, const struct name *name)
{
  const char *run_as = name->run_as.text;
  if (*run_as == '\0' || name->is_one_of_several || strcmp(run_as, hwi_base_name(module->path)) == 0)
    return true;
  module->run_as = strdup(run_as);
  return module->run_as;
}

bool hwi_program_names_find(struct hwi_frames *frames, const struct hwi_image *images, size_t count)
{
  bool done = true;
  for (size_t i = 1; i < frames->module_count && done; i++) {
    struct hwi_profile_module *module = &frames->modules[i];
    struct name name = {.is_one_of_several = false};
    for (size_t k = 0; k < count; k++)
      if (images[k].counted && strcmp(images[k].info->exe, module->path) == 0)
        take_name(&name, images[k].info->command);
    done = set_name(module, &name);
  }
  return done;
}
