/* massif.c - massif's snapshots, as ms_print reads them
 *
 * Snapshots are equally spaced over the run, with an additional one at its peak. The peak, the end and every tenth
 * snapshot are detailed: they have the tree of the stacks whose blocks were live then, from the allocation outwards. As
 * in massif, parts of less than 1 % are summed up, and trees are at most 30 frames deep. `#` begins a comment in the
 * format, so it is written as `@` in names.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"

enum {
  SNAPSHOTS_MIN = 10,
  SNAPSHOTS_MAX = 100,
  DETAILED_EVERY = 10,
  DEPTH_MAX = 30,
  PERCENT = 100, /* parts of less than a hundredth are summed up */
  NS_PER_MS = 1000000,
};

/* A stack with live bytes at a snapshot. */
struct row {
  uint64_t bytes, group_bytes; /* group_bytes: sum of all rows with the same site at this depth */
  uint32_t at;                 /* the frame at this depth; 0: the stack is less deep */
  uint32_t site;
};

struct massif {
  struct hwi_export *export;
  FILE *out;
  struct row *rows;          /* capacity for all chosen stacks */
  struct hwi_live_sum *live; /* by stack */
  struct hwi_live_sum all;
  uint64_t snapshot_count, next; /* equally spaced ones: the total, and the next one */
  uint64_t number;               /* of the next snapshot to write */
  bool peak_written;
  struct hwi_line name, clean;
};

static void put_name(struct massif *to, const char *name)
{
  hwi_line_clear(&to->clean);
  hwi_line_clean(&to->clean, name);
  for (const char *at = hwi_line_text(&to->clean); *at != '\0'; at++)
    fputc(*at == '#' ? '@' : *at, to->out);
}

/* --- trees --- */

static int compare_sites(const void *left, const void *right)
{
  const struct row *a = left, *b = right;
  return a->site < b->site ? -1 : a->site > b->site;
}

static int compare_groups(const void *left, const void *right)
{
  const struct row *a = left, *b = right;
  if (a->group_bytes != b->group_bytes)
    return a->group_bytes > b->group_bytes ? -1 : 1;
  return compare_sites(left, right);
}

static uint32_t group_end(const struct row *rows, uint32_t first, uint32_t count)
{
  uint32_t end = first + 1;
  while (end < count && rows[end].site == rows[first].site)
    end++;
  return end;
}

/* Groups rows by site, the largest group first; rows that are less deep go to the end. Returns the number of rows that
 * are deep enough. */
static uint32_t group_rows(const struct massif *to, struct row *rows, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    rows[i].site = rows[i].at != 0 ? to->export->sites.of_frame[rows[i].at] : UINT32_MAX;
  qsort(rows, count, sizeof *rows, compare_sites);
  while (count > 0 && rows[count - 1].at == 0)
    count--;
  for (uint32_t first = 0, end; first < count; first = end) {
    uint64_t sum = 0;
    end = group_end(rows, first, count);
    for (uint32_t i = first; i < end; i++)
      sum += rows[i].bytes;
    for (uint32_t i = first; i < end; i++)
      rows[i].group_bytes = sum;
  }
  qsort(rows, count, sizeof *rows, compare_groups);
  return count;
}

static void put_function(struct massif *to, const struct hwi_site *site, uint32_t symbol)
{
  fprintf(to->out, " 0x%" PRIX64 ": ", site->address);
  put_name(to, hwi_site_function(&to->export->sites, site, symbol, &to->name));
  if (hwi_site_file(site, symbol)[0] != '\0') {
    fputs(" (", to->out);
    put_name(to, hwi_base_name(hwi_site_file(site, symbol)));
    fprintf(to->out, ":%u", hwi_site_line(site, symbol));
  } else {
    fputs(" (in ", to->out);
    put_name(to, hwi_module_path(to->export->profile, site->module));
  }
  fputs(")\n", to->out);
}

static void begin_node(struct massif *to, uint32_t depth, uint32_t children, uint64_t bytes)
{
  fprintf(to->out, "%*sn%u: %" PRIu64, (int)depth, "", children, bytes);
}

