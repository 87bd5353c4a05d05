/* metric_part.c - /metrics: what one run contributes */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "live/fleet/metrics.h"
#include "profile/blocks/sample.h"
#include "report/content/duplicate_stacks.h"
#include "report/content/evidence.h"
#include "report/content/scopes.h"
#include "report/names/named_frames.h"
#include "report/selection/figures.h"
#include "report/words/line.h"

enum { COMMAND_BYTES = 64, STACK_FRAMES = 16 };

struct part {
  const struct hwi_live_part_source *source;
  const struct hwi_profile *profile;
  struct hwi_line *processes; /* by image: its labels; "": it is not shown */
  struct hwi_amount *amounts; /* by image, of a sample: the estimates and their variances */
  struct hwi_line run;        /* the labels of the whole run: those of its first process */
  FILE *out;
};

/* `more`: a further label, which begins with a comma, or "". */
static void write_sample(const struct part *part, enum hwi_metric metric, const struct hwi_line *labels,
                         const char *more, uint64_t value)
{
  const struct hwi_metric_family *family = &hwi_metric_families[metric];
  fprintf(part->out, "%c%s%s{%s%s} %" PRIu64 "\n", 'A' + (int)metric, family->name, family->is_counter ? "_total" : "",
          hwi_line_text(labels), more, value);
}

/* --- processes --- */

/* An image that another one of its process has replaced is not shown, because both would have the same labels. */
static bool is_shown(const struct hwi_profile *profile, uint32_t index)
{
  const struct hwi_image *image = &profile->images[index];
  if (!image->counted)
    return false;
  for (uint32_t i = index + 1; i < profile->image_count; i++)
    if (profile->images[i].counted && profile->images[i].info->header.pid == image->info->header.pid)
      return false;
  return true;
}

/* The name of the program, without arguments: they may have secrets. */
static void add_command(struct hwi_line *labels, const struct hwi_trace_info *info)
{
  char name[COMMAND_BYTES + 1];
  const char *path = info->exe && *info->exe ? info->exe : info->command ? info->command : "";
  snprintf(name, sizeof name, "%.*s", (int)strcspn(hwi_base_name(path), " "), hwi_base_name(path));
  hwi_metric_label_add(labels, name);
}

static void label(const struct part *part, struct hwi_line *labels, const struct hwi_trace_info *info)
{
  hwi_line_puts(labels, "recording=\"");
  hwi_metric_label_add(labels, part->source->name);
  hwi_line_printf(labels, "\",pid=\"%" PRIu32 "\",command=\"", info->header.pid);
  add_command(labels, info);
  hwi_line_puts(labels, "\"");
}

static void note_silence(void *context, const struct hwi_silence *silence)
{
  *(bool *)context |= silence->to_ns == UINT64_MAX;
}

static bool is_recording(const struct hwi_trace_info *info)
{
  bool is_silent = false;
  hwi_evidence_silences(info, note_silence, &is_silent);
  return info->being_written && !is_silent;
}

