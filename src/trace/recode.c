/* recode.c - the events of consecutive chunks as columns (codec 1): the packer's side
 *
 * One pass: events are decoded in batches, and each leaves its bytes in some columns. Two tables are searched: the latest
 * block at an address, for frees, and the number of a node in the section, for births.
 */
#include "trace/recode.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/definitions.h"
#include "trace/grow.h"
#include "trace/recode_common.h"

enum { BATCH_EVENTS = 256, LOOK_AHEAD = 16, TABLE_LOG2_MIN = 12 };

/* Open addressing over the numbers of things that lie in an array of their own; 0: empty. Nothing is removed. */
struct table {
  uint32_t *slots;
  uint32_t log2, count;
};

struct hwi_recoder {
  struct hwi_columns_out *out;
  struct hwi_event events[BATCH_EVENTS];
  bool has_usable;
  int status; /* 0, or why the section cannot be re-coded */
  uint64_t tick;
  uint64_t op_count;        /* of the section */
  uint64_t thread_op_count; /* of the thread, so far */
  uint32_t thread;
  struct hwi_places places;
  uint64_t *addresses; /* of the blocks, by birth: [1, block_count) */
  uint8_t *classes;
  size_t block_count, block_room, class_room;
  struct table at_address;
  size_t last_ended;
  uint64_t last_far;
  struct hwi_habit *habits; /* [1, habit_count) */
  size_t habit_count, habit_room;
  struct table of_node;
  uint32_t last_node;
  uint32_t last_number; /* of a definition */
  struct hwi_pc *pcs;   /* [HWI_PC_FIRST, pc_count) */
  size_t pc_count, pc_room;
  struct table of_pc;
  uint32_t last_pc;
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
  free(r->at_address.slots);
  free(r->habits);
  free(r->of_node.slots);
  free(r->pcs);
  free(r->of_pc.slots);
  free(r);
}

/* --- tables --- */

static bool reset_table(struct table *table, uint32_t log2)
{
  if (log2 != table->log2) {
    free(table->slots);
    table->slots = malloc(sizeof *table->slots << log2);
    table->log2 = table->slots ? log2 : 0;
  }
  table->count = 0;
  if (table->slots)
    memset(table->slots, 0, sizeof *table->slots << log2);
  return table->slots;
}

static bool is_full(const struct table *table)
{
  return table->count >> (table->log2 - 1);
}

