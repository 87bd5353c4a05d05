/* text_rss.c - what the resident memory consisted of at the peak, as far as it was sampled */
#include "report/text.h"

/* The sample nearest to the peak, or NULL where none is near enough to be compared with it. */
static const struct hwi_rss_point *sample_at_peak(const struct hwi_trace_info *info, uint64_t peak_ns)
{
  enum { NEAR_MS = 1500 };
  const uint64_t near_ns = UINT64_C(1000000) * NEAR_MS;
  const struct hwi_rss_point *best = NULL;
  uint64_t best_ns = near_ns;
  for (uint32_t i = 0; i < info->rss_count; i++) {
    uint64_t ns = info->rss[i].ns > peak_ns ? info->rss[i].ns - peak_ns : peak_ns - info->rss[i].ns;
    if (ns < best_ns) {
      best = &info->rss[i];
      best_ns = ns;
    }
  }
  return best;
}

static void add_part(struct hwi_text *text, uint64_t bytes, const char *name)
{
  if (bytes > 0)
    hwi_line_printf(&text->line, " + %s %s", hwi_bytes_text(bytes).text, name);
}

/* The parts are an account only where they do not exceed the whole: memory that was asked for and never touched is not
 * resident, and then the samples say less than they seem to. */
static bool add_account(struct hwi_text *text, const struct hw_rss_sample *sample)
{
  const struct hwi_totals *totals = &text->profile->totals;
  uint64_t rounding =
      totals->peak_usable_bytes > totals->peak_bytes ? totals->peak_usable_bytes - totals->peak_bytes : 0;
  uint64_t named = totals->peak_bytes + rounding + sample->file + sample->stacks + sample->recorder;
  if (named > sample->rss)
    return false;
  hwi_line_printf(&text->line, " = %s asked for", hwi_bytes_text(totals->peak_bytes).text);
  add_part(text, rounding, "rounding");
  add_part(text, sample->rss - named, "free in the allocator and other");
  add_part(text, sample->file, "code and files");
  add_part(text, sample->stacks, "thread stacks");
  add_part(text, sample->recorder, "recorder");
  return true;
}

void hwi_text_rss(struct hwi_text *text)
{
  if (text->image == NULL || text->counted != 1)
    return;
  const struct hwi_trace_info *info = text->image->info;
  const struct hwi_rss_point *point = sample_at_peak(info, text->profile->totals.peak_time_ns);
  if (point != NULL) {
    hwi_line_printf(&text->line, "RSS at %s: %s", hwi_text_peak_name(text).text,
                    hwi_bytes_text(point->sample.rss).text);
    if (!add_account(text, &point->sample)) {
      hwi_line_printf(&text->line, ", of which %s code and files", hwi_bytes_text(point->sample.file).text);
      if (point->sample.recorder > 0)
        hwi_line_printf(&text->line, ", %s recorder", hwi_bytes_text(point->sample.recorder).text);
      hwi_line_printf(&text->line, " (%s asked for, not all of it touched)",
                      hwi_bytes_text(text->profile->totals.peak_bytes).text);
    }
  } else if (info->header.rss_peak_bytes > 0) {
    hwi_line_printf(&text->line, "RSS at most: %s (seen now and then; not sampled at %s)",
                    hwi_bytes_text(info->header.rss_peak_bytes).text, hwi_text_peak_name(text).text);
  } else {
    return;
  }
  hwi_text_end_wrapped(text, sizeof "RSS at the peak: " - 1, HWI_PLAIN);
  hwi_text_blank(text);
}
