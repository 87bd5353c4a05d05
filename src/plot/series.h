/* series.h - live bytes over time, by parts
 *
 * division   a way to divide live bytes: by stack, by class of block sizes, by thread.
 * part       one stack, class or thread; the last part is the rest. The parts add up to all live bytes.
 * moment     a time at which the parts are measured: at equal distances, and right after the peak.
 */
#ifndef HWI_PLOT_SERIES_H
#define HWI_PLOT_SERIES_H

#include "plot/plot.h"
#include "report/selection/selection.h"

enum hwi_division { HWI_DIVISION_STACK = 0, HWI_DIVISION_SIZE, HWI_DIVISION_THREAD, HWI_DIVISIONS };

enum { HWI_PARTS_MAX = 8, HWI_PARTS_REST = HWI_PARTS_MAX, HWI_MOMENTS = 400 };

struct hwi_parts {
  uint32_t items[HWI_PARTS_MAX]; /* numbers of stacks or threads, the largest first; or size classes, by size */
  uint32_t count;
  struct hwi_live_sum live[HWI_PARTS_MAX + 1]; /* current values during the replay; the last is the rest's */
  uint8_t *part_of;                            /* by item */
};

struct hwi_series_moment {
  uint64_t ns;
  struct hwi_live_sum kept; /* the sum of the parts of each division */
  uint64_t live_bytes[HWI_DIVISIONS][HWI_PARTS_MAX + 1];
};

struct hwi_series {
  const struct hwi_profile *profile;
  const struct hwi_narrowing *filter; /* only the blocks that it keeps are followed */
  struct hwi_parts parts[HWI_DIVISIONS];
  struct hwi_series_moment moments[HWI_MOMENTS + 2]; /* both ends, and the peak */
  uint32_t moment_count, due;                        /* `due`, up to HWI_MOMENTS, is the next moment */
  uint64_t from_ns, to_ns;
  struct hwi_live_sum all, kept; /* `kept`: of the blocks that the filter keeps */
  bool peak_seen;
  uint64_t *slice_usable; /* maximum within each slice of the profile's timeline; NULL: it has none */
  uint32_t slice;         /* the current slice */
  bool is_within;         /* whether the first slice has begun */
};

/* Reads the recording again. Returns 0 or a negative status. Release `series` even after a failure. */
int hwi_series_init(struct hwi_series *series, const struct hwi_plot_request *request,
                    const struct hwi_selection *selection, struct hwi_error *error);
void hwi_series_release(struct hwi_series *series);

#endif
