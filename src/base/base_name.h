/* base_name.h - the last component of a path */
#ifndef HWI_BASE_BASE_NAME_H
#define HWI_BASE_BASE_NAME_H

#include <string.h>

/* Returns the part of `path` after its last slash, or all of `path` if nothing follows the slash. */
static inline const char *hwi_base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash && slash[1] != '\0' ? slash + 1 : path;
}

#endif
