/* metrics.h - the families of /metrics: their names, and how they are written
 *
 * family     the samples of one name, such as heapwright_live_bytes of all processes.
 * A part has a line for each sample, in the order of the families: the family's letter, then the sample. So parts of several
 * runs are joined without parsing them.
 */
#ifndef HWI_LIVE_FLEET_METRICS_H
#define HWI_LIVE_FLEET_METRICS_H

#include "live/endpoint.h"

enum hwi_metric {
  HWI_METRIC_BUILD, /* the server writes these */
  HWI_METRIC_LEFT_OUT,
  HWI_METRIC_RECORDING_UP,
  HWI_METRIC_UP,
  HWI_METRIC_RECORDING,
  HWI_METRIC_BEHIND,
  HWI_METRIC_LIVE_BYTES,
  HWI_METRIC_LIVE_BYTES_ERROR, /* errors: only of estimates */
  HWI_METRIC_LIVE_BLOCKS,
  HWI_METRIC_LIVE_BLOCKS_ERROR,
  HWI_METRIC_PEAK,
  HWI_METRIC_PEAK_ERROR,
  HWI_METRIC_ALLOCATIONS,
  HWI_METRIC_ALLOCATIONS_ERROR,
  HWI_METRIC_FREES,
  HWI_METRIC_ALLOCATED,
  HWI_METRIC_ALLOCATED_ERROR,
  HWI_METRIC_FAILED,
  HWI_METRIC_LOST,
  HWI_METRIC_SAMPLE,
  HWI_METRIC_RSS,
  HWI_METRIC_RSS_RECORDER,
  HWI_METRIC_GROUP,
  HWI_METRIC_GROUP_LIMIT,
  HWI_METRIC_GROUP_KILLS,
  HWI_METRIC_HEAP_LIVE,
  HWI_METRIC_HEAP_BLOCKS,
  HWI_METRIC_HEAP_PEAK,
  HWI_METRIC_HEAP_ALLOCATIONS,
  HWI_METRIC_HEAP_ALLOCATED,
  HWI_METRIC_SCOPE_INSTANCES,
  HWI_METRIC_SCOPE_ALLOCATIONS,
  HWI_METRIC_SCOPE_ALLOCATED,
  HWI_METRIC_SCOPE_ALLOCATIONS_ERROR,
  HWI_METRIC_SCOPE_ALLOCATED_ERROR,
  HWI_METRIC_STACK_LIVE,
  HWI_METRIC_STACK_BLOCKS,
  HWI_METRIC_STACK_LIVE_ERROR,
  HWI_METRIC_STACK_BLOCKS_ERROR,
  HWI_METRICS
};

/* Limits of what one recording contributes; the largest are shown. */
enum {
  HWI_METRIC_TOP_MAX = 100,
  HWI_METRIC_HEAPS_MAX = 100,
  HWI_METRIC_SCOPES_MAX = 200,
  HWI_METRIC_LABEL_BYTES = 512
};

struct hwi_metric_family {
  const char *name; /* without _total */
  const char *unit; /* NULL: none */
  bool is_counter;
  const char *help;
};

extern const struct hwi_metric_family hwi_metric_families[HWI_METRICS];

/* Adds `text` as the value of a label: escaped, valid UTF-8, and at most HWI_METRIC_LABEL_BYTES before that. */
struct hwi_line;
void hwi_metric_label_add(struct hwi_line *line, const char *text);

/* Writes a part. */
int hwi_metrics_write(const struct hwi_live_part_source *source, FILE *out, struct hwi_error *error);

#endif
