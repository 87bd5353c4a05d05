/* restore.c - converts columns back to events (codec 1): the unpacker's side
 *
 * This is the inverse of recode.c: it reads the fields of an event in the order in which recode.c writes them. A forged
 * section can give implausible events; the code that replays the events has to handle them. Here every number is
 * checked before it is used, and memory is bounded by the size of the columns: no more blocks than ops, no more nodes
 * than bytes.
 */
#include <stdlib.h>

#include "base/error.h"
#include "trace/pack/recode.h"
#include "trace/pack/recode_common.h"

struct hwi_restorer {
  struct hwi_columns_in in;
  bool damaged;
  uint16_t fields; /* HW_FIELD_* */
  uint64_t tick;
  uint64_t op_count;        /* left of the chunk */
  uint64_t thread_op_count; /* left of the thread */
  uint32_t thread;
  struct hwi_placement placement;
  uint64_t *addresses; /* of the blocks, by birth: [1, block_count); [0] is 0 */
  uint8_t *classes;
  uint32_t block_count, block_room;
  uint32_t last_ended; /* a block */
  uint64_t last_far;
  uint64_t last_in_heap;          /* address of the last HEAP event */
  struct hwi_section_node *nodes; /* by number in the section */
  uint32_t node_count, node_room;
  uint32_t last_node;
};

/* --- beginning --- */

/* Reads the fields and counts of the section. Returns false if they are invalid. */
static bool read_head(struct hwi_restorer *r)
{
  uint64_t fields = hwi_columns_get(&r->in, HWI_COLUMN_HEAD);
  uint64_t blocks = hwi_columns_get(&r->in, HWI_COLUMN_HEAD);
  uint64_t nodes = hwi_columns_get(&r->in, HWI_COLUMN_HEAD);
  if (r->in.failed || fields & ~(uint64_t)HW_FIELDS || blocks > hwi_columns_left(&r->in, HWI_COLUMN_OPS) ||
      nodes > hwi_columns_left(&r->in, HWI_COLUMN_NEW_NODES))
    return false;
  r->fields = (uint16_t)fields;
  r->block_count = 1;
  r->block_room = (uint32_t)blocks + 1;
  r->node_room = (uint32_t)nodes;
  return true;
}

struct hwi_restorer *hwi_restorer_create(struct hwi_columns_in *in, uint64_t first_tick, int *status)
{
  struct hwi_restorer *r = calloc(1, sizeof *r);
  *status = HW_ERR_MEMORY;
  if (!r) {
    hwi_columns_in_release(in);
    return NULL;
  }
  r->in = *in;
  r->tick = first_tick;
  bool is_whole = read_head(r) && first_tick <= HWI_LATEST_TICK;
  r->addresses = malloc(((size_t)r->block_room + 1) * sizeof *r->addresses);
  r->classes = malloc((size_t)r->block_room + 1);
  r->nodes = malloc(((size_t)r->node_room + 1) * sizeof *r->nodes);
  if (r->addresses)
    r->addresses[0] = 0;
  if (is_whole && r->addresses && r->classes && r->nodes) {
    *status = 0;
    return r;
  }
  if (!is_whole)
    *status = HW_ERR_DAMAGED;
  hwi_restorer_destroy(r);
  return NULL;
}

void hwi_restorer_destroy(struct hwi_restorer *r)
{
  if (!r)
    return;
  hwi_columns_in_release(&r->in);
  free(r->addresses);
  free(r->classes);
  free(r->nodes);
  free(r);
}

/* --- definitions --- */

/* The pcs of the section; their number is limited by the bytes of the column NEW_PCS. */
struct pcs {
  struct hwi_pc *list; /* [HWI_PC_FIRST, count) */
  uint32_t count, room, last;
};

