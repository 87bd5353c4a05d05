/* last_calls.c - the last calls of a recorded process whose trace is lost */
#include "memory/heaps/last_calls.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#include "trace/decode.h"
#include "trace/grow.h"

enum { STREAMS_MOST = 1 << 16, STEPS_MOST = 1 << 16 };

struct search {
  struct hwi_last_calls *calls;
  struct hwi_own_tables tables;
  struct hwi_memory_reader reader;
  uint64_t left; /* bytes of events that are decoded yet: chunks of a forged image may overlap */
  bool failed;   /* no memory */
};

/* --- calls of a thread --- */

/* The latest calls of a lane, or those of its slots. */
struct ring {
  struct hwi_last_call calls[HW_RECENT_SLOTS];
  size_t count; /* in all */
};
static_assert((int)HW_RECENT_SLOTS >= (int)HWI_LAST_CALLS_MOST, "the latest calls have room");

static void add_call(struct ring *ring, const struct hwi_last_call *call)
{
  struct hwi_last_call *slot = &ring->calls[ring->count % HW_RECENT_SLOTS];
  *slot = *call;
  slot->place = ring->count++;
}

static size_t calls_in(const struct ring *ring)
{
  return ring->count < HW_RECENT_SLOTS ? ring->count : HW_RECENT_SLOTS;
}

static int by_time(const void *a, const void *b)
{
  const struct hwi_last_call *x = a, *y = b;
  return x->tick != y->tick ? (x->tick > y->tick ? -1 : 1) : x->place > y->place ? -1 : x->place < y->place;
}

static int by_size(const void *a, const void *b)
{
  const struct hwi_last_call *x = a, *y = b;
  return x->size > y->size ? -1 : x->size < y->size;
}

/* --- an open chunk --- */

static bool ignore_node(void *context, uint32_t number, const struct hwi_node *node)
{
  (void)context, (void)number, (void)node;
  return true;
}

/* From a THREAD record on, the events are of that thread. */
static bool take_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct hwi_thread about;
  (void)context;
  return type != HW_RECORD_THREAD || hwi_payload_thread(payload, bytes, thread, &about);
}

/* Of two equal times, the later event in the chunk is the later one. */
static void take_event(struct ring *ring, const struct hwi_event *event, uint32_t thread)
{
  if (event->thread != thread || event->kind > HWI_EVENT_FAILED)
    return;
  add_call(ring, &(struct hwi_last_call){.tick = event->tick,
                                         .address = event->address,
                                         .size = event->size,
                                         .node = event->node,
                                         .entry = event->entry,
                                         .is_free = event->kind == HWI_EVENT_FREE,
                                         .has_failed = event->kind == HWI_EVENT_FAILED});
}

static void decode(const struct hw_chunk_header *header, const uint8_t *events, uint32_t thread, struct ring *ring)
{
  enum { EVENTS = 256 };
  const struct hwi_definition_sink sink = {.add_node = ignore_node, .add_record = take_record};
  struct hwi_event decoded[EVENTS];
  struct hwi_cursor cursor;
  if (!hwi_cursor_init(&cursor, header, events, 0))
    return;
  do {
    const int count = hwi_decode(&cursor, &sink, decoded, EVENTS);
    for (int i = 0; i < count; i++)
      take_event(ring, &decoded[i], thread);
  } while (cursor.at != cursor.end && !cursor.damaged);
}

/* Returns false if the image does not have the chunk. */
static bool read_chunk(struct search *search, uint64_t address, uint32_t thread, struct ring *ring)
{
  struct hw_chunk_header header;
  const unsigned char *bytes = hwi_memory_bytes(&search->reader, address, sizeof header);
  if (!bytes)
    return false;
  memcpy(&header, bytes, sizeof header);
  if (header.magic != HW_CHUNK_MAGIC || header.valid_bytes > HW_CHUNK_MAX_BYTES || header.valid_bytes > search->left)
    return false;
  search->left -= header.valid_bytes;
  bytes = hwi_memory_bytes(&search->reader, address + sizeof header, header.valid_bytes);
  uint8_t *events = bytes ? calloc(1, header.valid_bytes + HWI_DECODE_PADDING) : NULL;
  if (!events) {
    search->failed |= bytes != NULL;
    return false;
  }
  memcpy(events, bytes, header.valid_bytes);
  decode(&header, events, thread, ring);
  free(events);
  return true;
}

