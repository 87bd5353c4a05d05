/* writer.c - the window of a raw trace: its header, and the chunks cut from it
 *
 * The window is mapped without a descriptor: if mremap is called with an old size of zero, Linux duplicates a shared
 * mapping, to any length, from the same offset in the file. So the last page of each segment, which is never part of a
 * chunk, is the seed of the next segment. Segments are mapped without access, and chunks are made accessible one by
 * one: a program that locks its memory (mlockall, as real-time programs do) only locks the chunks in use. A retired
 * chunk's pages are replaced by an empty mapping; this also works on locked memory, where the pages could not be
 * discarded. The address range stays reserved until all of the segment is given back: if the program could map memory
 * there, a later clean-up of the segment would unmap it. Then it is held as a spare range, which makes room for the next segment
 * if the program has no address space left. (mremap may check the limit before it replaces a range, so that the range is unmapped
 * first. In between, another thread of the program may take the room.)
 */
#include "trace/writer.h"

#include <errno.h>
#include <string.h>

#include "platform/arch.h"
#include "platform/os.h"

enum {
  PAGE = HWI_OS_PAGE_BYTES,
  FIRST_SEGMENT_OFF = HW_CHUNKS_OFF,
  SMALLEST_WINDOW_BYTES = HW_CHUNKS_OFF + (1 << 20),
  ADDRESS_SPACE_SHARE = 128, /* for a segment; as much is held as a spare range */
  MOST_TURNS = 100,
  ROOM_LEFT_BYTES = 2 << 20, /* of limited address space: for the recorder's tables and the program */
};
static const uint64_t SMALLEST_SEGMENT_BYTES = 4 << 20;

/* Replaces the address of a segment that was given back. */
#define GONE ((uint8_t *)1)

static uint64_t whole_pages(uint64_t bytes)
{
  return bytes & ~(uint64_t)(PAGE - 1);
}

/* Returns the first offset of segment i; the last page of a segment is also the first page of the next one. */
static uint64_t segment_off(const struct hwi_writer *writer, uint64_t i)
{
  return FIRST_SEGMENT_OFF + i * (writer->segment_bytes - PAGE);
}

static uint64_t segment_of(const struct hwi_writer *writer, uint64_t off)
{
  return (off - FIRST_SEGMENT_OFF) / (writer->segment_bytes - PAGE);
}

static struct hw_trace_header make_header(const struct hw_trace_header *from, uint64_t window_bytes)
{
  struct hw_trace_header made = *from;
  memcpy(made.magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES);
  made.version = HW_TRACE_VERSION;
  made.kind = HW_TRACE_RAW;
  made.header_bytes = HW_TRACE_HEADER_BYTES;
  made.machine = HWI_ARCH_ELF_MACHINE;
  made.pointer_bytes = sizeof(void *);
  made.page_bytes = PAGE;
  made.window_bytes = window_bytes;
  made.used_bytes = HW_CHUNKS_OFF;
  return made;
}

/* If the address space is limited, the recorder leaves nearly all of it to the program. Addresses of 32 bits are a limit, too. */
static void shrink_to_address_space(uint64_t *window_bytes, uint64_t *segment_bytes)
{
  const uint64_t limit = hwi_os_address_space_limit();
  uint64_t most = whole_pages((limit < UINTPTR_MAX ? limit : UINTPTR_MAX) / ADDRESS_SPACE_SHARE);
  if (most < HW_CHUNK_MAX_BYTES)
    most = HW_CHUNK_MAX_BYTES;
  if (*segment_bytes <= most)
    return;
  *segment_bytes = most;
  uint64_t largest = HW_CHUNKS_OFF + (HWI_WRITER_SEGMENTS - 1) * (most - PAGE);
  if (*window_bytes > largest)
    *window_bytes = largest;
}

/* Returns whether the program could still map memory. If it could not, the program is not recorded. */
static bool is_room_left(void)
{
  if (hwi_os_address_space_limit() == UINT64_MAX)
    return true;
  void *room = hwi_os_map(ROOM_LEFT_BYTES);
  if (room)
    hwi_os_unmap(room, ROOM_LEFT_BYTES);
  return room;
}

/* Returns false if there is no spare range. */
static bool release_spare(struct hwi_writer *writer)
{
  uint8_t *start = atomic_exchange(&writer->spare, NULL);
  if (start)
    hwi_os_unmap(start, writer->segment_bytes);
  return start;
}

/* Not if the program would have too little address space. */
static void reserve_spare(struct hwi_writer *writer)
{
  uint8_t *none = NULL, *start = atomic_load(&writer->spare) ? NULL : hwi_os_reserve(writer->segment_bytes);
  if (start && !(is_room_left() && atomic_compare_exchange_strong(&writer->spare, &none, start)))
    hwi_os_unmap(start, writer->segment_bytes);
}

