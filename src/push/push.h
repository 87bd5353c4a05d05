/* push.h - sends the profile of a recording to a server that collects profiles: Pyroscope's POST /ingest
 *
 * For programs that end before a scraper comes. It runs after the program, or next to it, never in it.
 */
#ifndef HWI_PUSH_PUSH_H
#define HWI_PUSH_PUSH_H

#include "base/error.h"
#include "base/texts.h"
#include "report/report.h"

enum { HWI_PUSH_BYTES_MAX = 64 << 20 }; /* of a profile, compressed */

struct hwi_push {
  const char *url;                /* of the server, or of its /ingest */
  const char *name;               /* of the application; NULL: the program's */
  const struct hwi_texts *labels; /* KEY=VALUE */
  const char *token;              /* the value of a bearer token; NULL: none */
  uint64_t most_ns;               /* for all attempts together */
};

struct hwi_pushed {
  uint64_t bytes;
  uint32_t attempts;
};

/* Returns 0 if the name, the labels and the URL are valid, else a negative status. */
int hwi_push_check(const struct hwi_push *push, struct hwi_error *error);

/* Returns the part of a valid URL that may be shown: without the scheme, user and password if it has these. */
const char *hwi_push_shown(const char *url);

/* Sends what was allocated, and what was live at the peak. Tries again, with growing pauses, if the server cannot be reached or
 * is busy. Not for several threads. Returns 0 or a negative status. */
int hwi_push(const struct hwi_push *push, const struct hwi_report *report, struct hwi_pushed *pushed,
             struct hwi_error *error);

#endif