static bool restore_pc(struct hwi_columns_in *in, struct pcs *pcs, uint32_t *number)
{
  uint64_t code = hwi_columns_get(in, HWI_COLUMN_TREE_PCS);
  if (code == HWI_PC_EXPECTED)
    code = pcs->list[pcs->last].expected;
  *number = (uint32_t)code;
  if (code != HWI_PC_NEW)
    return code >= HWI_PC_FIRST && code < pcs->count;
  if (pcs->count == pcs->room)
    return false;
  int64_t delta = hwi_unzigzag(hwi_columns_get(in, HWI_COLUMN_NEW_PCS));
  uint64_t module = hwi_columns_get(in, HWI_COLUMN_NEW_PCS);
  struct hwi_pc pc = {.address = pcs->list[pcs->last].address + (uint64_t)delta, .module = (uint32_t)(module >> 1)};
  pc.entry = module & 1 ? hwi_columns_get_byte(in, HWI_COLUMN_NEW_PCS) : HW_ENTRY_NONE;
  *number = pcs->count;
  pcs->list[pcs->count++] = pc;
  return module >> 1 <= UINT32_MAX;
}

static bool restore_node(struct hwi_columns_in *in, struct pcs *pcs, uint32_t *last_number,
                         const struct hwi_definition_sink *sink)
{
  uint32_t pc_number;
  uint64_t number = *last_number + 1 + (uint64_t)hwi_unzigzag(hwi_columns_get(in, HWI_COLUMN_TREE_NUMBERS));
  uint64_t parent = number - (uint64_t)hwi_unzigzag(hwi_columns_get(in, HWI_COLUMN_TREE_PARENTS));
  if (!restore_pc(in, pcs, &pc_number) || in->failed || number > UINT32_MAX || parent > UINT32_MAX)
    return false;
  pcs->list[pcs->last].expected = pc_number;
  pcs->last = pc_number;
  *last_number = (uint32_t)number;
  const struct hwi_pc *pc = &pcs->list[pc_number];
  struct hwi_node node = {
      .address = pc->address,
      .parent = (uint32_t)parent,
      .module = pc->module,
      .entry = pc->entry < HW_ENTRY_COUNT ? pc->entry : HW_ENTRY_NONE,
      .cut = pc->entry == HW_NODE_CUT,
  };
  return sink->add_node(sink->context, (uint32_t)number, &node);
}

static int restore_nodes(struct hwi_columns_in *in, const struct hwi_definition_sink *sink)
{
  if (!hwi_columns_left(in, HWI_COLUMN_TREE_NUMBERS))
    return 0;
  struct pcs pcs = {.count = HWI_PC_FIRST};
  pcs.room = HWI_PC_FIRST + (uint32_t)hwi_columns_left(in, HWI_COLUMN_NEW_PCS);
  pcs.list = calloc(pcs.room, sizeof *pcs.list);
  if (!pcs.list)
    return HW_ERR_MEMORY;
  bool ok = true;
  uint32_t last_number = 0;
  while (ok && hwi_columns_left(in, HWI_COLUMN_TREE_NUMBERS))
    ok = restore_node(in, &pcs, &last_number, sink);
  free(pcs.list);
  return ok ? 0 : HW_ERR_DAMAGED;
}

static int restore_records(struct hwi_columns_in *in, const struct hwi_definition_sink *sink)
{
  uint32_t thread;
  while (hwi_columns_left(in, HWI_COLUMN_RECORDS)) {
    uint8_t type = hwi_columns_get_byte(in, HWI_COLUMN_RECORDS);
    uint64_t bytes = hwi_columns_get(in, HWI_COLUMN_RECORDS);
    const uint8_t *payload = bytes <= SIZE_MAX ? hwi_columns_get_bytes(in, HWI_COLUMN_RECORDS, (size_t)bytes) : NULL;
    if (!payload || !sink->add_record(sink->context, type, payload, (size_t)bytes, &thread))
      return HW_ERR_DAMAGED;
  }
  return 0;
}

