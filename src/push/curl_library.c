/* curl_library.c - libcurl, loaded when a profile is sent */
#include "push/curl_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define FUNCTION(name)                                     \
  {                                                        \
    offsetof(struct hwi_curl_library, name), "curl_" #name \
  }
static const struct {
  size_t off;
  const char *name;
} functions[] = {
    FUNCTION(global_init),  FUNCTION(global_cleanup), FUNCTION(easy_init),     FUNCTION(easy_setopt),
    FUNCTION(easy_perform), FUNCTION(easy_getinfo),   FUNCTION(easy_strerror), FUNCTION(easy_cleanup),
    FUNCTION(slist_append), FUNCTION(slist_free_all), FUNCTION(mime_init),     FUNCTION(mime_addpart),
    FUNCTION(mime_name),    FUNCTION(mime_filename),  FUNCTION(mime_type),     FUNCTION(mime_data),
    FUNCTION(mime_free),
};
_Static_assert(sizeof(struct hwi_curl_library) == (1 + sizeof functions / sizeof *functions) * sizeof(void *),
               "each function has its line above");

int hwi_curl_library_load(struct hwi_curl_library *curl, struct hwi_error *error)
{
  *curl = (struct hwi_curl_library){.handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL)};
  if (!curl->handle)
    return hwi_error_set(error, HW_ERR_USAGE, "push needs libcurl.so.4, in Debian's package libcurl4: %s", dlerror());
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *found = dlsym(curl->handle, functions[i].name);
    if (!found)
      return hwi_error_set(error, HW_ERR_USAGE, "libcurl.so.4 has no %s: it is older than 7.85", functions[i].name);
    memcpy((char *)curl + functions[i].off, &found, sizeof found);
  }
  return 0;
}
