/* rss.c - the parts of the resident memory at the peak and along time, as far as it was sampled */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/content/rss_parts.h"
#include "report/text/text.h"

/* Smaller parts are only in the JSON. */
static bool is_worth(uint64_t bytes, uint64_t mapped)
{
  enum { WORTH_PART = 1000 };
  return bytes > mapped / WORTH_PART;
}

/* --- at the peak --- */

static void add_account(struct hwi_text *text, const struct hwi_rss_parts *parts, uint64_t mapped)
{
  bool can_be_free = hwi_rss_can_be_free(text->profile, parts->free);
  const struct {
    const char *sign, *name;
    uint64_t bytes;
  } items[] = {{"+", "rounding", parts->rounding},
               {"-", "never touched", parts->untouched},
               {"+", can_be_free ? "free in the allocator" : "free in the allocator or mapped by the program itself",
                parts->free},
               {"+", "mapped by the program itself", parts->own},
               {"+", "code and files", parts->files},
               {"+", "thread stacks", parts->stacks},
               {"+", "recorder", parts->recorder},
               {"+", "other", parts->other}};
  hwi_line_printf(&text->line, " = %s asked for", hwi_bytes_text(parts->asked).text);
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    if (is_worth(items[i].bytes, mapped))
      hwi_line_printf(&text->line, " %s %s %s", items[i].sign, hwi_bytes_text(items[i].bytes).text, items[i].name);
  }
}

/* For a sample without mappings, or at a time for which the profile does not know the live blocks. */
static void add_what_is_known(struct hwi_text *text, const struct hw_rss_sample *sample)
{
  hwi_line_printf(&text->line, ", of which %s code and files", hwi_bytes_text(sample->file).text);
  if (sample->recorder > 0)
    hwi_line_printf(&text->line, ", %s recorder", hwi_bytes_text(sample->recorder).text);
  hwi_line_printf(&text->line, " (%s asked for at %s)", hwi_bytes_text(text->profile->totals.peak_bytes).text,
                  hwi_text_peak_name(text).text);
}

static void add_point(struct hwi_text *text, const struct hwi_rss_point *point, uint32_t processes)
{
  bool has_maps = point->sample.mapped > 0 && hwi_rss_has_live(text->profile, point);
  struct hwi_rss_parts parts = {0};
  if (has_maps)
    parts = hwi_rss_parts_of(text->profile, point);
  bool is_at = hwi_rss_is_of_peak(text->profile, point);
  hwi_line_printf(&text->line, "RSS %s %s", is_at ? "at" : "near", hwi_text_peak_name(text).text);
  if (!is_at)
    hwi_line_printf(&text->line, ", at %s", hwi_time_text(point->ns).text);
  if (processes > 1)
    hwi_line_printf(&text->line, ", of %s processes", hwi_count_text(processes).text);
  hwi_line_printf(&text->line, ": %s", hwi_bytes_text(has_maps ? point->sample.mapped : point->sample.rss).text);
  if (has_maps)
    add_account(text, &parts, point->sample.mapped);
  else
    add_what_is_known(text, &point->sample);
}

/* For one process. Returns false if nothing is known. */
static bool add_process(struct hwi_text *text)
{
  const struct hwi_trace_info *info = text->image->info;
  const struct hwi_rss_point *point = hwi_rss_point_of_peak(text->profile, info);
  if (point)
    add_point(text, point, 1);
  else if (info->header.rss_peak_bytes > 0)
    hwi_line_printf(&text->line, "Peak RSS: %s (of occasional samples, none at %s)",
                    hwi_bytes_text(info->header.rss_peak_bytes).text, hwi_text_peak_name(text).text);
  return point || info->header.rss_peak_bytes > 0;
}

/* For several: of the moments with a sample of all processes, the one with the most live bytes. */
static bool add_processes(struct hwi_text *text)
{
  uint64_t moments_ns[HWI_RSS_MOMENTS], most = 0;
  uint32_t count = hwi_rss_moments(text->profile, moments_ns);
  struct hwi_rss_sum best = {0};
  for (uint32_t i = 0; i < count; i++) {
    struct hwi_rss_sum sum = hwi_rss_sum_at(text->profile, moments_ns[i]);
    uint64_t asked = hwi_rss_parts_of(text->profile, &sum.point).asked;
    if (sum.unknown > 0 || !hwi_rss_has_live(text->profile, &sum.point) || (best.processes > 0 && asked <= most))
      continue;
    best = sum;
    most = asked;
  }
  if (best.processes > 0)
    add_point(text, &best.point, best.processes);
  return best.processes > 0;
}

void hwi_text_rss(struct hwi_text *text)
{
  if (!text->image || !(text->counted == 1 ? add_process(text) : add_processes(text)))
    return;
  hwi_text_end_wrapped(text, sizeof "RSS at the peak: " - 1, HWI_PLAIN);
  hwi_text_blank(text);
}

/* --- along time --- */

enum { PARTS = 9, WHEN_CELLS = 9, PART_CELLS = 11, PROCESSES_CELLS = 11, FREE = 3, OWN = 4, OTHER = PARTS - 1 };

static const char *const part_titles[PARTS] = {"asked for", "rounding", "untouched", "free", "own",
                                               "code",      "stacks",   "recorder",  "other"};

