/* loader_name.h - file names of dynamic loaders, which run a program that is named to them */
#ifndef HWI_BASE_LOADER_NAME_H
#define HWI_BASE_LOADER_NAME_H

#include <stdbool.h>
#include <string.h>

/* `name` is without folders. */
static inline bool hwi_is_musls_loader(const char *name)
{
  static const char beginning[] = "ld-musl";
  return strncmp(name, beginning, sizeof beginning - 1) == 0;
}

/* ld.so is a link to glibc's. */
static inline bool hwi_is_loader(const char *name)
{
  static const char beginning[] = "ld-linux";
  return strncmp(name, beginning, sizeof beginning - 1) == 0 || strcmp(name, "ld.so") == 0 || hwi_is_musls_loader(name);
}

#endif
