/* curl_library.c - libcurl, loaded when a profile is sent */
#include "push/curl_library.h"

#include "base/library.h"

#define SYMBOL(name)                                       \
  {                                                        \
    "curl_" #name, offsetof(struct hwi_curl_library, name) \
  }
static const struct hwi_library_symbol symbols[] = {
    SYMBOL(global_init),  SYMBOL(global_cleanup), SYMBOL(easy_init),    SYMBOL(easy_setopt),   SYMBOL(easy_perform),
    SYMBOL(easy_getinfo), SYMBOL(easy_strerror),  SYMBOL(easy_cleanup), SYMBOL(slist_append),  SYMBOL(slist_free_all),
    SYMBOL(mime_init),    SYMBOL(mime_addpart),   SYMBOL(mime_name),    SYMBOL(mime_filename), SYMBOL(mime_type),
    SYMBOL(mime_data),    SYMBOL(mime_free),
};
_Static_assert(sizeof(struct hwi_curl_library) == sizeof symbols / sizeof *symbols * sizeof(void *),
               "each has its line above");

static const struct hwi_library library = {
    .user = "push",
    .file = HWI_CURL_FILE,
    .package = "libcurl4",
    .version = "7.85",
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
};
HWI_LIBRARY_NOTE(HWI_CURL_FILE, "push", "sends profiles to a server");

int hwi_curl_library_load(struct hwi_curl_library *curl, struct hwi_error *error)
{
  return hwi_library_load(&library, curl, error);
}