int hwi_writer_open(struct hwi_writer *writer, const char *path, uint64_t window_bytes,
                    const struct hw_trace_header *header)
{
  release_spare(writer); /* a child of a fork may have its parent's */
  window_bytes = whole_pages(window_bytes < SMALLEST_WINDOW_BYTES ? SMALLEST_WINDOW_BYTES : window_bytes);
  uint64_t segment_bytes = whole_pages(window_bytes / (HWI_WRITER_SEGMENTS / 2)) + PAGE;
  if (segment_bytes < SMALLEST_SEGMENT_BYTES)
    segment_bytes = SMALLEST_SEGMENT_BYTES;
  if (!hwi_os_can_map_on())
    segment_bytes = window_bytes; /* a second segment is not possible */
  shrink_to_address_space(&window_bytes, &segment_bytes);
  struct hw_trace_header made = make_header(header, window_bytes);
  struct hwi_os_part head = {.bytes = HW_TRACE_HEADER_BYTES, .contents = &made, .contents_bytes = sizeof made};
  struct hwi_os_part body = {.off = FIRST_SEGMENT_OFF, .bytes = segment_bytes};
  int result = hwi_os_map_new_file(path, window_bytes, &head, &body);
  if (result)
    return result;
  result = is_room_left() ? hwi_os_populate(head.start, head.bytes) : -ENOMEM;
  if (result) {
    hwi_os_unmap(head.start, head.bytes);
    hwi_os_unmap(body.start, body.bytes);
    hwi_os_remove_file(path);
    return result;
  }
  if (writer->window_bytes) /* it was open before; else its pages stay untouched */
    memset(writer->segments, 0, sizeof writer->segments);
  memcpy(&writer->image_tag, header->image_id, sizeof writer->image_tag);
  writer->window_bytes = window_bytes;
  writer->segment_bytes = segment_bytes;
  atomic_store(&writer->segments[0].start, body.start);
  atomic_store(&writer->next_off, FIRST_SEGMENT_OFF);
  writer->header = head.start;
  if (segment_bytes < window_bytes)
    reserve_spare(writer);
  return 0;
}

struct hw_trace_header *hwi_writer_close_chunks(struct hwi_writer *writer)
{
  /* Segments are mapped in order: the first that never was ends them. */
  for (uint32_t i = 0; i < HWI_WRITER_SEGMENTS && atomic_load(&writer->segments[i].start); i++) {
    uint8_t *start = atomic_exchange(&writer->segments[i].start, GONE);
    if (start != GONE)
      hwi_os_unmap(start, writer->segment_bytes);
  }
  release_spare(writer);
  struct hw_trace_header *header = writer->header;
  writer->header = NULL;
  return header;
}

void hwi_writer_close(struct hwi_writer *writer)
{
  hwi_os_unmap(hwi_writer_close_chunks(writer), HW_TRACE_HEADER_BYTES);
}

/* --- segments --- */

/* The range of a segment that was given back, or was not needed, becomes the spare one if there is none. */
static void hold_range(struct hwi_writer *writer, uint8_t *start)
{
  uint8_t *none = NULL;
  if (atomic_load(&writer->spare) || hwi_os_replace_by_nothing(start, writer->segment_bytes) ||
      !atomic_compare_exchange_strong(&writer->spare, &none, start))
    hwi_os_unmap(start, writer->segment_bytes);
}

/* Counts bytes of the segment that will not be used any more. When all of its bytes are counted, the segment
 * ends. The seed page is counted when the next segment is mapped. */
static void give_back(struct hwi_writer *writer, uint64_t i, uint64_t bytes)
{
  struct hwi_segment *segment = &writer->segments[i];
  if (atomic_fetch_add(&segment->given_bytes, bytes) + bytes < writer->segment_bytes)
    return;
  uint8_t *start = atomic_exchange(&segment->start, GONE);
  if (start != GONE)
    hold_range(writer, start);
}

/* Returns whether another thread maps segment `i` just now. It may be a thread that this one has interrupted: the wait ends. */
static bool is_mapped_soon(struct hwi_writer *writer, uint64_t i)
{
  for (int turn = 0; turn < MOST_TURNS && !atomic_load(&writer->segments[i].start); turn++)
    hwi_os_yield();
  return atomic_load(&writer->segments[i].start);
}

/* Makes sure that segment `i` is mapped, or was mapped before. Returns false if there is no memory. */
static bool map_segment(struct hwi_writer *writer, uint64_t i)
{
  uint8_t *start = atomic_load(&writer->segments[i].start);
  if (start)
    return true;
  uint8_t *before = i ? atomic_load(&writer->segments[i - 1].start) : NULL;
  bool has_seed = before && before != GONE; /* otherwise another thread mapped segment i meanwhile */
  if (!has_seed)
    return atomic_load(&writer->segments[i].start);
  uint8_t *seed = before + writer->segment_bytes - PAGE, *mine = hwi_os_map_on(seed, writer->segment_bytes);
  if (!mine && release_spare(writer))
    mine = hwi_os_map_on(seed, writer->segment_bytes);
  if (!mine)
    return is_mapped_soon(writer, i);
  if (atomic_compare_exchange_strong(&writer->segments[i].start, &start, mine))
    give_back(writer, i - 1, PAGE);
  else
    hold_range(writer, mine);
  reserve_spare(writer); /* a thread may still use the segment before */
  return true;
}

