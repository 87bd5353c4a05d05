/* upload.h - one request that sends files as a form, tried again as long as it may succeed */
#ifndef HWI_PUSH_UPLOAD_H
#define HWI_PUSH_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hwi_upload_part {
  const char *name, *type;
  const void *bytes;
  size_t count;
};

struct hwi_upload {
  const char *url;   /* with its query */
  const char *shown; /* the server, for messages */
  const char *token; /* NULL: none */
  const struct hwi_upload_part *parts;
  size_t part_count;
  uint64_t most_ns; /* for all attempts together */
};

/* *attempts is set also on failure. Returns 0 or a negative status. */
int hwi_upload(const struct hwi_upload *upload, uint32_t *attempts, struct hwi_error *error);

#endif
