/* recode.c - converts the events of consecutive chunks to columns (codec 1): the packer's side
 *
 * Events are decoded in batches that fit the L1 cache. Each batch is processed once per kind of column: a loop that
 * writes two or three columns keeps their ends in registers; a loop that wrote all columns could not. There are two
 * hash tables: from an address to the latest block there, and from a node to its number in the section.
 */
#include "trace/pack/recode.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/grow.h"
#include "trace/pack/recode_common.h"
#include "trace/pack/recode_definitions.h"
#include "trace/pack/recode_table.h"

enum { BATCH_EVENTS = HWI_RECODER_ROOM };

struct hwi_recoder {
  struct hwi_columns_out *out;
  struct hwi_event events[BATCH_EVENTS];
  uint8_t sized[BATCH_EVENTS];   /* of each event: HWI_OP_SIZED if sizes follow, or 0 */
  uint32_t births[BATCH_EVENTS]; /* of each event: the previous birth at its address, 0: none */
  uint32_t homes[BATCH_EVENTS];  /* of each event: the slot of `at_address` where the search for its address begins */
  uint16_t fields;               /* HW_FIELD_* */
  int status;                    /* 0, or why the section cannot be recoded */
  uint64_t tick;
  uint64_t op_count;        /* of the section */
  uint64_t chunk_op;        /* op_count when the chunk began */
  uint64_t thread_op_count; /* of the thread, so far */
  uint32_t thread;
  struct hwi_placement placement;
  uint64_t *addresses; /* of the blocks, by birth: [1, block_count) */
  uint8_t *classes;
  size_t block_count, block_room, class_room;
  struct hwi_recode_table at_address;
  size_t last_ended;
  uint64_t last_far;
  uint64_t last_in_heap;          /* address of the last HEAP event */
  struct hwi_section_node *nodes; /* [1, node_count) */
  size_t node_count, node_room;
  struct hwi_recode_table of_node;
  uint32_t last_node;
  struct hwi_definitions_out definitions;
};

struct hwi_recoder *hwi_recoder_create(void)
{
  return calloc(1, sizeof(struct hwi_recoder));
}

void hwi_recoder_destroy(struct hwi_recoder *r)
{
  if (!r)
    return;
  free(r->addresses);
  free(r->classes);
  hwi_recode_table_release(&r->at_address);
  free(r->nodes);
  hwi_recode_table_release(&r->of_node);
  hwi_definitions_out_release(&r->definitions);
  free(r);
}

/* --- times and threads --- */

static bool is_second_half(const struct hwi_event *event)
{
  return event->moved && event->kind == HWI_EVENT_ALLOC;
}

static void put_times(struct hwi_recoder *r, int count)
{
  uint8_t *const begin = hwi_columns_begin(r->out, HWI_COLUMN_TIMES, (size_t)count), *times = begin;
  uint64_t last = r->tick;
  if (!begin)
    return;
  for (int i = 0; i < count; i++) {
    const struct hwi_event *event = &r->events[i];
    uint64_t ticks = event->tick - last;
    last = event->tick;
    if (is_second_half(event)) {
      hwi_columns_put(r->out, HWI_COLUMN_REALLOC_TIMES, ticks);
      continue;
    }
    *times++ = ticks < HWI_TIME_LONG ? (uint8_t)ticks : (uint8_t)HWI_TIME_LONG;
    if (ticks >= HWI_TIME_LONG)
      hwi_columns_put(r->out, HWI_COLUMN_LONG_TIMES, ticks);
  }
  hwi_columns_end(r->out, HWI_COLUMN_TIMES, times);
  r->op_count += (uint64_t)(times - begin);
  r->tick = last;
}

static void put_durations(struct hwi_recoder *r, int count)
{
  uint8_t *to = hwi_columns_begin(r->out, HWI_COLUMN_DURATIONS, (size_t)count * HWI_VARINT_MAX_BYTES);
  if (!to)
    return;
  for (int i = 0; i < count; i++)
    if (r->events[i].kind != HWI_EVENT_FREE || !r->events[i].moved)
      to = hwi_put_varint(to, r->events[i].took);
  hwi_columns_end(r->out, HWI_COLUMN_DURATIONS, to);
}

static void end_thread(struct hwi_recoder *r)
{
  if (r->thread_op_count) {
    hwi_columns_put(r->out, HWI_COLUMN_THREADS, r->thread_op_count);
    hwi_columns_put(r->out, HWI_COLUMN_THREADS, r->thread);
  }
  r->thread_op_count = 0;
}

