/* copied_run.c - where the traces of a copied run go: NAME, and NAME.children with those of its children */
#include "launch/copied_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "base/suffix.h"
#include "platform/os.h"

static bool is_below_children(const char *path)
{
  const char *slash = strrchr(path, '/');
  return hwi_has_suffix(path, slash ? (size_t)(slash - path) : 0, ".children");
}

static int make_folder(struct hwi_copied_run *copied, struct hwi_error *error)
{
  char *folder = NULL;
  if (asprintf(&folder, "%s.children", copied->name) < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  int status = 0, made = hwi_os_make_dir(folder);
  if (made && made != -ENOTDIR)
    status = hwi_error_set(error, HW_ERR_IO, "cannot make the folder %s: %s", folder, strerror(-made));
  else if (made) /* nothing is written through a symbolic link */
    status = hwi_error_set(error, HW_ERR_EXISTS, "%s exists and is no folder; remove it, or name another file", folder);
  free(folder);
  copied->has_folder = status == 0;
  return status;
}

int hwi_copied_run_place(struct hwi_copied_run *copied, const char *from, char **path, struct hwi_error *error)
{
  const bool is_child = !copied->is_single && is_below_children(from);
  *path = NULL;
  copied->has_name |= !is_child;
  int status = is_child && !copied->has_folder ? make_folder(copied, error) : 0;
  if (status < 0)
    return status;
  const int made = is_child ? asprintf(path, "%s.children/%s", copied->name, hwi_base_name(from))
                            : asprintf(path, "%s", copied->name);
  if (made >= 0)
    return 0;
  *path = NULL;
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
}
