/* heapprof.c - heapprof's listing: what is live, by stack, with the size of each block
 *
 * "19% 10000 [2000, 1000, ...]" is a stack's share of the bytes that are listed, its bytes, and its blocks; the largest
 * stack comes first. Below it are its functions, innermost first: "  0xADDRESS NAME (FILE:LINE)."
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"
#include "trace/grow.h"

/* The live blocks of one size that one stack allocated. */
struct blocks {
  uint64_t size, count;
  uint64_t stack_bytes; /* of all sizes of the stack */
  uint32_t stack;
};

struct heapprof {
  struct hwi_export *export;
  struct hwi_numbering keys; /* of (stack, size) */
  int64_t *counts;           /* by number */
  size_t capacity;
  bool failed;
};

/* --- what is live --- */

static bool take(void *context, const struct hwi_block_event *event)
{
  struct heapprof *to = context;
  if (event->kind != HWI_BLOCK_ALLOC && !hwi_block_is_end(event))
    return true;
  const uint32_t known = to->keys.count, number = hwi_numbering_of(&to->keys, event->stack, event->size);
  if (number == 0 || !hwi_grow((void **)&to->counts, &to->capacity, (size_t)number + 1, sizeof *to->counts)) {
    to->failed = true;
    return false;
  }
  if (number > known)
    to->counts[number] = 0;
  to->counts[number] += event->kind == HWI_BLOCK_ALLOC ? 1 : -1;
  return true;
}

/* Fills `rows` with the sizes that have live blocks, and returns how many there are. `stack_bytes` is all zero. */
static size_t list_blocks(const struct heapprof *to, struct blocks *rows, uint64_t *stack_bytes)
{
  size_t count = 0;
  for (uint32_t number = 1; number <= to->keys.count; number++) {
    const struct hwi_pair *key = &to->keys.pairs[number];
    if (to->counts[number] <= 0)
      continue;
    rows[count++] = (struct blocks){.size = key->b, .count = (uint64_t)to->counts[number], .stack = (uint32_t)key->a};
    stack_bytes[key->a] += key->b * (uint64_t)to->counts[number];
  }
  for (size_t i = 0; i < count; i++)
    rows[i].stack_bytes = stack_bytes[rows[i].stack];
  return count;
}

static int by_stack_and_size(const void *left, const void *right)
{
  const struct blocks *a = left, *b = right;
  if (a->stack_bytes != b->stack_bytes)
    return a->stack_bytes > b->stack_bytes ? -1 : 1;
  if (a->stack != b->stack)
    return a->stack < b->stack ? -1 : 1;
  return a->size > b->size ? -1 : a->size < b->size;
}

/* --- the listing --- */

static void put_site(struct hwi_export *export, const struct hwi_site *site)
{
  struct hwi_line name = {0}, clean = {0};
  for (uint32_t i = 0; i < site->symbol_count; i++) {
    const char *file = hwi_site_file(site, i);
    hwi_line_clear(&clean);
    hwi_line_clean(&clean, hwi_site_function(&export->sites, site, i, &name));
    if (*file) {
      hwi_line_puts(&clean, " (");
      hwi_line_clean(&clean, file);
      hwi_line_printf(&clean, ":%" PRIu32 ").", hwi_site_line(site, i));
    }
    if (site->cut)
      fprintf(export->out, "  %s\n", hwi_line_text(&clean));
    else
      fprintf(export->out, "  0x%" PRIx64 " %s\n", site->address, hwi_line_text(&clean));
  }
  hwi_line_release(&name);
  hwi_line_release(&clean);
}

/* Writes the rows of one stack, the first `count`. */
static int put_stack(struct hwi_export *export, const struct blocks *rows, size_t count, uint64_t all_bytes,
                     struct hwi_error *error)
{
  const double share = all_bytes ? 100.0 * (double)rows->stack_bytes / (double)all_bytes : 0;
  const char *separator = "";
  fprintf(export->out, "%d%% %" PRIu64 " [", (int)share, rows->stack_bytes);
  for (size_t i = 0; i < count; i++) {
    for (uint64_t k = 0; k < rows[i].count; k++, separator = ", ")
      fprintf(export->out, "%s%" PRIu64, separator, rows[i].size);
  }
  fputs("]\n", export->out);
  const int status = hwi_sites_load(&export->sites, rows->stack, error);
  for (uint32_t i = 0; i < export->sites.path_count && status == HW_OK; i++)
    put_site(export, hwi_site_of(&export->sites, export->sites.path[i]));
  return status;
}

static int put_all(struct heapprof *to, struct hwi_error *error)
{
  struct blocks *rows = calloc((size_t)to->keys.count + 1, sizeof *rows);
  uint64_t *stack_bytes = calloc((size_t)to->export->profile->stack_count + 1, sizeof *stack_bytes);
  int status = rows && stack_bytes ? HW_OK : hwi_export_no_memory(error);
  const size_t count = status == HW_OK ? list_blocks(to, rows, stack_bytes) : 0;
  uint64_t all_bytes = 0;
  if (count > 0)
    qsort(rows, count, sizeof *rows, by_stack_and_size);
  for (size_t i = 0; i < count; i++)
    all_bytes += rows[i].size * rows[i].count;
  for (size_t first = 0, end; first < count && status == HW_OK; first = end) {
    for (end = first; end < count && rows[end].stack == rows[first].stack; end++)
      continue;
    status = put_stack(to->export, &rows[first], end - first, all_bytes, error);
  }
  free(rows);
  free(stack_bytes);
  return status;
}

static int write_heapprof(struct hwi_export *export, struct hwi_error *error)
{
  struct heapprof to = {.export = export};
  const struct hwi_block_sink sink = {.take = take, .context = &to};
  int status = hwi_export_events(export, &sink, error);
  if (to.failed)
    status = hwi_export_no_memory(error);
  if (status == HW_OK)
    status = put_all(&to, error);
  hwi_numbering_release(&to.keys);
  free(to.counts);
  return status;
}

const struct hwi_export_format hwi_export_heapprof = {
    .name = "heapprof",
    .suffixes = (const char *const[]){".heapprof", NULL},
    .summary = "heapprof's listing: what is live at the end, by stack, with each block's size",
    .needs_all_events = true,
    .spans = HWI_EXPORT_INTERVALS,
    .write = write_heapprof,
};