static bool are_of_thread(const struct hwi_recoder *r, int count)
{
  uint32_t different = 0;
  for (int i = 0; i < count; i++)
    different |= r->events[i].thread ^ r->thread;
  return !different;
}

/* `ops`: the number of ops in the batch. */
static void put_threads(struct hwi_recoder *r, int count, uint64_t ops)
{
  if (are_of_thread(r, count)) {
    r->thread_op_count += ops;
    return;
  }
  for (int i = 0; i < count; i++) {
    const struct hwi_event *event = &r->events[i];
    if (event->thread != r->thread)
      end_thread(r);
    r->thread = event->thread;
    r->thread_op_count += !is_second_half(event);
  }
}

/* --- nodes and sizes --- */

static inline uint32_t *find_node(const struct hwi_recoder *r, uint32_t node)
{
  const struct hwi_recode_table *table = &r->of_node;
  uint32_t at = hwi_recode_table_mix(node) & table->mask;
  while (table->slots[at] && r->nodes[table->slots[at]].number != node)
    at = (at + 1) & table->mask;
  return &table->slots[at];
}

/* Makes room for the nodes of a batch. */
static bool grow_nodes(struct hwi_recoder *r)
{
  if (!hwi_grow((void **)&r->nodes, &r->node_room, r->node_count + BATCH_EVENTS, sizeof *r->nodes))
    return false;
  if (!hwi_recode_table_is_full(&r->of_node, BATCH_EVENTS))
    return true;
  if (!hwi_recode_table_reset(&r->of_node, r->node_count * 2 + BATCH_EVENTS))
    return false;
  for (uint32_t number = 1; number < r->node_count; number++)
    *find_node(r, r->nodes[number].number) = number;
  r->of_node.count = (uint32_t)r->node_count - 1;
  return true;
}

/* Adds a node and returns its number. */
static __attribute__((noinline)) uint32_t add_node(struct hwi_recoder *r, uint32_t node, uint32_t *slot)
{
  hwi_columns_put(r->out, HWI_COLUMN_NEW_NODES, hwi_zigzag((int32_t)(node - r->last_node)));
  r->last_node = node;
  r->of_node.count++;
  r->nodes[r->node_count] = (struct hwi_section_node){.number = node};
  return *slot = (uint32_t)r->node_count++;
}

static __attribute__((noinline)) void put_sizes(struct hwi_recoder *r, const struct hwi_event *event)
{
  if (!(r->fields & HW_FIELD_USABLE)) {
    hwi_columns_put(r->out, HWI_COLUMN_SIZES, event->size);
    return;
  }
  int64_t unusual = (int64_t)(event->usable - hw_usual_usable(event->size));
  hwi_columns_put(r->out, HWI_COLUMN_SIZES, event->size << 1 | (unusual != 0));
  if (unusual)
    hwi_columns_put(r->out, HWI_COLUMN_USABLE, hwi_zigzag(unusual));
}

static void put_nodes(struct hwi_recoder *r, int count)
{
  uint8_t *nodes = hwi_columns_begin(r->out, HWI_COLUMN_NODES, (size_t)count * HWI_VARINT_MAX_BYTES);
  if (!nodes)
    return;
  for (int i = 0; i < count; i++) {
    const struct hwi_event *event = &r->events[i];
    if (event->kind != HWI_EVENT_ALLOC)
      continue;
    uint32_t *slot = find_node(r, event->node), number = *slot;
    nodes = hwi_put_varint(nodes, number ? number - 1 + HWI_NODE_FIRST : (uint32_t)HWI_NODE_NEW);
    if (!number)
      number = add_node(r, event->node, slot);
    struct hwi_section_node *node = &r->nodes[number];
    r->sized[i] = 0;
    if (event->size == node->size && event->usable == node->usable)
      continue;
    r->sized[i] = HWI_OP_SIZED;
    node->size = event->size;
    node->usable = event->usable;
    put_sizes(r, event);
  }
  hwi_columns_end(r->out, HWI_COLUMN_NODES, nodes);
}

/* --- blocks --- */

/* Blocks that are neighbours in the heap have neighbouring slots, since programs mostly use them together. */
static inline uint32_t home_of_address(const struct hwi_recode_table *table, uint64_t address)
{
  enum { LINE_LOG2 = 4, GRAIN_LOG2 = 4, LINE_MASK = (1 << LINE_LOG2) - 1 };
  uint32_t at =
      hwi_recode_table_mix(address >> (GRAIN_LOG2 + LINE_LOG2)) << LINE_LOG2 | (address >> GRAIN_LOG2 & LINE_MASK);
  return at & table->mask;
}

