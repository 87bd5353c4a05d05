/* library.c - shared libraries that only some commands need, loaded when one of them does */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/system_words.h"

int hwi_library_load(const struct hwi_library *library, void *pointers, struct hwi_error *error)
{
  void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return hwi_library_missing(library, dlerror(), error);
  for (size_t i = 0; i < library->symbol_count; i++) {
    void *found = dlsym(handle, library->symbols[i].name);
    if (!found)
      return hwi_error_set(error, HW_ERR_USAGE, "%s has no %s: it is older than %s", library->file,
                           library->symbols[i].name, library->version);
    memcpy((char *)pointers + library->symbols[i].off, &found, sizeof found);
  }
  return 0;
}