/* --- threads --- */

static void read_recent(struct search *search, uint64_t lane, struct ring *ring)
{
  struct hwi_own_alloc recent;
  for (uint64_t i = 0; i < HW_RECENT_SLOTS; i++) {
    const unsigned char *bytes =
        hwi_memory_bytes(&search->reader, lane + search->tables.recent_off + i * sizeof recent, sizeof recent);
    if (!bytes)
      return;
    memcpy(&recent, bytes, sizeof recent);
    if (recent.node)
      add_call(ring, &(struct hwi_last_call){.address = recent.address, .size = recent.size, .node = recent.node});
  }
}

/* Returns whether the open chunks of both lanes are in the image. */
static bool read_chunks(struct search *search, const uint64_t *chunks, uint32_t thread, struct ring *rings)
{
  bool are_there = true;
  for (size_t i = 0; i < HWI_OWN_LANES; i++)
    are_there &= !chunks[i] || read_chunk(search, chunks[i], thread, &rings[i]);
  return are_there;
}

static void read_lanes(struct search *search, uint64_t stream, uint32_t number, struct hwi_last_thread *thread)
{
  const struct hwi_own_tables *tables = &search->tables;
  struct ring rings[HWI_OWN_LANES] = {{.count = 0}};
  struct hwi_last_call calls[HWI_OWN_LANES * HW_RECENT_SLOTS];
  uint64_t lanes[HWI_OWN_LANES], chunks[HWI_OWN_LANES] = {0};
  size_t count = 0;
  for (uint64_t i = 0; i < HWI_OWN_LANES; i++) {
    lanes[i] = stream + tables->lanes_off + i * tables->lane_bytes;
    hwi_memory_word(&search->reader, lanes[i] + tables->chunk_off, &chunks[i]);
  }
  thread->is_ordered = read_chunks(search, chunks, number, rings);
  for (size_t i = 0; i < HWI_OWN_LANES; i++) {
    if (!thread->is_ordered)
      rings[i].count = 0;
    if (!thread->is_ordered && chunks[i])
      read_recent(search, lanes[i], &rings[i]);
    memcpy(calls + count, rings[i].calls, calls_in(&rings[i]) * sizeof *calls);
    count += calls_in(&rings[i]);
  }
  qsort(calls, count, sizeof *calls, thread->is_ordered ? by_time : by_size);
  thread->count = count < HWI_LAST_CALLS_MOST ? count : HWI_LAST_CALLS_MOST;
  memcpy(thread->calls, calls, thread->count * sizeof *calls);
}

static bool word_of_32(struct search *search, uint64_t address, uint32_t *number)
{
  const unsigned char *bytes = hwi_memory_bytes(&search->reader, address, sizeof *number);
  if (bytes)
    *number = hwi_memory_load_32(search->reader.memory, bytes);
  return bytes;
}

/* Returns whether a thread of the image records in the stream, and none of those before; if the image has no threads, any does. *place
 * is that of the thread. A stream whose thread has ended has its number until another thread takes it. */
static bool is_alive(const struct hwi_last_calls *calls, uint32_t tid, size_t *place)
{
  const struct hwi_memory *memory = calls->memory;
  for (size_t i = 0; i < calls->count; i++)
    if (calls->threads[i].tid == tid)
      return false;
  for (*place = 0; *place < memory->thread_count; ++*place)
    if (memory->threads[*place].tid == tid)
      return true;
  return memory->thread_count == 0 && tid != 0;
}

static void read_stream(struct search *search, uint64_t stream)
{
  struct hwi_last_calls *calls = search->calls;
  struct hwi_last_thread thread = {0};
  uint32_t number;
  const unsigned char *name = hwi_memory_bytes(&search->reader, stream + search->tables.name_off, sizeof thread.name);
  if (!name || !word_of_32(search, stream + search->tables.tid_off, &thread.tid) ||
      !word_of_32(search, stream + search->tables.thread_off, &number) || !is_alive(calls, thread.tid, &thread.place))
    return;
  memcpy(thread.name, name, sizeof thread.name - 1);
  read_lanes(search, stream, number, &thread);
  if (!hwi_grow((void **)&calls->threads, &calls->capacity, calls->count + 1, sizeof *calls->threads)) {
    search->failed = true;
    return;
  }
  calls->threads[calls->count++] = thread;
}