/* Returns whether the process has the figure. What it holds at present has no value when it has ended. */
static bool value_of(const struct hwi_image *image, enum hwi_metric metric, uint64_t *value)
{
  const struct hwi_totals *totals = &image->totals;
  const struct hwi_trace_info *info = image->info;
  const struct hw_rss_sample *last = info->rss_count > 0 ? &info->rss[info->rss_count - 1].sample : NULL;
  switch (metric) {
  case HWI_METRIC_UP:
    *value = info->being_written;
    return true;
  case HWI_METRIC_RECORDING:
    *value = is_recording(info);
    return info->being_written;
  case HWI_METRIC_LIVE_BYTES:
    *value = totals->live_bytes_at_end;
    return info->being_written;
  case HWI_METRIC_LIVE_BLOCKS:
    *value = totals->live_blocks_at_end;
    return info->being_written;
  case HWI_METRIC_PEAK:
    *value = totals->peak_bytes;
    return true;
  case HWI_METRIC_ALLOCATIONS:
    *value = totals->allocation_calls;
    return true;
  case HWI_METRIC_FREES:
    *value = totals->free_calls;
    return true;
  case HWI_METRIC_ALLOCATED:
    *value = totals->allocated_bytes;
    return true;
  case HWI_METRIC_FAILED:
    *value = totals->failed_calls;
    return true;
  case HWI_METRIC_LOST:
    *value = info->header.lost_events;
    return true;
  case HWI_METRIC_SAMPLE:
    *value = info->header.sample_bytes;
    return true;
  case HWI_METRIC_RSS_RECORDER:
    *value = last ? last->recorder : 0;
    return last && info->being_written;
  case HWI_METRIC_GROUP:
    *value = last ? last->group_current : 0;
    return *value > 0 && info->being_written;
  case HWI_METRIC_GROUP_LIMIT:
    *value = last ? last->group_limit : 0;
    return *value > 0 && info->being_written;
  case HWI_METRIC_GROUP_KILLS:
    *value = info->exit ? info->exit->group_oom_kills : last ? last->group_oom_kills : 0;
    return last && last->group_current > 0;
  default:
    return false;
  }
}

/* The blocks of the process's own peak are not known, but those that it held at the peak of the run, or else all. */
static uint64_t peak_error(const struct hwi_amount *amount, uint64_t peak_bytes)
{
  double of_byte = amount->bytes ? (double)amount->variance.bytes / (double)amount->bytes : 0;
  if (amount->peak_bytes)
    of_byte = (double)amount->variance.peak_bytes / (double)amount->peak_bytes;
  return hwi_sample_error(of_byte * (double)peak_bytes);
}

/* Returns whether the metric is the error of a figure that is an estimate. */
static bool error_of(const struct part *part, uint32_t index, enum hwi_metric metric, uint64_t *value)
{
  const struct hwi_image *image = &part->profile->images[index];
  const struct hwi_amount *amount = &part->amounts[index];
  if (!image->info->header.sample_bytes)
    return false;
  switch (metric) {
  case HWI_METRIC_LIVE_BYTES_ERROR:
    *value = hwi_sample_error(amount->variance.live_bytes);
    return image->info->being_written;
  case HWI_METRIC_LIVE_BLOCKS_ERROR:
    *value = hwi_sample_error(amount->variance.live_blocks);
    return image->info->being_written;
  case HWI_METRIC_PEAK_ERROR:
    *value = peak_error(amount, image->totals.peak_bytes);
    return true;
  case HWI_METRIC_ALLOCATIONS_ERROR:
    *value = hwi_sample_error(amount->variance.calls);
    return !image->calls_are_exact;
  case HWI_METRIC_ALLOCATED_ERROR:
    *value = hwi_sample_error(amount->variance.bytes);
    return !image->calls_are_exact;
  default:
    return false;
  }
}

static void write_process_metric(const struct part *part, enum hwi_metric metric)
{
  uint64_t value;
  for (uint32_t i = 0; i < part->profile->image_count; i++)
    if (part->processes[i].bytes > 0 &&
        (value_of(&part->profile->images[i], metric, &value) || error_of(part, i, metric, &value)))
      write_sample(part, metric, &part->processes[i], "", value);
}

/* The same for all processes, since one analyst follows them. */
static void write_behind(const struct part *part)
{
  const double behind = (double)part->source->behind_ns / (double)HWI_NS_A_SECOND;
  for (uint32_t i = 0; i < part->profile->image_count; i++)
    if (part->processes[i].bytes > 0 && part->profile->images[i].info->being_written)
      fprintf(part->out, "%c%s{%s} %.3f\n", 'A' + HWI_METRIC_BEHIND, hwi_metric_families[HWI_METRIC_BEHIND].name,
              hwi_line_text(&part->processes[i]), behind);
}

