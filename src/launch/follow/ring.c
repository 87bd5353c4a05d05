/* ring.c - bounds the size of a trace that is packed while its program runs: old sections are dropped */
#include "launch/follow/ring.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "launch/pack/base.h"
#include "launch/tool_log.h"
#include "platform/os.h"
#include "platform/os_tools.h"
#include "trace/clock.h"
#include "trace/grow.h"
#include "trace/read/hold.h"
#include "trace/read/index.h"

enum { SHARE = 8, STEP_MAX_BYTES = 16 << 20, STEP_MIN_BYTES = 64 << 10 };
static const uint64_t EVENT_DELAY_MAX_NS = 200000000; /* that a thread may wait in the middle of an event */
static const uint64_t BLOCKED_MAX_NS = 60000000000;   /* that readers may delay the dropping */

void hwi_ring_release(struct hwi_ring *ring)
{
  free(ring->sections);
  *ring = (struct hwi_ring){0};
}

/* --- what is there --- */

static int look(struct hwi_ring *ring, const struct hwi_ring_trace *trace)
{
  if (!ring->known_off)
    ring->known_off = (hwi_index_sections_off(trace->header) + 7) & ~UINT64_C(7);
  while (ring->known_off < *trace->append_off) {
    struct hw_section_header section;
    if (pread(trace->fd, &section, sizeof section, (off_t)ring->known_off) != (ssize_t)sizeof section)
      return HW_ERR_IO;
    if (!hwi_grow((void **)&ring->sections, &ring->capacity, ring->count + 1, sizeof *ring->sections))
      return HW_ERR_MEMORY;
    const uint64_t bytes = (sizeof section + section.packed_bytes + 7) & ~UINT64_C(7);
    ring->sections[ring->count++] =
        (struct hwi_ring_section){ring->known_off, bytes, section.last_tick, section.type, false};
    ring->known_off += bytes;
  }
  return 0;
}

static bool is_older(const struct hwi_ring_section *section, uint64_t tick)
{
  return section->type == HW_SECTION_EVENTS && !section->is_empty && section->last_tick < tick;
}

static uint64_t bytes_from(const struct hwi_ring *ring, uint64_t tick)
{
  uint64_t bytes = 0;
  for (size_t i = 0; i < ring->count; i++)
    bytes += ring->sections[i].type == HW_SECTION_EVENTS && ring->sections[i].last_tick >= tick
                 ? ring->sections[i].bytes
                 : 0;
  return bytes;
}

/* --- the moment --- */

static int compare_sections(const void *a, const void *b)
{
  const struct hwi_ring_section *left = a, *right = b;
  return left->last_tick < right->last_tick ? -1 : left->last_tick > right->last_tick;
}

/* Returns the moment from which so many bytes are kept, or 0 if there are not more. */
static uint64_t moment_for_bytes(const struct hwi_ring *ring, uint64_t keep_bytes)
{
  uint64_t kept = bytes_from(ring, ring->from_tick), tick = 0;
  struct hwi_ring_section *sorted = malloc((ring->count + 1) * sizeof *sorted);
  if (!sorted)
    return 0;
  size_t count = 0;
  for (size_t i = 0; i < ring->count; i++)
    if (ring->sections[i].type == HW_SECTION_EVENTS && ring->sections[i].last_tick >= ring->from_tick)
      sorted[count++] = ring->sections[i];
  qsort(sorted, count, sizeof *sorted, compare_sections);
  for (size_t i = 0; i < count && kept > keep_bytes; i++) {
    kept -= sorted[i].bytes;
    tick = sorted[i].last_tick + 1;
  }
  free(sorted);
  return tick;
}

/* Returns the moment before which events are to be dropped now, or 0. */
static uint64_t choose(const struct hwi_ring *ring, const struct hwi_ring_trace *trace, const struct hwi_keep *keep)
{
  const uint64_t certain = trace->is_over ? UINT64_MAX : hwi_clock_tick_ago(trace->header, EVENT_DELAY_MAX_NS);
  uint64_t tick = keep->bytes ? moment_for_bytes(ring, keep->bytes) : hwi_clock_tick_ago(trace->header, keep->ns);
  if (tick > certain)
    tick = certain;
  if (tick <= ring->from_tick)
    return 0;
  const uint64_t all = bytes_from(ring, ring->from_tick), kept = bytes_from(ring, tick);
  uint64_t step = kept / SHARE;
  step = step > STEP_MAX_BYTES ? STEP_MAX_BYTES : step < STEP_MIN_BYTES ? STEP_MIN_BYTES : step;
  if (step < ring->base_bytes)
    step = ring->base_bytes;
  return all - kept >= step ? tick : 0;
}

