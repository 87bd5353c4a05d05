/* endpoint.c - what `heapwright live --serve` answers to other programs: the list of endpoints, and their arguments */
#include "live/endpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/http.h"

const struct hwi_live_endpoint *const hwi_live_endpoints[] = {&hwi_live_metrics, &hwi_live_pprof_heap,
                                                              &hwi_live_pprof_allocs, NULL};

static const char *const argument_names[HWI_LIVE_ARGUMENTS] = {"top", "pid", "seconds"};

bool hwi_live_endpoint_find(const char *path, uint32_t *endpoint)
{
  for (uint32_t i = 0; hwi_live_endpoints[i]; i++)
    if (strcmp(hwi_live_endpoints[i]->path, path) == 0) {
      *endpoint = i;
      return true;
    }
  return false;
}

static bool read_number(const char *text, uint64_t *number)
{
  errno = 0;
  *number = strtoull(text, NULL, 10);
  return *text && text[strspn(text, "0123456789")] == 0 && errno == 0;
}

bool hwi_live_query_read(struct hwi_live_query *query, uint32_t endpoint, struct MHD_Connection *connection,
                         char why[HWI_ERROR_TEXT_BYTES])
{
  *query = (struct hwi_live_query){.endpoint = endpoint};
  for (int i = 0; i < HWI_LIVE_ARGUMENTS; i++) {
    const uint64_t most = hwi_live_endpoints[endpoint]->most[i];
    const char *text = hwi_http_argument(connection, argument_names[i]);
    if (most == 0 || !text)
      continue;
    if (read_number(text, &query->numbers[i]) && query->numbers[i] > 0 && query->numbers[i] <= most)
      continue;
    snprintf(why, HWI_ERROR_TEXT_BYTES, "%s=%.40s: %s takes a number from 1 to %" PRIu64 "\n", argument_names[i], text,
             argument_names[i], most);
    return false;
  }
  return true;
}

bool hwi_live_query_is_same(const struct hwi_live_query *one, const struct hwi_live_query *other)
{
  return one->endpoint == other->endpoint && memcmp(one->numbers, other->numbers, sizeof one->numbers) == 0;
}
