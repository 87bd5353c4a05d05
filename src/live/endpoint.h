/* endpoint.h - what `heapwright live --serve` answers to other programs: one file for each endpoint
 *
 * endpoint   a path of the server. It is in the list of endpoint.c, and nowhere else.
 * part       what one run contributes to an answer: a document that the run's analyst writes, in a process of its own.
 */
#ifndef HWI_LIVE_ENDPOINT_H
#define HWI_LIVE_ENDPOINT_H

#include <microhttpd.h>

#include "profile/follow.h"
#include "report/report.h"

/* The numbers that a request may have: ?top=10&pid=4711. 0: not given. */
enum hwi_live_argument {
  HWI_LIVE_TOP = 0,
  HWI_LIVE_PID,     /* only runs that have this process contribute */
  HWI_LIVE_SECONDS, /* each run contributes twice: now, and after so long */
  HWI_LIVE_ARGUMENTS
};

struct hwi_live_query {
  uint32_t endpoint; /* index into hwi_live_endpoints */
  uint64_t numbers[HWI_LIVE_ARGUMENTS];
};

/* What a part is made of. */
struct hwi_live_part_source {
  const struct hwi_report *report; /* its profile has all processes of the run */
  const struct hwi_live_query *query;
  const char *name; /* of the run: the path of its recording, or the part of it below the folder that is served */
  uint64_t behind_ns;
  bool is_over;
};

struct hwi_live_part {
  const char *name;
  int fd; /* of `bytes`, not at its begin. -1: there is none, see `error` */
  uint64_t bytes;
  int earlier_fd; /* with HWI_LIVE_SECONDS: the part of the begin. Else, or if there is none: -1 */
  uint64_t earlier_bytes;
  const char *error; /* NULL: there is a part */
};

struct hwi_live_parts {
  const struct hwi_live_part *items;
  uint32_t count;
  uint32_t left_out; /* recordings that are not followed, because there are too many */
};

struct hwi_live_endpoint {
  const char *path, *about;
  uint64_t most[HWI_LIVE_ARGUMENTS]; /* of each number; 0: the endpoint does not take it */
  bool needs_names;                  /* of frames, in its parts */
  int (*write)(const struct hwi_live_part_source *source, FILE *out, struct hwi_error *error);
  /* In the server: joins the parts. It must not take long. */
  enum MHD_Result (*answer)(struct MHD_Connection *connection, const struct hwi_live_query *query,
                            const struct hwi_live_parts *parts);
};

extern const struct hwi_live_endpoint *const hwi_live_endpoints[]; /* ended by NULL */

/* Returns whether there is an endpoint with the path. */
bool hwi_live_endpoint_find(const char *path, uint32_t *endpoint);

/* Reads the request's numbers. Returns false if one is wrong; `why` says so. Arguments that the endpoint does not take are
 * ignored. */
bool hwi_live_query_read(struct hwi_live_query *query, uint32_t endpoint, struct MHD_Connection *connection,
                         char why[HWI_ERROR_TEXT_BYTES]);

bool hwi_live_query_is_same(const struct hwi_live_query *one, const struct hwi_live_query *other);

/* The endpoints. */
extern const struct hwi_live_endpoint hwi_live_metrics, hwi_live_pprof_heap, hwi_live_pprof_allocs;

#endif