/* Returns the number of groups that are large enough to be nodes. *small_groups and *small_bytes get the rest. */
static uint32_t count_groups(const struct row *rows, uint32_t count, uint64_t all_bytes, uint32_t *small_groups,
                             uint64_t *small_bytes)
{
  uint32_t large = 0;
  *small_groups = 0;
  *small_bytes = 0;
  for (uint32_t first = 0; first < count; first = group_end(rows, first, count)) {
    bool small = rows[first].group_bytes < all_bytes / PERCENT;
    large += !small;
    *small_groups += small;
    *small_bytes += small ? rows[first].group_bytes : 0;
  }
  return large;
}

/* A site as the caller of the nodes above it, and the stacks that continue from there. */
struct node {
  struct row *rows;
  uint32_t count;
  uint32_t depth;  /* of the node in the text */
  uint32_t frames; /* number of frames that may follow outwards */
  uint64_t bytes;
  const struct hwi_site *site; /* NULL: the root */
};

static void put_head(struct massif *to, const struct node *node, uint32_t children)
{
  begin_node(to, node->depth, node->site && node->site->symbol_count > 1 ? 1 : children, node->bytes);
  if (!node->site) {
    fputs(" (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", to->out);
    return;
  }
  put_function(to, node->site, 0);
  for (uint32_t k = 1; k < node->site->symbol_count; k++) {
    begin_node(to, node->depth + k, k + 1 < node->site->symbol_count ? 1 : children, node->bytes);
    put_function(to, node->site, k);
  }
}

static void put_node(struct massif *to, const struct node *node, uint64_t all_bytes)
{
  uint32_t count = node->frames > 0 ? group_rows(to, node->rows, node->count) : 0, small_groups;
  uint64_t small_bytes;
  uint32_t large = count_groups(node->rows, count, all_bytes, &small_groups, &small_bytes);
  put_head(to, node, large + (small_groups > 0));
  uint32_t depth = node->depth + (node->site ? node->site->symbol_count : 1);
  for (uint32_t first = 0, end; large > 0; first = end, large--) {
    end = group_end(node->rows, first, count);
    struct node child = {.rows = node->rows + first,
                         .count = end - first,
                         .depth = depth,
                         .frames = node->frames - 1,
                         .bytes = node->rows[first].group_bytes,
                         .site = &to->export->sites.items[node->rows[first].site]};
    for (uint32_t i = first; i < end; i++)
      node->rows[i].at = to->export->profile->frames[node->rows[i].at].caller;
    put_node(to, &child, all_bytes);
  }
  if (small_groups > 0) {
    begin_node(to, depth, 0, small_bytes);
    fprintf(to->out, " in %u place%s, all below massif's threshold (1.00%%)\n", small_groups,
            small_groups > 1 ? "s" : "");
  }
}

static void put_tree(struct massif *to, uint64_t all_bytes,
                     uint64_t (*bytes_of)(const struct massif *to, uint32_t stack))
{
  const struct hwi_selection *selection = &to->export->selection;
  struct node root = {.rows = to->rows, .frames = DEPTH_MAX, .bytes = all_bytes};
  for (uint32_t i = 0; i < selection->stack_count; i++) {
    uint32_t stack = selection->stacks[i];
    uint64_t bytes = bytes_of(to, stack);
    if (bytes > 0)
      to->rows[root.count++] = (struct row){.bytes = bytes, .at = to->export->profile->stacks[stack].frame};
  }
  put_node(to, &root, all_bytes);
}

/* --- snapshots --- */

static uint64_t bytes_now(const struct massif *to, uint32_t stack)
{
  return to->live[stack].bytes;
}

static uint64_t bytes_at_peak(const struct massif *to, uint32_t stack)
{
  return to->export->selection.amounts[stack].peak_bytes;
}

static void put_snapshot(struct massif *to, uint64_t ns, uint64_t bytes, uint64_t usable, const char *tree)
{
  fprintf(to->out,
          "#-----------\nsnapshot=%" PRIu64 "\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
          "\nmem_heap_extra_B=%" PRIu64 "\nmem_stacks_B=0\nheap_tree=%s\n",
          to->number++, ns / NS_PER_MS, bytes, usable > bytes ? usable - bytes : 0, tree);
}