/* Computes the slots in advance, so that they can be prefetched. */
static void find_homes(struct hwi_recoder *r, int count)
{
  for (int i = 0; i < count; i++) {
    r->homes[i] = home_of_address(&r->at_address, r->events[i].address);
    __builtin_prefetch(&r->at_address.slots[r->homes[i]]);
  }
}

static inline uint32_t *find_address(const struct hwi_recoder *r, uint64_t address, uint32_t at)
{
  const struct hwi_recode_table *table = &r->at_address;
  while (table->slots[at] && r->addresses[table->slots[at]] != address)
    at = (at + 1) & table->mask;
  return &table->slots[at];
}

/* Makes room for the blocks of a batch. The table has the latest block at each address. */
static bool grow_blocks(struct hwi_recoder *r)
{
  if (!hwi_grow((void **)&r->addresses, &r->block_room, r->block_count + BATCH_EVENTS, sizeof *r->addresses) ||
      !hwi_grow((void **)&r->classes, &r->class_room, r->block_count + BATCH_EVENTS, 1))
    return false;
  if (!hwi_recode_table_is_full(&r->at_address, BATCH_EVENTS))
    return true;
  if (!hwi_recode_table_reset(&r->at_address, (size_t)r->at_address.count * 2 + BATCH_EVENTS))
    return false;
  for (uint32_t block = 1; block < r->block_count; block++) {
    uint64_t address = r->addresses[block];
    uint32_t *slot = find_address(r, address, home_of_address(&r->at_address, address));
    r->at_address.count += !*slot;
    *slot = block;
  }
  return true;
}

static __attribute__((noinline)) void put_address(struct hwi_recoder *r, enum hwi_section_column column,
                                                  uint64_t address, uint64_t *last)
{
  uint64_t varint;
  if (!hwi_address_varint(address, *last, &varint))
    r->status = HW_ERR_LIMIT;
  hwi_columns_put(r->out, column, varint);
  *last = address;
}

/* Writes the end of a block and returns its op. `reusable`: the block's memory may be allocated again. */
static inline uint8_t put_end(struct hwi_recoder *r, int i, bool reusable)
{
  const struct hwi_event *event = &r->events[i];
  size_t block = r->births[i] = *find_address(r, event->address, r->homes[i]);
  if (!block) {
    put_address(r, HWI_COLUMN_FAR, event->address, &r->last_far);
    return HWI_OP_FAR;
  }
  size_t younger = r->block_count - 1 - block, step = block - r->last_ended + HWI_STEPS;
  r->last_ended = block;
  if (reusable)
    hwi_placement_free(&r->placement, r->classes[block], event->address);
  if (younger < HWI_NEWEST_COUNT)
    return (uint8_t)(HWI_OP_NEWEST + younger);
  if (step < HWI_STEP_COUNT)
    return (uint8_t)(HWI_OP_STEP + step);
  hwi_columns_put(r->out, HWI_COLUMN_DISTANCES, younger);
  return HWI_OP_DISTANCE;
}

/* Adds a block. Returns the previous birth at its address, or 0 if there is none. */
static inline uint32_t add_block(struct hwi_recoder *r, int i, uint8_t class)
{
  uint64_t address = r->events[i].address;
  uint32_t *slot = find_address(r, address, r->homes[i]), block = (uint32_t)r->block_count++, before = *slot;
  r->at_address.count += !before;
  *slot = block;
  r->addresses[block] = address;
  r->classes[block] = class;
  return before;
}

/* Writes a birth and returns its place. `old`: the address of the block that a realloc replaces, or 0. */
static inline __attribute__((always_inline)) uint8_t put_birth(struct hwi_recoder *r, int i, uint64_t old)
{
  const struct hwi_event *event = &r->events[i];
  uint64_t address = event->address, granules = hwi_granules(event->size, event->usable);
  uint8_t class = hwi_class_of(granules);
  unsigned place = address == old ? HWI_PLACE_SAME : hwi_placement_find(&r->placement, class, address);
  if (place < HWI_PLACE_FREED) {
    hwi_placement_take(&r->placement, class, place);
  } else if (place != HWI_PLACE_SAME) {
    if (place == HWI_PLACE_ELSEWHERE)
      put_address(r, HWI_COLUMN_ADDRESSES, address, &r->placement.last);
    hwi_placement_move_top(&r->placement, address, granules);
  }
  r->births[i] = add_block(r, i, class);
  return (uint8_t)place;
}