static void write_rss(const struct part *part)
{
  for (uint32_t i = 0; i < part->profile->image_count; i++) {
    const struct hwi_trace_info *info = part->profile->images[i].info;
    if (part->processes[i].bytes == 0 || !info->being_written || info->rss_count == 0)
      continue;
    const struct hw_rss_sample *sample = &info->rss[info->rss_count - 1].sample;
    write_sample(part, HWI_METRIC_RSS, &part->processes[i], ",part=\"anonymous\"", sample->anonymous);
    write_sample(part, HWI_METRIC_RSS, &part->processes[i], ",part=\"file\"", sample->file);
    write_sample(part, HWI_METRIC_RSS, &part->processes[i], ",part=\"shmem\"", sample->shmem);
  }
}

/* --- what is of the run: heaps, scopes, stacks --- */

enum { VALUES = 5 };

/* Samples of one more label. Different names may read the same when they are cut: those are added up. */
struct named {
  struct hwi_line label;
  uint64_t values[VALUES];
};

struct named_list {
  struct named *items;
  uint32_t count;
};

static bool begin_list(struct named_list *list, uint32_t most)
{
  *list = (struct named_list){.items = calloc((size_t)most + 1, sizeof *list->items)};
  return list->items;
}

static void add_named(struct named_list *list, const char *label, const char *text, const uint64_t values[VALUES])
{
  struct named *added = &list->items[list->count];
  hwi_line_printf(&added->label, ",%s=\"", label);
  hwi_metric_label_add(&added->label, text);
  hwi_line_puts(&added->label, "\"");
  struct named *same = list->items;
  while (strcmp(hwi_line_text(&same->label), hwi_line_text(&added->label)) != 0)
    same++;
  for (int i = 0; i < VALUES; i++)
    same->values[i] += values[i];
  if (same == added)
    list->count++;
  else
    hwi_line_clear(&added->label);
}

static void write_named(const struct part *part, const struct named_list *list, enum hwi_metric metric, int value)
{
  for (uint32_t i = 0; i < list->count; i++)
    write_sample(part, metric, &part->run, hwi_line_text(&list->items[i].label), list->items[i].values[value]);
}

/* There may be one more item, which reads as another one. */
static void release_list(struct named_list *list)
{
  for (uint32_t i = 0; i <= list->count; i++)
    hwi_line_release(&list->items[i].label);
  free(list->items);
}

static bool write_heaps(const struct part *part)
{
  const struct hwi_profile *profile = part->profile;
  const uint32_t count = profile->heap_count < HWI_METRIC_HEAPS_MAX ? profile->heap_count : HWI_METRIC_HEAPS_MAX;
  struct named_list live, all;
  if (!begin_list(&live, count))
    return false;
  if (!begin_list(&all, count)) {
    release_list(&live);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    const struct hwi_heap *heap = &profile->heaps[i];
    add_named(&live, "heap", heap->name, (uint64_t[VALUES]){heap->live_bytes, heap->live_blocks, heap->peak_bytes});
    add_named(&all, "heap", heap->name, (uint64_t[VALUES]){heap->allocation_calls, heap->allocated_bytes});
  }
  write_named(part, &live, HWI_METRIC_HEAP_LIVE, 0);
  write_named(part, &live, HWI_METRIC_HEAP_BLOCKS, 1);
  write_named(part, &live, HWI_METRIC_HEAP_PEAK, 2);
  write_named(part, &all, HWI_METRIC_HEAP_ALLOCATIONS, 0);
  write_named(part, &all, HWI_METRIC_HEAP_ALLOCATED, 1);
  release_list(&live);
  release_list(&all);
  return true;
}

/* An index, and the figure that it is ranked by. */
struct ranked {
  uint32_t index;
  uint64_t cost;
};

static int compare(const void *one, const void *other)
{
  const struct ranked *a = one, *b = other;
  if (a->cost != b->cost)
    return a->cost < b->cost ? 1 : -1;
  return a->index < b->index ? -1 : a->index > b->index;
}

