/* heaptrack.c - heaptrack's interpreted recordings, which heaptrack_print and heaptrack_gui read
 *
 * Version 1 of its text, which all versions from 1.0 on read. There is a line for each string (s), instruction pointer
 * (i), node of the tree of stacks (t), pair of size and stack (a), allocation (+), free (-), moment in milliseconds (c)
 * and RSS in pages (R). Numbers are hexadecimal; strings, pointers and nodes are numbered from 1, pairs from 0. A
 * stack's figures in heaptrack are sums over its pairs.
 *
 * In heaptrack a free is temporary if the previous event allocated the same pair. Pair 0 also means "the previous event
 * was no allocation": a free of pair 0 after another free would count as temporary. So pair 0 is not used here.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"
#include "report/content/evidence.h"
#include "trace/store.h"

enum { HEAPTRACK_VERSION = 0x010000, FORMAT_VERSION = 1, PAGE_BYTES = 4096, NS_PER_MS = 1000000 };

struct heaptrack {
  struct hwi_export *export;
  FILE *out;
  struct hwi_store strings;
  struct hwi_numbering pairs; /* stack and size */
  uint32_t *node_of;          /* by frame: its node; 0: the frame is in no chosen stack */
  uint32_t strings_given;     /* lines written so far */
  uint64_t ms;
  const struct hwi_rss_point *rss, *rss_end; /* still to come */
  bool failed;                               /* no memory */
};

/* Returns a string's number, and writes its line if it is new. "" is 0. */
static uint32_t string(struct heaptrack *to, const char *text)
{
  if (text[0] == '\0')
    return 0;
  struct hwi_line clean = {0};
  hwi_line_clean(&clean, text);
  uint32_t number = hwi_store_intern_text(&to->strings, hwi_line_text(&clean));
  to->failed |= number == 0 || clean.failed;
  if (number > to->strings_given) {
    fprintf(to->out, "s %s\n", hwi_line_text(&clean));
    to->strings_given = number;
  }
  hwi_line_release(&clean);
  return number;
}

/* --- data before the events --- */

static void put_head(struct heaptrack *to)
{
  struct hwi_line command = {0};
  hwi_line_clean(&command, hwi_export_command(to->export));
  fprintf(to->out, "v %x %x\nX %s\nI %x 0\na 0 0\n", HEAPTRACK_VERSION, FORMAT_VERSION, hwi_line_text(&command),
          PAGE_BYTES);
  hwi_line_release(&command);
}

static void put_site(struct heaptrack *to, const struct hwi_site *site, struct hwi_line *line, struct hwi_line *name)
{
  uint32_t module = string(to, hwi_module_path(to->export->profile, site->module));
  hwi_line_clear(line);
  hwi_line_printf(line, "i %" PRIx64 " %x", site->cut ? 0 : site->address, module);
  for (uint32_t k = 0; k < site->symbol_count; k++) { /* strings come before the line that names them */
    uint32_t function = string(to, hwi_site_function(&to->export->sites, site, k, name));
    uint32_t file = string(to, hwi_site_file(site, k));
    hwi_line_printf(line, " %x %x %x", function, file, hwi_site_line(site, k));
  }
  fprintf(to->out, "%s\n", hwi_line_text(line));
  to->failed |= line->failed;
}

/* A frame's caller has a smaller number than the frame. */
static int put_stacks(struct heaptrack *to, struct hwi_error *error)
{
  const struct hwi_profile *profile = to->export->profile;
  struct hwi_line line = {0}, name = {0};
  uint32_t count = 0;
  for (uint32_t i = 1; i <= to->export->sites.count; i++)
    put_site(to, &to->export->sites.items[i], &line, &name);
  hwi_line_release(&line);
  hwi_line_release(&name);
  to->node_of = calloc((size_t)profile->frame_count + 1, sizeof *to->node_of);
  if (!to->node_of)
    return hwi_export_no_memory(error);
  for (uint32_t i = 1; i < profile->frame_count; i++) {
    if (to->export->sites.of_frame[i] == 0)
      continue;
    fprintf(to->out, "t %x %x\n", to->export->sites.of_frame[i], to->node_of[profile->frames[i].caller]);
    to->node_of[i] = ++count;
  }
  return HW_OK;
}

/* --- events --- */

/* Returns the number of a pair, from 1, and writes its line if it is new. */
static uint32_t pair(struct heaptrack *to, uint32_t stack, uint64_t size)
{
  uint32_t before = to->pairs.count;
  uint32_t number = hwi_numbering_of(&to->pairs, stack, size);
  to->failed |= number == 0;
  if (number > before)
    fprintf(to->out, "a %" PRIx64 " %x\n", size, to->node_of[to->export->profile->stacks[stack].frame]);
  return number;
}

static void pass_time(struct heaptrack *to, uint64_t ns)
{
  for (; to->rss < to->rss_end && to->rss->ns <= ns; to->rss++)
    fprintf(to->out, "R %" PRIx64 "\n", to->rss->sample.rss / PAGE_BYTES);
  if (ns / NS_PER_MS == to->ms)
    return;
  to->ms = ns / NS_PER_MS;
  fprintf(to->out, "c %" PRIx64 "\n", to->ms);
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct heaptrack *to = context;
  pass_time(to, event->ns);
  switch ((enum hwi_block_event_kind)event->kind) {
  case HWI_BLOCK_ALLOC: {
    uint32_t number = pair(to, event->stack, event->size); /* its line comes first */
    fprintf(to->out, "+ %x\n", number);
    break;
  }
  case HWI_BLOCK_FREE:
  case HWI_BLOCK_FREE_MISSED:
    fprintf(to->out, "- %x\n", pair(to, event->stack, event->size));
    break;
  case HWI_BLOCK_FREE_UNKNOWN: /* heaptrack does not record these */
  case HWI_BLOCK_FAILED:
  case HWI_BLOCK_LEFT:
    break;
  }
  return !to->failed && !ferror(to->out);
}

static int write_all(struct heaptrack *to, struct hwi_error *error)
{
  const struct hwi_image *image = hwi_largest_image(to->export->profile, NULL);
  if (image && image->info->rss) {
    to->rss = image->info->rss;
    to->rss_end = image->info->rss + image->info->rss_count;
  }
  struct hwi_block_sink sink = {.take = take, .context = to};
  put_head(to);
  int status = put_stacks(to, error);
  if (status == HW_OK)
    status = hwi_export_events(to->export, &sink, error);
  pass_time(to, hwi_export_end_ns(to->export));
  return status == HW_OK && to->failed ? hwi_export_no_memory(error) : status;
}

static int write_heaptrack(struct hwi_export *export, struct hwi_error *error)
{
  struct heaptrack to = {.export = export, .out = export->out};
  int status = write_all(&to, error);
  free(to.node_of);
  hwi_store_release(&to.strings);
  hwi_numbering_release(&to.pairs);
  return status;
}

const struct hwi_export_format hwi_export_heaptrack = {
    .name = "heaptrack",
    .suffixes = (const char *const[]){".heaptrack", NULL},
    .summary = "heaptrack's recording, for heaptrack_print and heaptrack_gui",
    .one_process = true,
    .needs_all_events = true,
    .spans = HWI_EXPORT_BEGINNINGS,
    .write = write_heaptrack,
};