static void put_failed(struct hwi_recoder *r, const struct hwi_event *event)
{
  hwi_columns_put_byte(r->out, HWI_COLUMN_RARE, event->alignment_log2);
  hwi_columns_put(r->out, HWI_COLUMN_RARE, event->node);
  hwi_columns_put(r->out, HWI_COLUMN_RARE, event->size);
}

static void put_scope(struct hwi_recoder *r, const struct hwi_event *event)
{
  hwi_columns_put_byte(r->out, HWI_COLUMN_RARE, event->entry);
  hwi_columns_put(r->out, HWI_COLUMN_RARE, event->size);
  hwi_columns_put(r->out, HWI_COLUMN_RARE, event->usable);
}

/* A heap of the program's own gives out what it likes: its blocks are not among those of the section. */
static void put_heap(struct hwi_recoder *r, const struct hwi_event *event)
{
  hwi_columns_put_byte(r->out, HWI_COLUMN_RARE, (uint8_t)(event->entry | event->tick_part << HW_HEAP_OP_BITS));
  hwi_columns_put(r->out, HWI_COLUMN_RARE, event->heap);
  hwi_columns_put(r->out, HWI_COLUMN_RARE, event->usable);
  if (event->entry == HW_HEAP_ALLOC || event->entry == HW_HEAP_FAILED) {
    hwi_columns_put(r->out, HWI_COLUMN_RARE, event->node);
    hwi_columns_put(r->out, HWI_COLUMN_RARE, event->size);
  }
  if (event->entry == HW_HEAP_ALLOC || event->entry == HW_HEAP_FREE)
    put_address(r, HWI_COLUMN_RARE, event->address, &r->last_in_heap);
}

/* Writes an event without a block and returns its op. */
static uint8_t put_blockless(struct hwi_recoder *r, int i)
{
  const struct hwi_event *event = &r->events[i];
  r->births[i] = 0;
  if (event->kind == HWI_EVENT_SCOPE) {
    put_scope(r, event);
    return HWI_OP_SCOPE;
  }
  if (event->kind == HWI_EVENT_HEAP) {
    put_heap(r, event);
    return HWI_OP_HEAP;
  }
  put_failed(r, event);
  return HWI_OP_FAILED;
}

/* Writes an allocation that is not part of a realloc and returns its op. */
static inline uint8_t put_alloc(struct hwi_recoder *r, int i)
{
  uint8_t place = put_birth(r, i, 0);
  if (!r->events[i].alignment_log2)
    return place;
  hwi_columns_put_byte(r->out, HWI_COLUMN_RARE, r->events[i].alignment_log2);
  return HWI_OP_ALIGNED | place;
}

/* The two events of a realloc are consecutive, and so are their ops, the birth first. */
static void put_blocks(struct hwi_recoder *r, int count)
{
  uint8_t *ops = hwi_columns_begin(r->out, HWI_COLUMN_OPS, (size_t)count);
  uint8_t *entries = hwi_columns_begin(r->out, HWI_COLUMN_ENTRIES, (size_t)count);
  if (!ops || !entries)
    return;
  for (int i = 0; i < count; i++) {
    const struct hwi_event *event = &r->events[i];
    if (event->kind == HWI_EVENT_ALLOC) {
      *ops++ = r->sized[i] | put_alloc(r, i);
    } else if (event->kind != HWI_EVENT_FREE) {
      *ops++ = put_blockless(r, i);
    } else if (!event->moved) {
      *ops++ = put_end(r, i, true);
      *entries++ = event->entry | (event->temporary ? HWI_ENTRY_TEMPORARY : 0);
    } else {
      ops[1] = put_end(r, i, event->address != event[1].address);
      i++;
      ops[0] = HWI_OP_REALLOC | r->sized[i] | put_birth(r, i, event->address);
      ops += 2;
    }
  }
  hwi_columns_end(r->out, HWI_COLUMN_OPS, ops);
  hwi_columns_end(r->out, HWI_COLUMN_ENTRIES, entries);
}

/* --- chunks --- */

static void put_events(struct hwi_recoder *r, int count)
{
  if (!grow_nodes(r) || !grow_blocks(r)) {
    r->status = HW_ERR_MEMORY;
    return;
  }
  uint64_t op_count = r->op_count;
  put_times(r, count);
  if (r->fields & HW_FIELD_DURATION)
    put_durations(r, count);
  put_threads(r, count, r->op_count - op_count);
  find_homes(r, count);
  put_nodes(r, count);
  put_blocks(r, count);
}

