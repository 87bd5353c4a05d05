/* heaplog.c - heaphook's heap log: a line per call, with the pointers
 *
 * "alloc, SIZE, ALIGN, PTR, NS", "alloc_zeroed, SIZE, PTR, NS", "dealloc, PTR, NS", "realloc, OLD, SIZE, NEW, NS". NS
 * is the duration of the call, or 0 if it is not recorded. The two halves of a realloc may be separated by calls of
 * other threads: the line is written at the second half, unless the old address is allocated again before.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"

struct heaplog {
  FILE *out;
  uint64_t *moving; /* by thread: the old address of an unfinished realloc; 0: none */
  uint32_t thread_count, moving_count;
};

static void put_dealloc(FILE *out, uint64_t address, uint64_t took_ns)
{
  fprintf(out, "dealloc, 0x%016" PRIx64 ", %" PRIu64 "\n", address, took_ns);
}

/* The address is allocated again, so the realloc that frees it must be written before. */
static void settle(struct heaplog *to, uint64_t address)
{
  for (uint32_t i = 0; i < to->thread_count && to->moving_count > 0; i++) {
    if (to->moving[i] != address)
      continue;
    put_dealloc(to->out, address, 0);
    to->moving[i] = 0;
    to->moving_count--;
    return;
  }
}

static void put_alloc(struct heaplog *to, const struct hwi_block_event *event)
{
  uint64_t old = event->moved ? to->moving[event->thread] : 0;
  if (old != 0) {
    to->moving[event->thread] = 0;
    to->moving_count--;
    fprintf(to->out, "realloc, 0x%016" PRIx64 ", %" PRIu64 ", 0x%016" PRIx64 ", %" PRIu64 "\n", old, event->size,
            event->address, event->took_ns);
    return;
  }
  settle(to, event->address);
  if (event->entry == HW_ENTRY_CALLOC)
    fprintf(to->out, "alloc_zeroed, %" PRIu64 ", 0x%016" PRIx64 ", %" PRIu64 "\n", event->size, event->address,
            event->took_ns);
  else
    fprintf(to->out, "alloc, %" PRIu64 ", %" PRIu64 ", 0x%016" PRIx64 ", %" PRIu64 "\n", event->size,
            UINT64_C(1) << event->alignment_log2, event->address, event->took_ns);
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct heaplog *to = context;
  switch ((enum hwi_block_event_kind)event->kind) {
  case HWI_BLOCK_ALLOC:
    put_alloc(to, event);
    break;
  case HWI_BLOCK_FREE:
  case HWI_BLOCK_FREE_UNKNOWN:
    if (event->moved && event->kind == HWI_BLOCK_FREE && to->moving[event->thread] == 0) {
      to->moving[event->thread] = event->address;
      to->moving_count++;
    } else {
      put_dealloc(to->out, event->address, event->took_ns);
    }
    break;
  case HWI_BLOCK_FREE_MISSED:
    put_dealloc(to->out, event->address, 0);
    break;
  case HWI_BLOCK_FAILED: /* the log cannot express failed calls */
  case HWI_BLOCK_LEFT:
    break;
  }
  return !ferror(to->out);
}

static int write_heaplog(struct hwi_export *export, struct hwi_error *error)
{
  struct heaplog to = {.out = export->out, .thread_count = export->profile->thread_count};
  to.moving = calloc((size_t)to.thread_count + 1, sizeof *to.moving);
  if (!to.moving)
    return hwi_export_no_memory(error);
  struct hwi_block_sink sink = {.take = take, .context = &to};
  int status = hwi_export_events(export, &sink, error);
  for (uint32_t i = 0; i < to.thread_count; i++)
    if (to.moving[i] != 0)
      put_dealloc(to.out, to.moving[i], 0);
  free(to.moving);
  return status;
}

const struct hwi_export_format hwi_export_heaplog = {
    .name = "heaplog",
    .suffixes = (const char *const[]){".heaplog", ".log", NULL},
    .summary = "heaphook's heap log, a line a call",
    .one_process = true,
    .without_names = true,
    .needs_all_events = true,
    .spans = HWI_EXPORT_BEGINNINGS,
    .write = write_heaplog,
};
