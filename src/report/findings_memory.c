/* findings_memory.c - findings about memory that the program did not request
 *
 * RSS gap   much of the resident memory (without the recorder's) is in no block: at the peak, or at the time of the
 *           largest gap if that is clearly larger, such as after most blocks were freed. Its largest part is named.
 *           Pages of files, such as code or a mapped database, do not count: the kernel can take them back at any time.
 * slack     usable sizes are much larger than the requested sizes; the block size with most of the difference is named.
 */
#include "report/evidence.h"
#include "report/findings.h"
#include "report/rss_parts.h"

enum {
  GAP_PERCENT = 25, /* of the resident memory without files */
  GAP_BYTES_MIN = 64000000,
  MORE_PERCENT = 110, /* of the gap at the peak: a gap this large at another time is reported instead */
  SLACK_PERCENT = 20, /* of the requested bytes */
  SLACK_BYTES_MIN = 1000000,
};

struct gap {
  uint64_t bytes, resident, part_bytes;
  const char *part;
};

/* Returns an empty gap if it is too small to stand out, or not known. */
static struct gap gap_at(const struct hwi_profile *profile, const struct hwi_rss_point *point)
{
  if (!point || point->sample.mapped == 0 || !hwi_rss_has_live(profile, point))
    return (struct gap){0};
  struct hwi_rss_parts parts = hwi_rss_parts_of(profile, point);
  const struct {
    const char *name;
    uint64_t bytes;
  } items[] = {{"free_bytes", parts.free},
               {"own_mapped_bytes", parts.own},
               {"rounding_bytes", parts.rounding},
               {"stack_bytes", parts.stacks},
               {"other_bytes", parts.other}};
  size_t largest = 0;
  struct gap gap = {.resident = point->sample.mapped - parts.recorder};
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    largest = items[i].bytes > items[largest].bytes ? i : largest;
    gap.bytes += items[i].bytes;
  }
  gap.part = items[largest].name;
  gap.part_bytes = items[largest].bytes;
  return gap.bytes >= GAP_BYTES_MIN && hwi_is_share(gap.bytes, gap.resident - parts.files, GAP_PERCENT)
             ? gap
             : (struct gap){0};
}

static void find_rss_gap(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  uint32_t counted;
  const struct hwi_image *image = hwi_largest_image(profile, &counted);
  if (counted != 1)
    return;
  const struct hwi_trace_info *info = image->info;
  const struct hwi_rss_point *at = hwi_rss_point_of_peak(profile, info);
  struct gap at_peak = gap_at(profile, at), most = at_peak;
  for (uint32_t i = 0; i < info->rss_count; i++) {
    struct gap gap = gap_at(profile, &info->rss[i]);
    if (gap.bytes > most.bytes && gap.bytes / MORE_PERCENT * 100 > at_peak.bytes) {
      at = &info->rss[i];
      most = gap;
    }
  }
  if (most.bytes == 0)
    return;
  uint64_t time_ns = hwi_rss_is_of_peak(profile, at) ? profile->totals.peak_time_ns : at->ns;
  hwi_findings_add(findings, (struct hwi_finding){.kind = HWI_FINDING_RSS_GAP,
                                                  .figures = {most.bytes, most.resident, most.part_bytes, time_ns},
                                                  .part = most.part});
}

static uint64_t slack_of(const struct hwi_size *size)
{
  uint64_t asked = size->peak_blocks * size->size;
  return size->peak_usable > asked ? size->peak_usable - asked : 0;
}

static uint64_t slack_of_stack(const struct hwi_stack *stack)
{
  return stack->peak_usable > stack->peak_bytes ? stack->peak_usable - stack->peak_bytes : 0;
}

static void find_slack(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  const struct hwi_totals *totals = &profile->totals;
  const struct hwi_size *most = NULL;
  for (uint32_t i = 0; i < profile->size_count; i++) {
    if (slack_of(&profile->sizes[i]) > (most ? slack_of(most) : 0))
      most = &profile->sizes[i];
  }
  uint64_t slack = totals->peak_usable_bytes > totals->peak_bytes ? totals->peak_usable_bytes - totals->peak_bytes : 0;
  if (!most || slack < SLACK_BYTES_MIN || !hwi_is_share(slack, totals->peak_bytes, SLACK_PERCENT))
    return;
  hwi_findings_add(findings, (struct hwi_finding){.kind = HWI_FINDING_SLACK,
                                                  .stack = hwi_findings_most(profile, slack_of_stack),
                                                  .figures = {slack, most->size, most->peak_usable / most->peak_blocks,
                                                              most->peak_blocks}});
}

void hwi_findings_look_at_memory(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  find_rss_gap(findings, profile);
  find_slack(findings, profile);
}