int hwi_restore_definitions(struct hwi_restorer *r, const struct hwi_definition_sink *sink)
{
  int nodes = restore_nodes(&r->in, sink), records = restore_records(&r->in, sink);
  r->in.failed = false; /* the events may still be valid */
  return nodes < 0 ? nodes : records;
}

/* --- events --- */

static inline void get_sizes(struct hwi_restorer *r, struct hwi_event *event)
{
  uint64_t size = hwi_columns_get(&r->in, HWI_COLUMN_SIZES);
  event->size = size;
  event->usable = 0;
  if (!(r->fields & HW_FIELD_USABLE))
    return;
  event->size = size >> 1;
  event->usable = hw_usual_usable(event->size);
  if (size & 1)
    event->usable += (uint64_t)hwi_unzigzag(hwi_columns_get(&r->in, HWI_COLUMN_USABLE));
}

/* Returns NULL if there is no such node. */
static inline struct hwi_section_node *get_node(struct hwi_restorer *r)
{
  uint64_t code = hwi_columns_get(&r->in, HWI_COLUMN_NODES);
  if (code != HWI_NODE_NEW)
    return code - HWI_NODE_FIRST < r->node_count ? &r->nodes[code - HWI_NODE_FIRST] : NULL;
  if (r->node_count == r->node_room)
    return NULL;
  r->last_node += (uint32_t)hwi_unzigzag(hwi_columns_get(&r->in, HWI_COLUMN_NEW_NODES));
  struct hwi_section_node *node = &r->nodes[r->node_count++];
  *node = (struct hwi_section_node){.number = r->last_node};
  return node;
}

/* Reads the block of a birth. `old`: the address of the block that a realloc replaces, or 0. Returns false if it is
 * invalid. */
static inline __attribute__((always_inline)) bool restore_birth(struct hwi_restorer *r, uint8_t op, uint64_t old,
                                                                struct hwi_event *event)
{
  struct hwi_section_node *node = get_node(r);
  if (!node || r->block_count == r->block_room)
    return false;
  event->kind = HWI_EVENT_ALLOC;
  event->node = node->number;
  if (op & HWI_OP_SIZED) {
    get_sizes(r, event);
    node->size = event->size;
    node->usable = event->usable;
  } else {
    event->size = node->size;
    event->usable = node->usable;
  }
  uint64_t granules = hwi_granules(event->size, event->usable), address;
  uint8_t class = hwi_class_of(granules);
  unsigned place = op & HWI_OP_PLACE_MASK;
  if (place < HWI_PLACE_FREED) {
    address = hwi_placement_take(&r->placement, class, place);
  } else if (place == HWI_PLACE_SAME) {
    address = old;
  } else {
    if (place == HWI_PLACE_ELSEWHERE)
      r->placement.top = r->placement.last =
          hwi_address_of(hwi_columns_get(&r->in, HWI_COLUMN_ADDRESSES), r->placement.last);
    address = r->placement.top;
    hwi_placement_move_top(&r->placement, address, granules);
  }
  event->address = address;
  r->addresses[r->block_count] = address;
  r->classes[r->block_count++] = class;
  return address && place < HWI_PLACE_COUNT;
}

/* Reads which block ends. `reusable`: the block's memory may be allocated again. Returns false if there is no such
 * block. */
static inline bool restore_end(struct hwi_restorer *r, uint8_t op, bool reusable, struct hwi_event *event)
{
  uint64_t block;
  event->kind = HWI_EVENT_FREE;
  if (op < HWI_OP_STEP) {
    block = (uint64_t)r->block_count - 1 - (op - HWI_OP_NEWEST);
  } else if (op < HWI_OP_DISTANCE) {
    block = (uint64_t)r->last_ended + op - HWI_OP_STEP - HWI_STEPS;
  } else if (op == HWI_OP_DISTANCE) {
    block = r->block_count - 1 - hwi_columns_get(&r->in, HWI_COLUMN_DISTANCES);
  } else {
    event->address = r->last_far = hwi_address_of(hwi_columns_get(&r->in, HWI_COLUMN_FAR), r->last_far);
    return op == HWI_OP_FAR && event->address;
  }
  if (block >= r->block_count)
    return false;
  r->last_ended = (uint32_t)block;
  event->address = r->addresses[block];
  if (reusable)
    hwi_placement_free(&r->placement, r->classes[block], event->address);
  return event->address;
}