static void put_peak(struct massif *to)
{
  const struct hwi_totals *totals = &to->export->profile->totals;
  const struct hwi_amount *selected = &to->export->selection.selected;
  bool whole = selected->peak_bytes == totals->peak_bytes; /* usable sizes are not recorded by stack */
  put_snapshot(to, totals->peak_time_ns, selected->peak_bytes, whole ? totals->peak_usable_bytes : 0, "peak");
  put_tree(to, selected->peak_bytes, bytes_at_peak);
  to->peak_written = true;
}

static uint64_t snapshot_ns(const struct massif *to, uint64_t number)
{
  double share = (double)number / (double)(to->snapshot_count - 1);
  uint64_t from_ns = hwi_export_from_ns(to->export);
  return from_ns + (uint64_t)(share * (double)(hwi_export_end_ns(to->export) - from_ns));
}

/* Writes the snapshots before `ns`. */
static void put_snapshots_before(struct massif *to, uint64_t ns)
{
  for (; to->next < to->snapshot_count && snapshot_ns(to, to->next) < ns; to->next++) {
    uint64_t at = snapshot_ns(to, to->next);
    if (!to->peak_written && to->export->profile->totals.peak_time_ns <= at)
      put_peak(to);
    bool detailed = to->next % DETAILED_EVERY == DETAILED_EVERY - 1 || to->next + 1 == to->snapshot_count;
    put_snapshot(to, at, to->all.bytes, to->all.usable, detailed ? "detailed" : "empty");
    if (detailed)
      put_tree(to, to->all.bytes, bytes_now);
  }
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct massif *to = context;
  put_snapshots_before(to, event->ns);
  hwi_live_sum_count(&to->live[event->stack], event);
  hwi_live_sum_count(&to->all, event);
  return !ferror(to->out);
}

/* --- the whole --- */

static int write_all(struct massif *to, struct hwi_error *error)
{
  uint64_t duration_ms = (hwi_export_end_ns(to->export) - hwi_export_from_ns(to->export)) / NS_PER_MS;
  to->snapshot_count = duration_ms < SNAPSHOTS_MIN   ? SNAPSHOTS_MIN
                       : duration_ms > SNAPSHOTS_MAX ? SNAPSHOTS_MAX
                                                     : duration_ms;
  to->rows = calloc((size_t)to->export->selection.stack_count + 1, sizeof *to->rows);
  to->live = calloc((size_t)to->export->profile->stack_count + 1, sizeof *to->live);
  if (!to->rows || !to->live)
    return hwi_export_no_memory(error);
  const uint64_t sample_bytes = to->export->profile->sample_bytes;
  fputs("desc: recorded by heapwright", to->out);
  if (sample_bytes)
    fprintf(to->out, "; estimates: sampled, one allocation per %s", hwi_binary_bytes_text(sample_bytes).text);
  fputs("\ncmd: ", to->out);
  put_name(to, hwi_export_command(to->export));
  fputs("\ntime_unit: ms\n", to->out);
  struct hwi_block_sink sink = {.take = take, .context = to};
  int status = hwi_export_events(to->export, &sink, error);
  put_snapshots_before(to, UINT64_MAX);
  return status == HW_OK && (to->name.failed || to->clean.failed) ? hwi_export_no_memory(error) : status;
}

static int write_massif(struct hwi_export *export, struct hwi_error *error)
{
  struct massif to = {.export = export, .out = export->out};
  int status = write_all(&to, error);
  free(to.rows);
  free(to.live);
  hwi_line_release(&to.name);
  hwi_line_release(&to.clean);
  return status;
}

const struct hwi_export_format hwi_export_massif = {
    .name = "massif",
    .suffixes = (const char *const[]){".massif", NULL},
    .summary = "massif's snapshots, for ms_print and massif-visualizer",
    .spans = HWI_EXPORT_INTERVALS,
    .write = write_massif,
};