/* Returns where chunks must end. A packer that drops old events moves its limit on while it keeps up with the program. */
static uint64_t end_of_chunks(const struct hwi_writer *writer)
{
  const uint64_t limit = __atomic_load_n(&writer->header->limit_off, __ATOMIC_RELAXED);
  return limit && limit < writer->window_bytes ? limit : writer->window_bytes;
}

/* Takes `bytes` bytes from the window, all within one segment. Returns their offset, or 0 on failure; *is_full is set if there
 * are not so many before the end. If the rest of a segment is too short, it is given back. A segment is not unmapped while it
 * has bytes that were not taken yet. */
static uint64_t cut(struct hwi_writer *writer, uint32_t bytes, bool *is_full)
{
  const uint64_t last = end_of_chunks(writer);
  uint64_t off = atomic_load_explicit(&writer->next_off, memory_order_relaxed), start, skipped;
  do {
    uint64_t i = segment_of(writer, off), end = segment_off(writer, i + 1);
    start = bytes <= end - off ? off : end;
    skipped = start - off;
    *is_full = start > last || bytes > last - start || segment_of(writer, start) >= HWI_WRITER_SEGMENTS;
    if (*is_full || !map_segment(writer, segment_of(writer, start)))
      return 0;
  } while (!atomic_compare_exchange_weak(&writer->next_off, &off, start + bytes));
  if (skipped)
    give_back(writer, segment_of(writer, off), skipped);
  return start;
}

/* --- chunks --- */

/* Threads make chunks in any order, but the number never decreases. A larger value of another thread stays; a smaller
 * one is overwritten. */
static void raise_to(uint64_t *number, uint64_t at_least)
{
  uint64_t now = __atomic_load_n(number, __ATOMIC_RELAXED);
  while (now < at_least &&
         !__atomic_compare_exchange_n(number, &now, at_least, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
}

bool hwi_writer_extend(uint8_t **end)
{
  if (hwi_os_populate(*end, PAGE))
    return false;
  *end += PAGE;
  return true;
}

struct hw_chunk_header *hwi_writer_chunk(struct hwi_writer *writer, uint32_t bytes, const struct hw_chunk_header *like,
                                         uint8_t **end, enum hw_trace_state *reason)
{
  bool is_full;
  uint64_t off = cut(writer, bytes, &is_full);
  if (!off) {
    *reason = is_full ? HW_STATE_STOPPED_LIMIT : HW_STATE_STOPPED_MEMORY;
    return NULL;
  }
  uint64_t i = segment_of(writer, off);
  uint8_t *start = atomic_load(&writer->segments[i].start);
  struct hw_chunk_header *chunk = (struct hw_chunk_header *)(start + (off - segment_off(writer, i)));
  if (hwi_os_allow_access(chunk, bytes)) {
    *reason = HW_STATE_STOPPED_MEMORY;
    return NULL;
  }
  *end = (uint8_t *)chunk;
  if (!hwi_writer_extend(end)) {
    *reason = HW_STATE_STOPPED_DISK;
    return NULL;
  }
  *chunk = *like;
  chunk->bytes = bytes;
  chunk->off = off;
  chunk->image_tag = writer->image_tag;
  chunk->valid_bytes = 0;
  chunk->state = HW_CHUNK_OPEN;
  raise_to(&writer->header->used_bytes, off + bytes);
  return chunk;
}

void hwi_writer_publish(struct hw_chunk_header *chunk)
{
  __atomic_store_n(&chunk->magic, HW_CHUNK_MAGIC, __ATOMIC_RELEASE);
}

void hwi_writer_retire(struct hwi_writer *writer, struct hw_chunk_header *chunk, uint32_t bytes)
{
  uint64_t off = chunk->off; /* only to find the segment; checked below, since other processes can write the file */
  __atomic_store_n(&chunk->state, HW_CHUNK_RETIRED, __ATOMIC_RELEASE);
  hwi_os_replace_by_nothing(chunk, bytes);
  if (off < FIRST_SEGMENT_OFF || segment_of(writer, off) >= HWI_WRITER_SEGMENTS)
    return;
  uint64_t i = segment_of(writer, off);
  uint8_t *start = atomic_load(&writer->segments[i].start);
  if (start && start != GONE && start + (off - segment_off(writer, i)) == (uint8_t *)chunk)
    give_back(writer, i, bytes);
}