struct hwi_event *hwi_recoder_room(struct hwi_recoder *r)
{
  return r->events;
}

struct hwi_definition_sink hwi_recoder_sink(struct hwi_recoder *r)
{
  return hwi_definitions_out_sink(&r->definitions);
}

int hwi_recoder_put(struct hwi_recoder *r, int count)
{
  put_events(r, count);
  return r->out->failed || r->definitions.failed ? HW_ERR_MEMORY : r->status;
}

int hwi_recoder_take(struct hwi_recoder *r, struct hwi_cursor *cursor, struct hwi_recoded_batch *batch)
{
  struct hwi_definition_sink sink = hwi_recoder_sink(r);
  int count = hwi_decode(cursor, &sink, r->events, BATCH_EVENTS);
  *batch = (struct hwi_recoded_batch){r->events, r->births, count};
  int status = hwi_recoder_put(r, count);
  return cursor->damaged ? HW_ERR_DAMAGED : status;
}

void hwi_recoder_end_chunk(struct hwi_recoder *r, uint32_t valid_bytes)
{
  hwi_columns_put(r->out, HWI_COLUMN_CHUNKS, r->op_count - r->chunk_op);
  hwi_columns_put(r->out, HWI_COLUMN_CHUNKS, valid_bytes);
  r->chunk_op = r->op_count;
}

static int put_chunk(struct hwi_recoder *r, const struct hw_chunk_header *chunk, const uint8_t *events)
{
  struct hwi_cursor cursor;
  struct hwi_recoded_batch batch = {.count = 1};
  int status = hwi_cursor_init(&cursor, chunk, events, r->tick) ? 0 : HW_ERR_DAMAGED;
  while (status == 0 && batch.count)
    status = hwi_recoder_take(r, &cursor, &batch);
  hwi_recoder_end_chunk(r, chunk->valid_bytes);
  return status;
}

/* The tables begin with the size that the previous section needed. */
bool hwi_recoder_begin(struct hwi_recoder *r, struct hwi_columns_out *out, const struct hw_chunk_header *first)
{
  hwi_columns_out_clear(out);
  r->out = out;
  r->fields = first->fields;
  r->status = 0;
  r->tick = first->base_tick;
  r->op_count = r->chunk_op = r->thread_op_count = 0;
  r->placement = (struct hwi_placement){0};
  r->block_count = r->node_count = 1;
  r->last_ended = r->last_far = r->last_in_heap = 0;
  r->last_node = 0;
  return hwi_recode_table_reset(&r->at_address, r->at_address.count + BATCH_EVENTS) &&
         hwi_recode_table_reset(&r->of_node, r->of_node.count + BATCH_EVENTS) &&
         hwi_definitions_out_begin(&r->definitions, out);
}

const uint64_t *hwi_recoder_births(const struct hwi_recoder *r)
{
  return r->addresses;
}

int hwi_recoder_end(struct hwi_recoder *r, struct hw_section_header *section)
{
  end_thread(r);
  hwi_columns_put(r->out, HWI_COLUMN_HEAD, r->fields);
  hwi_columns_put(r->out, HWI_COLUMN_HEAD, r->block_count - 1);
  hwi_columns_put(r->out, HWI_COLUMN_HEAD, r->node_count - 1);
  section->last_tick = r->tick;
  section->event_count = r->op_count;
  return r->out->failed ? HW_ERR_MEMORY : 0;
}

int hwi_recode(struct hwi_recoder *r, const uint8_t *plain, size_t bytes, struct hwi_columns_out *out,
               struct hw_section_header *section)
{
  struct hw_chunk_header chunk, first;
  if (bytes > HWI_RECODE_MAX_BYTES || bytes < sizeof first)
    return bytes < sizeof first ? HW_ERR_DAMAGED : HW_ERR_LIMIT;
  memcpy(&first, plain, sizeof first);
  if (!hwi_recoder_begin(r, out, &first))
    return HW_ERR_MEMORY;
  for (size_t at = 0; at < bytes; at += sizeof chunk + chunk.valid_bytes) {
    memcpy(&chunk, plain + at, sizeof chunk);
    if (chunk.fields != first.fields)
      return HW_ERR_LIMIT;
    int status = put_chunk(r, &chunk, plain + at + sizeof chunk);
    if (status < 0)
      return status;
  }
  return hwi_recoder_end(r, section);
}