/* Restores the two events of a realloc. */
static bool restore_realloc(struct hwi_restorer *r, uint8_t op, struct hwi_event *events)
{
  uint64_t ticks = hwi_columns_get(&r->in, HWI_COLUMN_REALLOC_TIMES);
  uint8_t end_op = hwi_columns_get_byte(&r->in, HWI_COLUMN_OPS);
  bool stays = (op & HWI_OP_PLACE_MASK) == HWI_PLACE_SAME;
  if (end_op < HWI_OP_FREE || ticks > HWI_LATEST_TICK - r->tick)
    return false;
  events[1] = events[0];
  events[0].entry = HW_ENTRY_REALLOC;
  events[0].moved = events[1].moved = true;
  if (!restore_end(r, end_op, !stays, &events[0]))
    return false;
  events[1].tick = r->tick + ticks;
  if (!restore_birth(r, op, events[0].address, &events[1]))
    return false;
  r->tick = events[1].tick;
  return true;
}

static bool restore_failed(struct hwi_restorer *r, struct hwi_event *event)
{
  event->kind = HWI_EVENT_FAILED;
  event->alignment_log2 = hwi_columns_get_byte(&r->in, HWI_COLUMN_RARE);
  event->node = (uint32_t)hwi_columns_get(&r->in, HWI_COLUMN_RARE);
  event->size = hwi_columns_get(&r->in, HWI_COLUMN_RARE);
  return true;
}

static bool restore_scope(struct hwi_restorer *r, struct hwi_event *event)
{
  event->kind = HWI_EVENT_SCOPE;
  event->entry = hwi_columns_get_byte(&r->in, HWI_COLUMN_RARE);
  event->size = hwi_columns_get(&r->in, HWI_COLUMN_RARE);
  event->usable = hwi_columns_get(&r->in, HWI_COLUMN_RARE);
  return true;
}

static bool restore_heap(struct hwi_restorer *r, struct hwi_event *event)
{
  const uint8_t op = hwi_columns_get_byte(&r->in, HWI_COLUMN_RARE);
  event->kind = HWI_EVENT_HEAP;
  event->entry = op & ((1 << HW_HEAP_OP_BITS) - 1);
  event->tick_part = op >> HW_HEAP_OP_BITS;
  event->heap = (uint32_t)hwi_columns_get(&r->in, HWI_COLUMN_RARE);
  event->usable = hwi_columns_get(&r->in, HWI_COLUMN_RARE);
  if (event->entry == HW_HEAP_ALLOC || event->entry == HW_HEAP_FAILED) {
    event->node = (uint32_t)hwi_columns_get(&r->in, HWI_COLUMN_RARE);
    event->size = hwi_columns_get(&r->in, HWI_COLUMN_RARE);
  }
  if (event->entry == HW_HEAP_ALLOC || event->entry == HW_HEAP_FREE) {
    event->address = r->last_in_heap = hwi_address_of(hwi_columns_get(&r->in, HWI_COLUMN_RARE), r->last_in_heap);
    return event->address;
  }
  return event->entry >= HW_HEAP_CREATE && event->entry <= HW_HEAP_FAILED;
}