/* The scopes that allocated most come first. */
static bool write_scopes(const struct part *part)
{
  const struct hwi_profile *profile = part->profile;
  const uint32_t all = profile->scope_count > 1 ? profile->scope_count - 1 : 0;
  const uint32_t count = all < HWI_METRIC_SCOPES_MAX ? all : HWI_METRIC_SCOPES_MAX;
  struct hwi_scope_row *rows = hwi_scope_rows(profile, &(struct hwi_narrowing){.rules = NULL});
  struct ranked *ranked = calloc((size_t)all + 1, sizeof *ranked);
  struct named_list list = {.items = NULL};
  struct hwi_line path = {0};
  const bool done = rows && ranked && begin_list(&list, count);
  for (uint32_t i = 0; i < all && done; i++)
    ranked[i] = (struct ranked){i + 1, rows[i + 1].self.amount.bytes};
  if (done)
    qsort(ranked, all, sizeof *ranked, compare);
  for (uint32_t i = 0; i < count && done; i++) {
    const struct hwi_amount *amount = &rows[ranked[i].index].self.amount;
    const uint64_t calls_error = hwi_sample_error(amount->variance.calls);
    hwi_line_clear(&path);
    hwi_scope_path_add(&path, profile, ranked[i].index);
    add_named(&list, "scope", hwi_line_text(&path),
              (uint64_t[VALUES]){profile->scopes[ranked[i].index].instances, amount->calls, amount->bytes, calls_error,
                                 hwi_sample_error(amount->variance.bytes)});
  }
  const int metrics = HWI_METRIC_SCOPE_ALLOCATED - HWI_METRIC_SCOPE_INSTANCES + 1;
  for (int i = 0; i < (profile->sample_bytes ? VALUES : metrics) && done; i++)
    write_named(part, &list, (enum hwi_metric)(HWI_METRIC_SCOPE_INSTANCES + i), i);
  if (done)
    release_list(&list);
  hwi_line_release(&path);
  free(ranked);
  free(rows);
  return done;
}

/* Adds the stack's functions as in a flame graph: "main;load;parse". Of long stacks, the innermost ones. */
static void add_stack(struct hwi_line *line, const struct hwi_named_frames *frames)
{
  uint32_t first, last;
  hwi_named_frames_trim(frames, &first, &last);
  if (last - first > STACK_FRAMES)
    last = first + STACK_FRAMES;
  for (uint32_t i = last; i-- > first;) {
    const struct hwi_symbol *symbol = frames->items[i].symbol;
    hwi_line_puts(line, symbol && symbol->function ? symbol->function
                        : symbol                   ? hwi_module_name(frames->profile, frames->items[i].module)
                                                   : "...");
    if (i > first)
      hwi_line_puts(line, ";");
  }
}

static uint64_t live_bytes(const void *context, uint32_t stack)
{
  return ((const struct hwi_profile *)context)->stacks[stack].live_bytes;
}

static void add_group(struct named_list *list, struct hwi_named_frames *frames,
                      const struct hwi_duplicates_group *group)
{
  uint64_t values[VALUES] = {0};
  struct hwi_line text = {0};
  struct hwi_variance variance = {0};
  for (uint32_t i = 0; i < group->count; i++) {
    const struct hwi_stack *stack = &frames->profile->stacks[group->stacks[i]];
    values[0] += stack->live_bytes;
    values[1] += stack->live_blocks;
    hwi_variance_add(&variance, &stack->variance);
  }
  values[2] = hwi_sample_error(variance.live_bytes);
  values[3] = hwi_sample_error(variance.live_blocks);
  if (hwi_named_frames_load(frames, group->stacks[0], NULL) == HW_OK)
    add_stack(&text, frames);
  add_named(list, "stack", text.bytes > 0 ? hwi_line_text(&text) : "(unknown)", values);
  hwi_line_release(&text);
}

