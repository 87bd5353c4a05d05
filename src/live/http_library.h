/* http_library.h - libmicrohttpd, loaded when a server starts: it needs a library of TLS */
#ifndef HWI_LIVE_HTTP_LIBRARY_H
#define HWI_LIVE_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "base/error.h"

struct hwi_http_library {
  __typeof__(&MHD_start_daemon) start_daemon;
  __typeof__(&MHD_stop_daemon) stop_daemon;
  __typeof__(&MHD_get_daemon_info) get_daemon_info;
  __typeof__(&MHD_get_timeout) get_timeout;
  __typeof__(&MHD_run) run;
  __typeof__(&MHD_lookup_connection_value) lookup_connection_value;
  __typeof__(&MHD_suspend_connection) suspend_connection;
  __typeof__(&MHD_resume_connection) resume_connection;
  __typeof__(&MHD_get_connection_info) get_connection_info;
  __typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
  __typeof__(&MHD_create_response_from_fd64) create_response_from_fd64;
  __typeof__(&MHD_add_response_header) add_response_header;
  __typeof__(&MHD_queue_response) queue_response;
  __typeof__(&MHD_destroy_response) destroy_response;
};

/* Loads it. Returns 0 or a negative status. */
int hwi_http_library_load(struct hwi_http_library *http, struct hwi_error *error);

#endif