struct moment {
  struct hwi_rss_sum sum;
  bool is_whole;         /* the live bytes of all sampled processes are known */
  uint64_t parts[PARTS]; /* in the order of the titles */
};

static void look(const struct hwi_text *text, uint64_t ns, struct moment *moment)
{
  moment->sum = hwi_rss_sum_at(text->profile, ns);
  moment->is_whole = moment->sum.unknown == 0 && hwi_rss_has_live(text->profile, &moment->sum.point);
  struct hwi_rss_parts parts = hwi_rss_parts_of(text->profile, &moment->sum.point);
  const uint64_t values[PARTS] = {parts.asked, parts.rounding, parts.untouched, parts.free, parts.own,
                                  parts.files, parts.stacks,   parts.recorder,  parts.other};
  memcpy(moment->parts, values, sizeof values);
}

static uint64_t largest(const struct moment *moments, uint32_t count, int part)
{
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; i++)
    bytes = moments[i].parts[part] > bytes ? moments[i].parts[part] : bytes;
  return bytes;
}

static uint64_t largest_mapped(const struct moment *moments, uint32_t count)
{
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; i++)
    bytes = moments[i].sum.point.sample.mapped > bytes ? moments[i].sum.point.sample.mapped : bytes;
  return bytes;
}

/* Leaves out columns of very small parts. If there is no room, the smallest ones are added to the last column. The
 * columns "asked for", "never touched" and "free" always stay. */
static void fit(const struct hwi_text *text, struct moment *moments, uint32_t count, bool shown[PARTS])
{
  size_t used_cells = WHEN_CELLS + PART_CELLS + (text->counted > 1 ? PROCESSES_CELLS : 0), used = 0;
  size_t room = text->style->columns > used_cells ? (text->style->columns - used_cells) / PART_CELLS : 0;
  for (int part = 0; part < PARTS; part++) {
    shown[part] = is_worth(largest(moments, count, part), largest_mapped(moments, count));
    used += shown[part];
  }
  while (used > room) {
    int least = -1;
    for (int part = OWN; part < OTHER; part++) {
      if (shown[part] && (least < 0 || largest(moments, count, part) < largest(moments, count, least)))
        least = part;
    }
    if (least < 0)
      break;
    used -= shown[OTHER];
    shown[least] = false;
    shown[OTHER] = true;
    for (uint32_t i = 0; i < count; i++)
      moments[i].parts[OTHER] += moments[i].parts[least];
  }
}

/* Adds "4", or "3 of 4" if one was not sampled. */
static void add_processes_known(struct hwi_text *text, const struct hwi_rss_sum *sum)
{
  struct hwi_number number = hwi_count_text(sum->processes);
  if (sum->unknown > 0)
    snprintf(number.text, sizeof number.text, "%" PRIu32 " of %" PRIu32, sum->processes - sum->unknown, sum->processes);
  hwi_line_right(&text->line, number.text, PROCESSES_CELLS);
}

static void print_moment(struct hwi_text *text, const struct moment *moment, const bool shown[PARTS])
{
  enum { UNTOUCHED = 2 };
  hwi_line_right(&text->line, hwi_time_text(moment->sum.point.ns).text, WHEN_CELLS);
  hwi_line_right(&text->line, hwi_bytes_text(moment->sum.point.sample.mapped).text, PART_CELLS);
  for (int part = 0; part < PARTS; part++) {
    struct hwi_number number = hwi_bytes_text(moment->parts[part]), less;
    snprintf(less.text, sizeof less.text, "-%.30s", number.text);
    bool is_less = part == UNTOUCHED && moment->parts[part] > 0;
    if (shown[part])
      hwi_line_right(&text->line,
                     part <= OWN && !moment->is_whole ? ""
                     : is_less                        ? less.text
                                                      : number.text,
                     PART_CELLS);
  }
  if (text->counted > 1)
    add_processes_known(text, &moment->sum);
  hwi_text_end(text, HWI_PLAIN);
}

void hwi_text_rss_along(struct hwi_text *text)
{
  uint64_t ns[HWI_RSS_MOMENTS];
  struct moment moments[HWI_RSS_MOMENTS];
  bool shown[PARTS];
  uint32_t count = hwi_rss_moments(text->profile, ns);
  hwi_text_heading(text, "Resident memory along time, and its parts", "");
  if (count == 0) {
    hwi_line_puts(&text->line,
                  "  not known: the mappings of the process were not sampled. heapwright record samples them "
                  "about every second, more rarely in runs of many hours.");
    hwi_text_end_wrapped(text, 2, HWI_PLAIN);
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    look(text, ns[i], &moments[i]);
  fit(text, moments, count, shown);
  hwi_line_right(&text->line, "at", WHEN_CELLS);
  hwi_line_right(&text->line, "RSS", PART_CELLS);
  for (int part = 0; part < PARTS; part++) {
    if (shown[part])
      hwi_line_right(&text->line, part_titles[part], PART_CELLS);
  }
  if (text->counted > 1)
    hwi_line_right(&text->line, "processes", PROCESSES_CELLS);
  hwi_text_end(text, HWI_DIM);
  for (uint32_t i = 0; i < count; i++)
    print_moment(text, &moments[i], shown);
}