/* --- giving back --- */

static void punch_pages(int fd, uint64_t from, uint64_t to)
{
  from = (from + HWI_OS_PAGE_BYTES - 1) & ~(uint64_t)(HWI_OS_PAGE_BYTES - 1);
  to &= ~(uint64_t)(HWI_OS_PAGE_BYTES - 1);
  if (from < to)
    hwi_os_punch_hole(fd, from, to - from);
}

/* Moves the begin of the sections. Their space is given back later, with that of others. */
static void move_begin(struct hwi_ring *ring, const struct hwi_ring_trace *trace)
{
  size_t gone = 0;
  while (gone < ring->count && ring->sections[gone].is_empty)
    gone++;
  if (!gone || gone == ring->count)
    return;
  const uint64_t off = ring->sections[gone].off, before = ring->sections[0].off;
  if (pwrite(trace->fd, &off, sizeof off, offsetof(struct hw_trace_header, sections_off)) != (ssize_t)sizeof off)
    return;
  punch_pages(trace->fd, before & ~(uint64_t)(HWI_OS_PAGE_BYTES - 1), off);
  ring->count -= gone;
  memmove(ring->sections, ring->sections + gone, ring->count * sizeof *ring->sections);
}

static void empty_sections(struct hwi_ring *ring, const struct hwi_ring_trace *trace)
{
  for (size_t i = 0; i < ring->count; i++) {
    struct hwi_ring_section *section = &ring->sections[i];
    const bool is_base = section->type == HW_SECTION_LEFT || section->type == HW_SECTION_BASE;
    if (section->is_empty || !(is_older(section, ring->from_tick) || (is_base && section->off < ring->base_off)))
      continue;
    section->is_empty = true;
    punch_pages(trace->fd, section->off + sizeof(struct hw_section_header), section->off + section->bytes);
  }
}

/* Empties sections that the latest base replaces, and earlier bases. A header stays until the begin of the sections is after
 * it. */
static void give_back(struct hwi_ring *ring, const struct hwi_ring_trace *trace)
{
  const bool is_free = hwi_hold_try_drop(trace->fd);
  const uint64_t now_ns = hwi_monotonic_ns();
  if (!is_free && !ring->blocked_ns)
    ring->blocked_ns = now_ns;
  if (!is_free && now_ns - ring->blocked_ns < BLOCKED_MAX_NS)
    return;
  empty_sections(ring, trace);
  move_begin(ring, trace);
  ring->has_more = false;
  ring->blocked_ns = 0;
  if (is_free)
    hwi_hold_end(trace->fd);
}

/* --- the turn --- */

static int turn(struct hwi_ring *ring, const struct hwi_ring_trace *trace, uint64_t tick, struct hwi_packer *packer)
{
  const uint64_t start = *trace->append_off;
  struct hwi_section_file file = {.packer = packer, .fd = trace->fd, .off = start};
  int status = hwi_base_write(&file, trace->fd, trace->header, tick);
  if (status == 0 && !hwi_os_write_out(trace->fd, start, file.off - start))
    status = HW_ERR_IO;
  if (status < 0) {
    const int os_error = errno;
    (void)!ftruncate(trace->fd, (off_t)start);
    errno = os_error;
    return status;
  }
  *trace->append_off = file.off;
  ring->from_tick = tick;
  ring->base_bytes = file.off - start;
  ring->base_off = start;
  ring->has_more = true;
  return look(ring, trace);
}

void hwi_ring_move_limit(const struct hwi_ring_trace *trace, const struct hwi_keep *keep)
{
  const uint64_t limit = trace->header->used_bytes + keep->unpacked_bytes;
  (void)!pwrite(trace->fd, &limit, sizeof limit, offsetof(struct hw_trace_header, limit_off));
}

int hwi_ring_work(struct hwi_ring *ring, const struct hwi_ring_trace *trace, const struct hwi_keep *keep,
                  struct hwi_packer *packer)
{
  int status = look(ring, trace);
  const uint64_t tick = status == 0 ? choose(ring, trace, keep) : 0;
  if (tick)
    status = turn(ring, trace, tick, packer);
  if (status == 0 && ring->has_more)
    give_back(ring, trace);
  return status;
}