static inline uint32_t mix(uint64_t key)
{
  return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Neighbours in the heap are neighbours here: programs mostly touch them together. */
static inline uint32_t home_of_address(const struct table *table, uint64_t address)
{
  enum { LINE_LOG2 = 4, GRAIN_LOG2 = 4, LINE_MASK = (1 << LINE_LOG2) - 1 };
  uint32_t at = mix(address >> (GRAIN_LOG2 + LINE_LOG2)) << LINE_LOG2 | (address >> GRAIN_LOG2 & LINE_MASK);
  return at & ((1u << table->log2) - 1);
}

static inline uint32_t *find_address(const struct hwi_recoder *r, uint64_t address)
{
  const struct table *table = &r->at_address;
  uint32_t mask = (1u << table->log2) - 1, at = home_of_address(table, address);
  while (table->slots[at] && r->addresses[table->slots[at]] != address)
    at = (at + 1) & mask;
  return &table->slots[at];
}

static inline uint32_t *find_node(const struct hwi_recoder *r, uint32_t node)
{
  const struct table *table = &r->of_node;
  uint32_t mask = (1u << table->log2) - 1, at = mix(node) & mask;
  while (table->slots[at] && r->habits[table->slots[at]].node != node)
    at = (at + 1) & mask;
  return &table->slots[at];
}

static uint32_t *find_pc(const struct hwi_recoder *r, const struct hwi_pc *pc)
{
  const struct table *table = &r->of_pc;
  uint32_t mask = (1u << table->log2) - 1, at = mix(pc->address * 4 + pc->module + pc->entry) & mask;
  for (; table->slots[at]; at = (at + 1) & mask) {
    const struct hwi_pc *known = &r->pcs[table->slots[at]];
    if (known->address == pc->address && known->module == pc->module && known->entry == pc->entry)
      break;
  }
  return &table->slots[at];
}

/* The latest block at each address is the one to find. */
static bool grow_addresses(struct hwi_recoder *r)
{
  if (!reset_table(&r->at_address, r->at_address.log2 + 2))
    return false;
  for (uint32_t block = 1; block < r->block_count; block++) {
    uint32_t *slot = find_address(r, r->addresses[block]);
    r->at_address.count += !*slot;
    *slot = block;
  }
  return true;
}

static bool grow_nodes(struct hwi_recoder *r)
{
  if (!reset_table(&r->of_node, r->of_node.log2 + 2))
    return false;
  for (uint32_t number = 1; number < r->habit_count; number++)
    *find_node(r, r->habits[number].node) = number;
  r->of_node.count = (uint32_t)r->habit_count - 1;
  return true;
}

static bool grow_pcs(struct hwi_recoder *r)
{
  if (!reset_table(&r->of_pc, r->of_pc.log2 + 2))
    return false;
  for (uint32_t number = HWI_PC_FIRST; number < r->pc_count; number++)
    *find_pc(r, &r->pcs[number]) = number;
  r->of_pc.count = (uint32_t)r->pc_count - HWI_PC_FIRST;
  return true;
}

/* --- definitions --- */

/* Its number, made where there is none; 0: no memory. */
static uint32_t put_pc(struct hwi_recoder *r, const struct hwi_pc *pc)
{
  const struct hwi_pc *last = &r->pcs[r->last_pc];
  uint32_t *slot = find_pc(r, pc), number = *slot;
  if (number) {
    bool is_expected = last->expected == number;
    hwi_columns_put(r->out, HWI_COLUMN_TREE_PCS, is_expected ? (uint64_t)HWI_PC_EXPECTED : number);
    return number;
  }
  bool has_entry = pc->entry != HW_ENTRY_NONE;
  hwi_columns_put_byte(r->out, HWI_COLUMN_TREE_PCS, HWI_PC_NEW);
  hwi_columns_put(r->out, HWI_COLUMN_NEW_PCS, hwi_zigzag((int64_t)(pc->address - last->address)));
  hwi_columns_put(r->out, HWI_COLUMN_NEW_PCS, (uint64_t)pc->module << 1 | has_entry);
  if (has_entry)
    hwi_columns_put_byte(r->out, HWI_COLUMN_NEW_PCS, pc->entry);
  if (!hwi_grow((void **)&r->pcs, &r->pc_room, r->pc_count + 1, sizeof *r->pcs))
    return 0;
  number = *slot = (uint32_t)r->pc_count++;
  r->pcs[number] = *pc;
  r->of_pc.count++;
  return is_full(&r->of_pc) && !grow_pcs(r) ? 0 : number;
}

static bool put_node(void *context, uint32_t number, const struct hwi_node *node)
{
  struct hwi_recoder *r = context;
  hwi_columns_put(r->out, HWI_COLUMN_TREE_NUMBERS, hwi_zigzag((int64_t)number - r->last_number - 1));
  hwi_columns_put(r->out, HWI_COLUMN_TREE_PARENTS, hwi_zigzag((int64_t)number - node->parent));
  struct hwi_pc pc = {.address = node->address, .module = node->module};
  pc.entry = node->cut ? HW_NODE_CUT : node->entry;
  uint32_t pc_number = put_pc(r, &pc);
  r->status = pc_number ? r->status : HW_ERR_MEMORY;
  r->pcs[r->last_pc].expected = pc_number;
  r->last_pc = pc_number;
  r->last_number = number;
  return true;
}

static bool put_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct hwi_recoder *r = context;
  struct hwi_thread ignored;
  hwi_columns_put_byte(r->out, HWI_COLUMN_RECORDS, type);
  hwi_columns_put(r->out, HWI_COLUMN_RECORDS, bytes);
  hwi_columns_put_bytes(r->out, HWI_COLUMN_RECORDS, payload, bytes);
  return type != HW_RECORD_THREAD || hwi_definitions_read_thread(payload, bytes, thread, &ignored);
}

