/* libraries.c - libraries that are loaded when they are needed (include/dlfcn.h) */
#include <dlfcn.h>
#include <windows.h>

#include "platform/windows/posix/wide.h"

/* From the program's folder or the system's, never from the folder where the user is. */
void *dlopen(const char *file, int flags)
{
  (void)flags;
  wchar_t *wide = hwi_wide_of(file);
  void *handle = wide ? (void *)LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS) : NULL;
  free(wide);
  return handle;
}

void *dlsym(void *handle, const char *name)
{
  return (void *)(uintptr_t)GetProcAddress(handle, name);
}

char *dlerror(void)
{
  static char text[64];
  snprintf(text, sizeof text, "it cannot be loaded (error %lu)", GetLastError());
  return text;
}