static void read_streams(struct search *search)
{
  uint64_t stream;
  unsigned steps = 0;
  bool is_known = hwi_memory_word(&search->reader, search->tables.streams, &stream);
  for (; is_known && stream && steps < STREAMS_MOST && !search->failed; steps++) {
    read_stream(search, stream);
    is_known = hwi_memory_word(&search->reader, stream + search->tables.next_off, &stream);
  }
}

/* --- all --- */

static void read_name(struct search *search)
{
  char name[PATH_MAX];
  size_t bytes = 0;
  for (; bytes < sizeof name; bytes++) {
    const unsigned char *at = hwi_memory_bytes(&search->reader, search->tables.name + bytes, 1);
    if (!at || !(name[bytes] = (char)*at))
      break;
  }
  search->calls->trace = strndup(name, bytes);
  search->failed |= !search->calls->trace;
}

static int by_place(const void *a, const void *b)
{
  const struct hwi_last_thread *x = a, *y = b;
  return x->place < y->place ? -1 : x->place > y->place;
}

bool hwi_last_calls_read(struct hwi_last_calls *calls, const struct hwi_memory *memory)
{
  struct search search = {.calls = calls, .reader = {.memory = memory}, .left = hwi_memory_known_bytes(memory)};
  struct hwi_own_memory own;
  *calls = (struct hwi_last_calls){.memory = memory};
  for (size_t region = 0; !calls->trace && !search.failed && hwi_recorder_memory_next(memory, &region, &own);) {
    if (!own.tables.streams)
      continue;
    search.tables = own.tables;
    calls->node_blocks = own.tables.node_blocks;
    read_name(&search);
    read_streams(&search);
  }
  if (calls->count)
    qsort(calls->threads, calls->count, sizeof *calls->threads, by_place);
  return !search.failed;
}

/* --- stacks --- */

static bool read_node(struct hwi_memory_reader *reader, uint64_t blocks, uint32_t number, struct hwi_own_node *node)
{
  uint64_t block;
  const uint32_t mask = (UINT32_C(1) << HWI_OWN_NODE_BLOCK_LOG2) - 1;
  if (number >> HWI_OWN_NODE_BITS ||
      !hwi_memory_word(reader, blocks + (number >> HWI_OWN_NODE_BLOCK_LOG2) * sizeof block, &block) || !block)
    return false;
  const unsigned char *bytes = hwi_memory_bytes(reader, block + (number & mask) * sizeof *node, sizeof *node);
  if (bytes)
    memcpy(node, bytes, sizeof *node);
  return bytes;
}

/* Nodes that stand for frames which were left out have no address. */
size_t hwi_last_calls_stack(const struct hwi_last_calls *calls, uint32_t node, uint64_t *addresses, size_t most,
                            uint8_t *entry)
{
  struct hwi_memory_reader reader = {.memory = calls->memory};
  struct hwi_own_node of;
  size_t count = 0;
  *entry = HW_ENTRY_NONE;
  for (unsigned steps = 0;
       node && count < most && steps < STEPS_MOST && read_node(&reader, calls->node_blocks, node, &of); steps++) {
    const uint8_t kind = (uint8_t)(of.parent_entry >> HWI_OWN_NODE_ENTRY_SHIFT);
    if (steps == 0 && kind < HW_ENTRY_COUNT)
      *entry = kind;
    if (kind != HW_NODE_CUT)
      addresses[count++] = (uint64_t)(of.module_high >> HWI_OWN_NODE_HIGH_SHIFT) << 32 | of.address;
    node = of.parent_entry & ((UINT32_C(1) << HWI_OWN_NODE_ENTRY_SHIFT) - 1);
  }
  return count;
}

void hwi_last_calls_release(struct hwi_last_calls *calls)
{
  free(calls->trace);
  free(calls->threads);
  *calls = (struct hwi_last_calls){0};
}