/* --- events --- */

static void put_thread(struct hwi_recoder *r, uint32_t thread)
{
  if (thread != r->thread && r->thread_op_count) {
    hwi_columns_put(r->out, HWI_COLUMN_THREADS, r->thread_op_count);
    hwi_columns_put(r->out, HWI_COLUMN_THREADS, r->thread);
    r->thread_op_count = 0;
  }
  r->thread = thread;
}

static inline void put_time(struct hwi_recoder *r, uint64_t tick)
{
  uint64_t ticks = tick - r->tick;
  r->tick = tick;
  hwi_columns_put_byte(r->out, HWI_COLUMN_TIMES, ticks < HWI_TIME_LONG ? (uint8_t)ticks : (uint8_t)HWI_TIME_LONG);
  if (ticks >= HWI_TIME_LONG)
    hwi_columns_put(r->out, HWI_COLUMN_LONG_TIMES, ticks);
}

static void put_address(struct hwi_recoder *r, enum hwi_column column, uint64_t address, uint64_t *last)
{
  uint64_t varint;
  if (!hwi_address_varint(address, *last, &varint))
    r->status = HW_ERR_LIMIT;
  hwi_columns_put(r->out, column, varint);
  *last = address;
}

/* The op. `reusable`: the block's memory may be given out again. */
static inline uint8_t put_end(struct hwi_recoder *r, const struct hwi_event *event, bool reusable)
{
  size_t block = *find_address(r, event->address);
  if (!block) {
    put_address(r, HWI_COLUMN_FAR, event->address, &r->last_far);
    return HWI_OP_FAR;
  }
  size_t younger = r->block_count - 1 - block, step = block - r->last_ended + HWI_STEPS;
  r->last_ended = block;
  if (reusable)
    hwi_places_free(&r->places, r->classes[block], event->address);
  if (younger < HWI_NEWEST_COUNT)
    return (uint8_t)(HWI_OP_NEWEST + younger);
  if (step < HWI_STEP_COUNT)
    return (uint8_t)(HWI_OP_STEP + step);
  hwi_columns_put(r->out, HWI_COLUMN_DISTANCES, younger);
  return HWI_OP_DISTANCE;
}

static void put_free(struct hwi_recoder *r, const struct hwi_event *event)
{
  hwi_columns_put_byte(r->out, HWI_COLUMN_OPS, put_end(r, event, true));
  hwi_columns_put_byte(r->out, HWI_COLUMN_ENTRIES, event->entry);
}

static inline struct hwi_habit *put_node_number(struct hwi_recoder *r, uint32_t node)
{
  uint32_t *slot = find_node(r, node);
  if (*slot) {
    hwi_columns_put(r->out, HWI_COLUMN_NODES, *slot - 1 + HWI_NODE_FIRST);
    return &r->habits[*slot];
  }
  hwi_columns_put_byte(r->out, HWI_COLUMN_NODES, HWI_NODE_NEW);
  hwi_columns_put(r->out, HWI_COLUMN_NEW_NODES, hwi_zigzag((int32_t)(node - r->last_node)));
  r->last_node = node;
  if (!hwi_grow((void **)&r->habits, &r->habit_room, r->habit_count + 1, sizeof *r->habits)) {
    r->status = HW_ERR_MEMORY;
    return &r->habits[0];
  }
  size_t number = r->habit_count++;
  *slot = (uint32_t)number;
  r->habits[number] = (struct hwi_habit){.node = node};
  r->of_node.count++;
  if (is_full(&r->of_node) && !grow_nodes(r))
    r->status = HW_ERR_MEMORY;
  return &r->habits[number];
}