static int write_stacks(const struct part *part, uint32_t top, struct hwi_error *error)
{
  const struct hwi_profile *profile = part->profile;
  struct ranked *ranked = calloc((size_t)profile->stack_count + 1, sizeof *ranked);
  uint32_t *stacks = calloc((size_t)profile->stack_count + 1, sizeof *stacks), count = 0;
  struct hwi_named_frames frames = {.profile = NULL};
  struct hwi_duplicates groups = {.groups = NULL};
  struct named_list list = {.items = NULL};
  int status = ranked && stacks && begin_list(&list, top) ? hwi_named_frames_init(&frames, part->source->report, error)
                                                          : hwi_error_set(error, HW_ERR_MEMORY, "no memory for stacks");
  for (uint32_t i = 1; i < profile->stack_count && status == 0; i++)
    if (profile->stacks[i].live_bytes > 0)
      ranked[count++] = (struct ranked){i, profile->stacks[i].live_bytes};
  if (status == 0) {
    qsort(ranked, count, sizeof *ranked, compare);
    for (uint32_t i = 0; i < count; i++)
      stacks[i] = ranked[i].index;
    const struct hwi_duplicates_ranking ranking = {
        .stacks = stacks, .count = count, .cost = live_bytes, .context = profile, .least = 1};
    status = hwi_duplicates_init(&groups, &frames, &ranking, top, error);
  }
  for (size_t i = 0; i < groups.count && i < top && status == 0; i++)
    add_group(&list, &frames, &groups.groups[i]);
  if (list.items) {
    write_named(part, &list, HWI_METRIC_STACK_LIVE, 0);
    write_named(part, &list, HWI_METRIC_STACK_BLOCKS, 1);
    if (profile->sample_bytes) {
      write_named(part, &list, HWI_METRIC_STACK_LIVE_ERROR, 2);
      write_named(part, &list, HWI_METRIC_STACK_BLOCKS_ERROR, 3);
    }
    release_list(&list);
  }
  hwi_duplicates_release(&groups);
  hwi_named_frames_release(&frames);
  free(stacks);
  free(ranked);
  return status;
}

/* --- the part --- */

static void write_processes(const struct part *part)
{
  for (int metric = HWI_METRIC_UP; metric <= HWI_METRIC_GROUP_KILLS; metric++)
    if (metric == HWI_METRIC_BEHIND)
      write_behind(part);
    else if (metric == HWI_METRIC_RSS)
      write_rss(part);
    else
      write_process_metric(part, (enum hwi_metric)metric);
}

/* Sums up the estimates of each process, if any are. */
static void sum_amounts(const struct part *part)
{
  const struct hwi_profile *profile = part->profile;
  for (uint32_t i = 0; i < profile->cell_count && profile->sample_bytes; i++) {
    const struct hwi_amount amount = hwi_amount_of_cell(profile, &profile->cells[i]);
    const uint32_t image = profile->threads[profile->cells[i].thread].image;
    if (image < profile->image_count)
      hwi_amount_add(&part->amounts[image], &amount);
  }
}

int hwi_metrics_write(const struct hwi_live_part_source *source, FILE *out, struct hwi_error *error)
{
  const struct hwi_profile *profile = source->report->profile;
  struct part part = {.source = source, .profile = profile, .out = out};
  uint32_t counted;
  const struct hwi_image *head = hwi_head_image(profile, &counted);
  part.processes = calloc((size_t)profile->image_count + 1, sizeof *part.processes);
  part.amounts = calloc((size_t)profile->image_count + 1, sizeof *part.amounts);
  if (!part.processes || !part.amounts) {
    free(part.processes);
    free(part.amounts);
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory for the labels of processes");
  }
  sum_amounts(&part);
  for (uint32_t i = 0; i < profile->image_count; i++)
    if (is_shown(profile, i))
      label(&part, &part.processes[i], profile->images[i].info);
  if (head)
    label(&part, &part.run, head->info);
  write_processes(&part);
  int status = write_heaps(&part) && write_scopes(&part)
                   ? HW_OK
                   : hwi_error_set(error, HW_ERR_MEMORY, "no memory for the figures of heaps and scopes");
  if (status == 0 && source->query->numbers[HWI_LIVE_TOP])
    status = write_stacks(&part, (uint32_t)source->query->numbers[HWI_LIVE_TOP], error);
  for (uint32_t i = 0; i < profile->image_count; i++)
    hwi_line_release(&part.processes[i]);
  hwi_line_release(&part.run);
  free(part.processes);
  free(part.amounts);
  return status;
}
