/* text_rss.c - what the resident memory consisted of at the peak, as far as it was sampled */
#include "report/rss_parts.h"
#include "report/text.h"

static void add_account(struct hwi_text *text, const struct hwi_rss_point *point)
{
  enum { WORTH_PART = 1000 }; /* less of the whole is in JSON alone */
  struct hwi_rss_parts parts = hwi_rss_parts_of(text->profile, point);
  const struct {
    const char *sign, *name;
    uint64_t bytes;
  } items[] = {{"+", "rounding", parts.rounding},
               {"-", "never touched", parts.untouched},
               {"+", "free in the allocator", parts.free},
               {"+", "code and files", parts.files},
               {"+", "thread stacks", parts.stacks},
               {"+", "recorder", parts.recorder},
               {"+", "other", parts.other}};
  hwi_line_printf(&text->line, " = %s asked for", hwi_bytes_text(parts.asked).text);
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    if (items[i].bytes > point->sample.mapped / WORTH_PART)
      hwi_line_printf(&text->line, " %s %s %s", items[i].sign, hwi_bytes_text(items[i].bytes).text, items[i].name);
  }
}

/* Without a look at the mappings. */
static void add_what_is_known(struct hwi_text *text, const struct hw_rss_sample *sample)
{
  hwi_line_printf(&text->line, ", of which %s code and files", hwi_bytes_text(sample->file).text);
  if (sample->recorder > 0)
    hwi_line_printf(&text->line, ", %s recorder", hwi_bytes_text(sample->recorder).text);
  hwi_line_printf(&text->line, " (%s asked for at %s)", hwi_bytes_text(text->profile->totals.peak_bytes).text,
                  hwi_text_peak_name(text).text);
}

/* Whether the sample may be taken for the peak: of its very time, or of a time when about as much was live. */
static bool is_of_peak(const struct hwi_text *text, const struct hwi_rss_point *point)
{
  enum { SAME_MS = 10, SAME_PERCENT = 2 };
  uint64_t peak_ns = text->profile->totals.peak_time_ns, peak = text->profile->totals.peak_bytes;
  uint64_t ns = point->ns > peak_ns ? point->ns - peak_ns : peak_ns - point->ns;
  if (ns <= UINT64_C(1000000) * SAME_MS)
    return true;
  return point->sample.mapped > 0 && hwi_rss_parts_of(text->profile, point).asked >= peak - peak * SAME_PERCENT / 100;
}

static void add_rss(struct hwi_text *text, const struct hwi_rss_point *point)
{
  bool is_at = is_of_peak(text, point), has_maps = point->sample.mapped > 0;
  hwi_line_printf(&text->line, "RSS %s %s", is_at ? "at" : "near", hwi_text_peak_name(text).text);
  if (!is_at)
    hwi_line_printf(&text->line, ", at %s", hwi_time_text(point->ns).text);
  hwi_line_printf(&text->line, ": %s", hwi_bytes_text(has_maps ? point->sample.mapped : point->sample.rss).text);
}

void hwi_text_rss(struct hwi_text *text)
{
  if (text->image == NULL || text->counted != 1)
    return;
  const struct hwi_trace_info *info = text->image->info;
  const struct hwi_rss_point *point = hwi_rss_point_at(info, text->profile->totals.peak_time_ns);
  if (point != NULL) {
    add_rss(text, point);
    if (point->sample.mapped > 0)
      add_account(text, point);
    else
      add_what_is_known(text, &point->sample);
  } else if (info->header.rss_peak_bytes > 0) {
    hwi_line_printf(&text->line, "RSS at most: %s (seen now and then; not sampled at %s)",
                    hwi_bytes_text(info->header.rss_peak_bytes).text, hwi_text_peak_name(text).text);
  } else {
    return;
  }
  hwi_text_end_wrapped(text, sizeof "RSS at the peak: " - 1, HWI_PLAIN);
  hwi_text_blank(text);
}