/* The op's bit. */
static inline uint8_t put_sizes(struct hwi_recoder *r, struct hwi_habit *habit, const struct hwi_event *event)
{
  if (event->size == habit->size && event->usable == habit->usable)
    return 0;
  habit->size = event->size;
  habit->usable = event->usable;
  if (!r->has_usable) {
    hwi_columns_put(r->out, HWI_COLUMN_SIZES, event->size);
    return HWI_OP_SIZED;
  }
  int64_t unusual = (int64_t)(event->usable - hw_usual_usable(event->size));
  hwi_columns_put(r->out, HWI_COLUMN_SIZES, event->size << 1 | (unusual != 0));
  if (unusual)
    hwi_columns_put(r->out, HWI_COLUMN_USABLE, hwi_zigzag(unusual));
  return HWI_OP_SIZED;
}

static inline void add_block(struct hwi_recoder *r, uint64_t address, uint8_t class)
{
  if (!hwi_grow((void **)&r->addresses, &r->block_room, r->block_count + 1, sizeof *r->addresses) ||
      !hwi_grow((void **)&r->classes, &r->class_room, r->block_count + 1, 1)) {
    r->status = HW_ERR_MEMORY;
    return;
  }
  uint32_t *slot = find_address(r, address);
  r->at_address.count += !*slot;
  r->addresses[r->block_count] = address;
  r->classes[r->block_count] = class;
  *slot = (uint32_t)r->block_count++;
  if (is_full(&r->at_address) && !grow_addresses(r))
    r->status = HW_ERR_MEMORY;
}

/* The op. `old`: the address of the block that it replaces, or 0. */
static inline uint8_t put_birth(struct hwi_recoder *r, const struct hwi_event *event, uint64_t old)
{
  uint8_t op = put_sizes(r, put_node_number(r, event->node), event);
  uint64_t address = event->address, granules = hwi_granules(event->size, event->usable);
  uint8_t class = hwi_class_of(granules);
  unsigned place = address == old ? HWI_PLACE_SAME : hwi_places_find(&r->places, class, address);
  if (place < HWI_PLACE_FREED) {
    hwi_places_take(&r->places, class, place);
  } else if (place != HWI_PLACE_SAME) {
    if (place == HWI_PLACE_ELSEWHERE)
      put_address(r, HWI_COLUMN_ADDRESSES, address, &r->places.last);
    hwi_places_move_top(&r->places, address, granules);
  }
  add_block(r, address, class);
  return (uint8_t)(op | place);
}

static void put_alloc(struct hwi_recoder *r, const struct hwi_event *event)
{
  uint8_t op = put_birth(r, event, 0);
  if (event->alignment_log2) {
    op |= HWI_OP_ALIGNED;
    hwi_columns_put_byte(r->out, HWI_COLUMN_RARE, event->alignment_log2);
  }
  hwi_columns_put_byte(r->out, HWI_COLUMN_OPS, op);
}

static void put_realloc(struct hwi_recoder *r, const struct hwi_event *end, const struct hwi_event *birth)
{
  uint8_t end_op = put_end(r, end, end->address != birth->address);
  hwi_columns_put(r->out, HWI_COLUMN_REALLOC_TIMES, birth->tick - end->tick);
  hwi_columns_put_byte(r->out, HWI_COLUMN_OPS, HWI_OP_REALLOC | put_birth(r, birth, end->address));
  hwi_columns_put_byte(r->out, HWI_COLUMN_OPS, end_op);
  r->tick = birth->tick;
}

static void put_failed(struct hwi_recoder *r, const struct hwi_event *event)
{
  hwi_columns_put_byte(r->out, HWI_COLUMN_OPS, HWI_OP_FAILED);
  hwi_columns_put_byte(r->out, HWI_COLUMN_RARE, event->alignment_log2);
  hwi_columns_put(r->out, HWI_COLUMN_RARE, event->node);
  hwi_columns_put(r->out, HWI_COLUMN_RARE, event->size);
}

static void put_events(struct hwi_recoder *r, int count)
{
  for (int i = 0; i < count; i++) {
    const struct hwi_event *event = &r->events[i];
    if (i + LOOK_AHEAD < count)
      __builtin_prefetch(&r->at_address.slots[home_of_address(&r->at_address, event[LOOK_AHEAD].address)]);
    put_thread(r, event->thread);
    put_time(r, event->tick);
    if (event->kind == HWI_EVENT_ALLOC) {
      put_alloc(r, event);
    } else if (event->kind == HWI_EVENT_FAILED) {
      put_failed(r, event);
    } else if (event->moved) {
      put_realloc(r, event, event + 1);
      i++;
    } else {
      put_free(r, event);
    }
    r->op_count++;
    r->thread_op_count++;
  }
}

