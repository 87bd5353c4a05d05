/* curl_library.h - libcurl, loaded when a profile is sent: it needs a dozen and a half other libraries */
#ifndef HWI_PUSH_CURL_LIBRARY_H
#define HWI_PUSH_CURL_LIBRARY_H

#include <curl/curl.h>
#undef curl_easy_setopt /* macros that check types, and name the functions themselves */
#undef curl_easy_getinfo

#include "base/error.h"

struct hwi_curl_library {
  __typeof__(&curl_global_init) global_init;
  __typeof__(&curl_global_cleanup) global_cleanup;
  __typeof__(&curl_easy_init) easy_init;
  __typeof__(&curl_easy_setopt) easy_setopt;
  __typeof__(&curl_easy_perform) easy_perform;
  __typeof__(&curl_easy_getinfo) easy_getinfo;
  __typeof__(&curl_easy_strerror) easy_strerror;
  __typeof__(&curl_easy_cleanup) easy_cleanup;
  __typeof__(&curl_slist_append) slist_append;
  __typeof__(&curl_slist_free_all) slist_free_all;
  __typeof__(&curl_mime_init) mime_init;
  __typeof__(&curl_mime_addpart) mime_addpart;
  __typeof__(&curl_mime_name) mime_name;
  __typeof__(&curl_mime_filename) mime_filename;
  __typeof__(&curl_mime_type) mime_type;
  __typeof__(&curl_mime_data) mime_data;
  __typeof__(&curl_mime_free) mime_free;
};

/* Loads it. Returns 0 or a negative status. */
int hwi_curl_library_load(struct hwi_curl_library *curl, struct hwi_error *error);

#endif