/* Returns the number of events of the op, or 0 if it is invalid. */
static inline int restore_op(struct hwi_restorer *r, uint8_t op, struct hwi_event *event)
{
  if (op >= HWI_OP_FREE) {
    uint8_t coded = hwi_columns_get_byte(&r->in, HWI_COLUMN_ENTRIES), entry = coded & ~HWI_ENTRY_TEMPORARY;
    event->temporary = coded & HWI_ENTRY_TEMPORARY;
    event->entry = entry < HW_ENTRY_COUNT ? entry : HW_ENTRY_NONE;
    return restore_end(r, op, true, event);
  }
  switch (op & HWI_OP_BIRTH_MASK) {
  case HWI_OP_ALLOC:
    return restore_birth(r, op, 0, event);
  case HWI_OP_ALIGNED:
    event->alignment_log2 = hwi_columns_get_byte(&r->in, HWI_COLUMN_RARE);
    return restore_birth(r, op, 0, event);
  case HWI_OP_REALLOC:
    return restore_realloc(r, op, event) ? 2 : 0;
  default:
    return op == HWI_OP_SCOPE  ? restore_scope(r, event)
           : op == HWI_OP_HEAP ? restore_heap(r, event)
                               : restore_failed(r, event);
  }
}

static void next_thread(struct hwi_restorer *r)
{
  r->thread_op_count = hwi_columns_get(&r->in, HWI_COLUMN_THREADS);
  r->thread = (uint32_t)hwi_columns_get(&r->in, HWI_COLUMN_THREADS);
  if (!r->thread_op_count)
    r->in.failed = true;
}

int hwi_restore(struct hwi_restorer *r, struct hwi_event *events, int max)
{
  struct hwi_event *event = events, *const last = events + max - HWI_DECODE_MIN_ROOM;
  while (r->op_count && !r->damaged && event <= last) {
    if (!r->thread_op_count)
      next_thread(r);
    uint8_t op = hwi_columns_get_byte(&r->in, HWI_COLUMN_OPS);
    uint64_t ticks = hwi_columns_get_byte(&r->in, HWI_COLUMN_TIMES);
    if (ticks == HWI_TIME_LONG)
      ticks = hwi_columns_get(&r->in, HWI_COLUMN_LONG_TIMES);
    if (ticks > HWI_LATEST_TICK - r->tick) {
      r->damaged = true;
      break;
    }
    uint64_t before = r->tick;
    r->tick += ticks;
    *event = (struct hwi_event){.tick = r->tick, .thread = r->thread};
    int made = restore_op(r, op, event);
    if (made && r->fields & HW_FIELD_DURATION)
      event[made - 1].took = hwi_columns_get(&r->in, HWI_COLUMN_DURATIONS);
    if (!made || r->in.failed) {
      r->damaged = true;
      r->tick = before;
      break;
    }
    r->op_count--;
    r->thread_op_count--;
    event += made;
  }
  return (int)(event - events);
}

bool hwi_restore_chunk(struct hwi_restorer *r, struct hwi_restored_chunk *chunk)
{
  if (r->damaged || !hwi_columns_left(&r->in, HWI_COLUMN_CHUNKS))
    return false;
  chunk->op_count = r->op_count = hwi_columns_get(&r->in, HWI_COLUMN_CHUNKS);
  chunk->bytes = hwi_columns_get(&r->in, HWI_COLUMN_CHUNKS);
  r->damaged = r->in.failed || chunk->bytes > HWI_RECODE_MAX_BYTES;
  return !r->damaged;
}

void hwi_restore_not_before(struct hwi_restorer *r, uint64_t tick)
{
  if (tick > r->tick)
    r->tick = tick;
}

uint16_t hwi_restore_fields(const struct hwi_restorer *r)
{
  return r->fields;
}

bool hwi_restore_is_damaged(const struct hwi_restorer *r)
{
  return r->damaged;
}

bool hwi_restore_is_done(const struct hwi_restorer *r)
{
  return r->damaged || (!r->op_count && !hwi_columns_left(&r->in, HWI_COLUMN_CHUNKS));
}

uint64_t hwi_restore_tick(const struct hwi_restorer *r)
{
  return r->tick;
}
