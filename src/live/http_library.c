/* http_library.c - libmicrohttpd, loaded when a server starts */
#include "live/http_library.h"

#include "base/library.h"

#define SYMBOL(name)                                      \
  {                                                       \
    "MHD_" #name, offsetof(struct hwi_http_library, name) \
  }
static const struct hwi_library_symbol symbols[] = {
    SYMBOL(start_daemon),
    SYMBOL(stop_daemon),
    SYMBOL(get_daemon_info),
    SYMBOL(get_timeout),
    SYMBOL(run),
    SYMBOL(lookup_connection_value),
    SYMBOL(suspend_connection),
    SYMBOL(resume_connection),
    SYMBOL(get_connection_info),
    SYMBOL(create_response_from_buffer),
    SYMBOL(create_response_from_fd64),
    SYMBOL(add_response_header),
    SYMBOL(queue_response),
    SYMBOL(destroy_response),
};
_Static_assert(sizeof(struct hwi_http_library) == sizeof symbols / sizeof *symbols * sizeof(void *),
               "each has its line above");

static const struct hwi_library library = {
    .user = "a live page or --serve",
    .file = HWI_MICROHTTPD_FILE,
    .package = "libmicrohttpd12",
    .version = "0.9.75",
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
};
HWI_LIBRARY_NOTE(HWI_MICROHTTPD_FILE, "live", "shows the heap of a running program as a page, and serves endpoints");

int hwi_http_library_load(struct hwi_http_library *http, struct hwi_error *error)
{
  return hwi_library_load(&library, http, error);
}