/* --- chunks --- */

static int put_chunk(struct hwi_recoder *r, const struct hw_chunk_header *chunk, const uint8_t *events)
{
  struct hwi_definition_sink sink = {r, put_node, put_record};
  struct hwi_cursor cursor;
  uint64_t before = r->op_count;
  int count;
  if (!hwi_cursor_init(&cursor, chunk, events, r->tick))
    return HW_ERR_DAMAGED;
  while ((count = hwi_decode(&cursor, &sink, r->events, BATCH_EVENTS)) > 0 && !r->status)
    put_events(r, count);
  if (cursor.damaged)
    return HW_ERR_DAMAGED;
  hwi_columns_put(r->out, HWI_COLUMN_CHUNKS, r->op_count - before);
  hwi_columns_put(r->out, HWI_COLUMN_CHUNKS, chunk->valid_bytes);
  return r->out->failed ? HW_ERR_MEMORY : r->status;
}

static bool reset(struct hwi_recoder *r, struct hwi_columns_out *out, const struct hw_chunk_header *first)
{
  hwi_columns_out_clear(out);
  r->out = out;
  r->has_usable = first->fields & HW_FIELD_USABLE;
  r->status = 0;
  r->tick = first->base_tick;
  r->op_count = r->thread_op_count = 0;
  r->places = (struct hwi_places){0};
  r->block_count = r->habit_count = 1;
  r->pc_count = HWI_PC_FIRST;
  r->last_ended = r->last_far = 0;
  r->last_node = r->last_number = r->last_pc = 0;
  bool ok = hwi_grow((void **)&r->habits, &r->habit_room, 1, sizeof *r->habits) &&
            hwi_grow((void **)&r->pcs, &r->pc_room, HWI_PC_FIRST, sizeof *r->pcs) &&
            reset_table(&r->at_address, TABLE_LOG2_MIN) && reset_table(&r->of_node, TABLE_LOG2_MIN) &&
            reset_table(&r->of_pc, TABLE_LOG2_MIN);
  if (ok)
    memset(r->pcs, 0, HWI_PC_FIRST * sizeof *r->pcs);
  return ok;
}

static void put_end_of_section(struct hwi_recoder *r)
{
  if (r->thread_op_count) {
    hwi_columns_put(r->out, HWI_COLUMN_THREADS, r->thread_op_count);
    hwi_columns_put(r->out, HWI_COLUMN_THREADS, r->thread);
  }
  hwi_columns_put(r->out, HWI_COLUMN_HEAD, r->has_usable ? HW_FIELD_USABLE : 0);
  hwi_columns_put(r->out, HWI_COLUMN_HEAD, r->block_count - 1);
  hwi_columns_put(r->out, HWI_COLUMN_HEAD, r->habit_count - 1);
}

int hwi_recode(struct hwi_recoder *r, const uint8_t *plain, size_t bytes, struct hwi_columns_out *out,
               struct hw_section_header *section)
{
  struct hw_chunk_header chunk, first;
  if (bytes > HWI_RECODE_MAX_BYTES || bytes < sizeof first)
    return bytes < sizeof first ? HW_ERR_DAMAGED : HW_ERR_LIMIT;
  memcpy(&first, plain, sizeof first);
  if (!reset(r, out, &first))
    return HW_ERR_MEMORY;
  for (size_t at = 0; at < bytes; at += sizeof chunk + chunk.valid_bytes) {
    memcpy(&chunk, plain + at, sizeof chunk);
    if (chunk.fields != first.fields)
      return HW_ERR_LIMIT;
    int status = put_chunk(r, &chunk, plain + at + sizeof chunk);
    if (status < 0)
      return status;
  }
  put_end_of_section(r);
  section->last_tick = r->tick;
  section->event_count = r->op_count;
  return out->failed ? HW_ERR_MEMORY : 0;
}
