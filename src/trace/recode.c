/* recode.c - the events of consecutive chunks as columns (codec 1): the packer's side */
#include "trace/recode.h"

#include <stdlib.h>

#include "base/error.h"
#include "trace/pack_event.h"
#include "trace/recode_common.h"

struct hwi_recoder {
  struct hwi_model model;
  uint32_t *places; /* the latest blocks at their addresses, by open addressing; they stay when the blocks end */
  uint32_t place_count, places_log2;
  uint32_t pc_slots[1 << HWI_PC_SLOTS_LOG2]; /* numbers of pcs, by open addressing */
};

/* What the events of a chunk count from. */
struct state {
  struct hwi_recoder *recoder;
  struct hwi_model *model;
  struct hwi_columns_out *out;
  bool has_usable;
  uint64_t address, node_address;
  uint32_t last_node;
  struct hwi_recent recent[HW_RECENT_SLOTS];
};

struct hwi_recoder *hwi_recoder_create(void)
{
  return calloc(1, sizeof(struct hwi_recoder));
}

void hwi_recoder_destroy(struct hwi_recoder *recoder)
{
  if (!recoder)
    return;
  hwi_model_release(&recoder->model);
  free(recoder->places);
  free(recoder);
}

/* --- blocks by address --- */

enum { PLACES_LOG2_MIN = 12 };

static bool reset_places(struct hwi_recoder *recoder, uint32_t log2)
{
  if (log2 != recoder->places_log2) {
    free(recoder->places);
    recoder->places_log2 = log2;
    recoder->places = malloc(sizeof *recoder->places << log2);
  }
  recoder->place_count = 0;
  if (recoder->places)
    memset(recoder->places, 0, sizeof *recoder->places << log2);
  else
    recoder->places_log2 = 0;
  return recoder->places != NULL;
}

/* Neighbours in the heap are neighbours here: programs mostly touch them together. */
static uint32_t *find_place(const struct hwi_recoder *recoder, uint64_t address)
{
  enum { LINE_LOG2 = 4, GRAIN_LOG2 = 4, LINE_MASK = (1 << LINE_LOG2) - 1 };
  uint32_t mask = (1u << recoder->places_log2) - 1;
  uint64_t line = (address >> (GRAIN_LOG2 + LINE_LOG2)) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
  uint32_t at = ((uint32_t)line << LINE_LOG2 | (address >> GRAIN_LOG2 & LINE_MASK)) & mask;
  while (recoder->places[at] && recoder->model.blocks[recoder->places[at]].address != address)
    at = (at + 1) & mask;
  return &recoder->places[at];
}

/* The latest block at each address is the one to find. */
static bool grow_places(struct hwi_recoder *recoder)
{
  if (!reset_places(recoder, recoder->places_log2 + 2))
    return false;
  for (uint32_t block = 1; block < recoder->model.block_count; block++) {
    uint32_t *place = find_place(recoder, recoder->model.blocks[block].address);
    recoder->place_count += !*place;
    *place = block;
  }
  return true;
}

static uint32_t find_block(struct state *state, uint64_t address)
{
  uint32_t block = *find_place(state->recoder, address);
  return block && state->model->blocks[block].live ? block : 0;
}

/* --- blocks that end --- */

static void put_rank(struct state *state, uint32_t block)
{
  const struct hwi_model *model = state->model;
  uint32_t at = hwi_model_block_at_rank(model, model->blocks[block].node, 0);
  unsigned rank = 0;
  while (at && at != block && rank < HWI_RANKS) {
    at = model->blocks[at].node_older;
    rank++;
  }
  if (at == block && rank < HWI_RANKS) {
    hwi_columns_put_byte(state->out, HWI_COLUMN_RANKS, (uint8_t)rank);
    return;
  }
  hwi_columns_put_byte(state->out, HWI_COLUMN_RANKS, HWI_RANK_FAR);
  hwi_columns_put(state->out, HWI_COLUMN_FAR, model->block_count - block);
}

static int find_step(const struct hwi_model *model, uint32_t block)
{
  uint32_t next = model->next, previous = model->previous, young = model->youngest;
  for (int i = 0; i < HWI_STEPS && (next || previous || young); i++) {
    if (next == block)
      return i;
    if (previous == block)
      return HWI_STEPS + i;
    if (young == block)
      return 2 * HWI_STEPS + i;
    next = next ? model->blocks[next].younger : 0;
    previous = previous ? model->blocks[previous].older : 0;
    young = young ? model->blocks[young].older : 0;
  }
  return -1;
}

static bool put_far_address(struct state *state, uint64_t address)
{
  uint64_t varint;
  if (!hwi_address_varint(address, state->model->last_freed, &varint))
    return false;
  hwi_columns_put(state->out, HWI_COLUMN_FAR, varint);
  return true;
}

/* Names the block without a guess. `own`: the node of a realloc, or UINT32_MAX. */
static bool put_which(struct state *state, uint32_t block, uint64_t address, uint32_t own)
{
  if (!block) {
    hwi_columns_put_byte(state->out, HWI_COLUMN_WHICH, HWI_WHICH_UNKNOWN);
    return put_far_address(state, address);
  }
  uint32_t node = state->model->blocks[block].node;
  int step = node == own ? -1 : find_step(state->model, block);
  if (step >= 0) {
    hwi_columns_put_byte(state->out, HWI_COLUMN_WHICH, (uint8_t)(HWI_WHICH_STEP + step));
    return true;
  }
  hwi_columns_put_byte(state->out, HWI_COLUMN_WHICH, node == own ? HWI_WHICH_OWN_NODE : HWI_WHICH_NODE);
  if (node != own)
    hwi_columns_put(state->out, HWI_COLUMN_FREE_NODES, node);
  put_rank(state, block);
  return true;
}

static bool names_block(const struct hwi_model *model, uint32_t guess, uint32_t block)
{
  switch (hwi_symbol_kind(guess)) {
  case HWI_KIND_FREE:
    return block && hwi_node_slot(hwi_symbol_node(guess)) == hwi_node_slot(model->blocks[block].node);
  case HWI_KIND_FREE_NEXT:
    return block && block == model->next;
  case HWI_KIND_FREE_PREVIOUS:
    return block && block == model->previous;
  case HWI_KIND_FREE_UNKNOWN:
    return !block;
  default:
    return false;
  }
}

static bool put_free_symbol(struct state *state, uint32_t block, uint64_t address)
{
  struct hwi_model *model = state->model;
  uint32_t guess[HWI_GUESSES], node = block ? model->blocks[block].node : 0;
  hwi_model_guess(model, guess);
  int right = 0;
  while (right < HWI_GUESSES && !names_block(model, guess[right], block))
    right++;
  uint32_t symbol = right < HWI_GUESSES        ? guess[right]
                    : !block                   ? hwi_symbol(HWI_KIND_FREE_UNKNOWN, 0)
                    : block == model->next     ? hwi_symbol(HWI_KIND_FREE_NEXT, 0)
                    : block == model->previous ? hwi_symbol(HWI_KIND_FREE_PREVIOUS, 0)
                                               : hwi_symbol(HWI_KIND_FREE, node);
  enum hwi_symbol_kind kind = hwi_symbol_kind(symbol);
  bool ok = true;
  hwi_columns_put_byte(state->out, HWI_COLUMN_SYMBOLS,
                       (uint8_t)(right < HWI_GUESSES ? right : HWI_GUESSES + (int)kind));
  if (kind == HWI_KIND_FREE_UNKNOWN)
    ok = put_far_address(state, address);
  else if (kind == HWI_KIND_FREE && right < HWI_GUESSES)
    put_rank(state, block);
  else if (kind == HWI_KIND_FREE)
    ok = put_which(state, block, address, UINT32_MAX);
  hwi_model_learn(model, symbol, hwi_free_context(node));
  return ok;
}

static void put_free_op(struct state *state, const struct hwi_raw_event *event, uint32_t node)
{
  struct hwi_node_habits *habits = hwi_model_habits(state->model, node);
  uint32_t code = event->op == HW_OP_FREE     ? HWI_FREE_PLAIN
                  : event->op == HW_OP_DELETE ? HWI_FREE_DELETE
                                              : HWI_FREE_VIA + (uint32_t)event->byte;
  if (code == habits->free_op) {
    hwi_columns_put_byte(state->out, HWI_COLUMN_FREE_OPS, HWI_FREE_HABIT);
    return;
  }
  hwi_columns_put(state->out, HWI_COLUMN_FREE_OPS, code);
  habits->free_op = (uint8_t)code;
}

/* Takes the address of an event, which counts from `base`, and checks that it was written the one way that is restored. */
static bool take_address(struct state *state, uint64_t varint, uint64_t base)
{
  uint64_t again, address = hwi_address_of(varint, base);
  bool ok = hwi_address_varint(address, base, &again) && again == varint;
  state->address = address;
  return ok;
}

static bool put_free(struct state *state, const struct hwi_raw_event *event)
{
  struct hwi_model *model = state->model;
  if (!take_address(state, event->address, state->address) || event->byte > UINT8_MAX - HWI_FREE_VIA)
    return false;
  hwi_columns_put(state->out, hwi_time_column(model, true), event->dt);
  uint32_t block = find_block(state, state->address);
  if (!put_free_symbol(state, block, state->address))
    return false;
  put_free_op(state, event, block ? model->blocks[block].node : 0);
  if (block)
    hwi_model_end_block(model, block, true);
  else
    model->last_freed = state->address;
  model->was_free = true;
  return true;
}

/* --- blocks that begin --- */

static void put_size(struct state *state, const struct hwi_raw_event *event, uint32_t node)
{
  struct hwi_node_habits *habits = hwi_model_habits(state->model, node);
  if (event->size == habits->size && event->usable == habits->usable) {
    hwi_columns_put_byte(state->out, HWI_COLUMN_SIZES, 0);
    return;
  }
  hwi_columns_put(state->out, HWI_COLUMN_SIZES, event->size + 1);
  if (state->has_usable && (event->size & 1))
    hwi_columns_put(state->out, HWI_COLUMN_USABLE, event->usable);
  habits->size = (uint32_t)event->size;
  habits->usable = (uint16_t)event->usable;
}

/* `old`: the address of a block that is reallocated, or 0. */
static bool put_place(struct state *state, uint16_t class, uint64_t old)
{
  struct hwi_model *model = state->model;
  uint64_t address = state->address, varint;
  unsigned place = old && old == address ? HWI_PLACE_SAME : hwi_model_place_of(model, class, address);
  hwi_columns_put_byte(state->out, HWI_COLUMN_PLACES, (uint8_t)place);
  if (place == HWI_PLACE_SAME)
    return true;
  if (place == HWI_PLACE_ELSEWHERE) {
    if (!hwi_address_varint(address, model->last_address, &varint))
      return false;
    hwi_columns_put(state->out, HWI_COLUMN_ADDRESSES, varint);
  }
  hwi_model_take_place(model, class, place, address);
  return true;
}

static bool add_block(struct state *state, uint32_t node, uint16_t class)
{
  struct hwi_recoder *recoder = state->recoder;
  uint32_t *place = find_place(recoder, state->address);
  recoder->place_count += !*place;
  *place = hwi_model_add_block(state->model, state->address, node, class);
  if (!*place || (recoder->place_count >> (recoder->places_log2 - 1) && !grow_places(recoder)))
    state->out->failed = true;
  return !state->out->failed;
}

/* `kind` is ALLOC, ALIGNED or REALLOC. */
static void put_birth_symbol(struct state *state, enum hwi_symbol_kind kind, uint32_t node)
{
  struct hwi_model *model = state->model;
  uint32_t guess[HWI_GUESSES], symbol = hwi_symbol(kind, node), fresh = hwi_symbol(HWI_KIND_ALLOC_FRESH, 0);
  bool is_fresh = kind == HWI_KIND_ALLOC && node && node == model->fresh;
  hwi_model_guess(model, guess);
  int right = 0;
  while (right < HWI_GUESSES && guess[right] != symbol && !(is_fresh && guess[right] == fresh))
    right++;
  if (right < HWI_GUESSES) {
    symbol = guess[right];
    hwi_columns_put_byte(state->out, HWI_COLUMN_SYMBOLS, (uint8_t)right);
  } else {
    symbol = is_fresh ? fresh : symbol;
    hwi_columns_put_byte(state->out, HWI_COLUMN_SYMBOLS, (uint8_t)(HWI_GUESSES + hwi_symbol_kind(symbol)));
    if (!is_fresh)
      hwi_columns_put(state->out, HWI_COLUMN_NODES, node);
  }
  hwi_model_learn(model, symbol, is_fresh ? fresh : hwi_symbol(kind, node));
  model->fresh = 0;
  model->last_allocated = node;
  model->was_free = false;
}

/* An allocation through its chunk's slots: completes *event, and checks that it was written the one way that is restored. */
static bool take_slot(struct state *state, struct hwi_raw_event *event)
{
  uint8_t slot = event->op == HW_OP_ALLOC ? hw_recent_slot((uint32_t)event->node) : event->byte;
  struct hwi_recent *recent = &state->recent[slot];
  uint64_t base = state->address;
  if (event->op == HW_OP_ALLOC) {
    if (recent->node && recent->node == event->node)
      return false;
  } else {
    bool is_same = event->size == recent->size && event->usable == recent->usable;
    if (!recent->node || hw_recent_slot(recent->node) != slot || (event->op == HW_OP_ALLOC_RECENT && is_same))
      return false;
    event->node = recent->node;
    base = recent->address;
    if (event->op == HW_OP_ALLOC_AGAIN) {
      event->size = recent->size;
      event->usable = recent->usable;
    }
  }
  bool ok = take_address(state, event->address, base);
  *recent = (struct hwi_recent){(uint32_t)event->node, event->size, event->usable, state->address};
  return ok;
}

static bool is_in_range(const struct hwi_raw_event *event)
{
  return event->node >> HWI_SYMBOL_NODE_BITS == 0 && event->size <= UINT64_MAX / 2;
}

static bool put_alloc(struct state *state, const struct hwi_raw_event *raw)
{
  struct hwi_raw_event event = *raw;
  bool is_aligned = event.op == HW_OP_ALLOC_ALIGNED;
  if (!is_in_range(&event) ||
      !(is_aligned ? take_address(state, event.address, state->address) : take_slot(state, &event)))
    return false;
  uint32_t node = (uint32_t)event.node;
  hwi_columns_put(state->out, hwi_time_column(state->model, false), event.dt);
  put_birth_symbol(state, is_aligned ? HWI_KIND_ALIGNED : HWI_KIND_ALLOC, node);
  if (is_aligned)
    hwi_columns_put_byte(state->out, HWI_COLUMN_RARE, event.byte);
  put_size(state, &event, node);
  uint16_t class = hwi_model_class(event.size, event.usable, state->has_usable);
  return put_place(state, class, 0) && add_block(state, node, class);
}

static bool put_realloc(struct state *state, const struct hwi_raw_event *event)
{
  uint32_t node = (uint32_t)event->node;
  if (!is_in_range(event) || !take_address(state, event->old_address, state->address))
    return false;
  uint64_t old = state->address;
  hwi_columns_put(state->out, hwi_time_column(state->model, false), event->dt);
  put_birth_symbol(state, HWI_KIND_REALLOC, node);
  hwi_columns_put(state->out, HWI_COLUMN_DT, event->ticks);
  uint32_t block = find_block(state, old);
  if (!put_which(state, block, old, node))
    return false;
  put_size(state, event, node);
  uint16_t class = hwi_model_class(event->size, event->usable, state->has_usable);
  if (!take_address(state, event->address, old) || !put_place(state, class, old))
    return false;
  if (block)
    hwi_model_end_block(state->model, block, state->address != old);
  else
    state->model->last_freed = old;
  return add_block(state, node, class);
}

/* --- nodes --- */

/* The number of the pc, or 0: it is new. */
static uint32_t find_pc(struct hwi_recoder *recoder, const struct hwi_pc *pc, uint32_t **slot)
{
  const struct hwi_model *model = &recoder->model;
  uint32_t mask = (1u << HWI_PC_SLOTS_LOG2) - 1;
  uint32_t at =
      (uint32_t)((pc->address * 4 + pc->module + pc->entry) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HWI_PC_SLOTS_LOG2));
  uint32_t *slots = recoder->pc_slots;
  for (; slots[at]; at = (at + 1) & mask) {
    const struct hwi_pc *known = &model->pcs[slots[at]];
    if (known->address == pc->address && known->module == pc->module && known->entry == pc->entry)
      break;
  }
  *slot = &slots[at];
  return slots[at];
}

static bool put_pc(struct state *state, uint32_t parent, const struct hwi_pc *pc, uint32_t *number)
{
  uint32_t *slot;
  struct hwi_model *model = state->model;
  *number = find_pc(state->recoder, pc, &slot);
  if (*number) {
    uint8_t code = hwi_model_pc_code(model, parent, *number);
    hwi_columns_put_byte(state->out, HWI_COLUMN_NODE_PCS, code);
    if (code == HWI_PC_KNOWN)
      hwi_columns_put(state->out, HWI_COLUMN_KNOWN_PCS, *number);
    return true;
  }
  *number = *slot = hwi_model_add_pc(model, pc);
  hwi_columns_put_byte(state->out, HWI_COLUMN_NODE_PCS, HWI_PC_NEW);
  hwi_columns_put(state->out, HWI_COLUMN_NEW_PCS, hwi_zigzag((int64_t)(pc->address - model->last_pc)));
  hwi_columns_put(state->out, HWI_COLUMN_NEW_PCS, pc->module);
  hwi_columns_put_byte(state->out, HWI_COLUMN_NEW_PCS, pc->entry);
  return *number != 0;
}

static void put_plain_symbol(struct state *state, enum hwi_symbol_kind kind)
{
  uint32_t guess[HWI_GUESSES], symbol = hwi_symbol(kind, 0);
  hwi_model_guess(state->model, guess);
  int right = 0;
  while (right < HWI_GUESSES && guess[right] != symbol)
    right++;
  hwi_columns_put_byte(state->out, HWI_COLUMN_SYMBOLS,
                       (uint8_t)(right < HWI_GUESSES ? right : HWI_GUESSES + (int)kind));
  hwi_model_learn(state->model, symbol, symbol);
}

static bool put_node(struct state *state, const struct hwi_raw_event *event)
{
  struct hwi_model *model = state->model;
  uint64_t number = (uint64_t)hwi_unzigzag(event->node) + state->last_node + 1;
  uint64_t parent = number - (uint64_t)hwi_unzigzag(event->parent);
  if (number >> HWI_SYMBOL_NODE_BITS || parent >> HWI_SYMBOL_NODE_BITS)
    return false;
  struct hwi_pc pc = {.address = state->node_address + (uint64_t)hwi_unzigzag(event->address),
                      .module = event->module,
                      .entry = event->byte};
  if (!model->has_nodes) {
    hwi_model_begin_nodes(model);
    memset(state->recoder->pc_slots, 0, sizeof state->recoder->pc_slots);
  }
  put_plain_symbol(state, event->dt ? HWI_KIND_NODE_LATE : HWI_KIND_NODE);
  if (event->dt)
    hwi_columns_put(state->out, HWI_COLUMN_RARE, event->dt);
  hwi_columns_put(state->out, HWI_COLUMN_NODE_NUMBERS, event->node);
  uint8_t code = hwi_model_parent_code(model, (uint32_t)parent);
  hwi_columns_put_byte(state->out, HWI_COLUMN_NODE_PARENTS, code);
  if (code == HWI_PARENT_FAR)
    hwi_columns_put(state->out, HWI_COLUMN_FAR_PARENTS, event->parent);
  uint32_t pc_number;
  if (!put_pc(state, (uint32_t)parent, &pc, &pc_number))
    return false;
  hwi_model_add_node(model, (uint32_t)number, (uint32_t)parent, pc_number);
  state->last_node = (uint32_t)number;
  state->node_address = pc.address;
  return true;
}

/* --- what seldom occurs --- */

static bool put_failed(struct state *state, const struct hwi_raw_event *event)
{
  hwi_columns_put(state->out, hwi_time_column(state->model, false), event->dt);
  put_plain_symbol(state, HWI_KIND_FAILED);
  hwi_columns_put_byte(state->out, HWI_COLUMN_RARE, event->byte);
  hwi_columns_put(state->out, HWI_COLUMN_RARE, event->node);
  hwi_columns_put(state->out, HWI_COLUMN_RARE, event->size);
  state->model->was_free = false;
  return true;
}

static bool put_record(struct state *state, const struct hwi_raw_event *event)
{
  put_plain_symbol(state, HWI_KIND_RECORD);
  hwi_columns_put(state->out, HWI_COLUMN_RARE, event->dt);
  hwi_columns_put_byte(state->out, HWI_COLUMN_RARE, event->byte);
  hwi_columns_put(state->out, HWI_COLUMN_RARE, event->size);
  hwi_columns_put_bytes(state->out, HWI_COLUMN_PAYLOADS, event->payload, event->size);
  return true;
}

/* --- chunks --- */

static bool put_event(struct state *state, const struct hwi_raw_event *event)
{
  switch ((enum hw_op)event->op) {
  case HW_OP_ALLOC:
  case HW_OP_ALLOC_RECENT:
  case HW_OP_ALLOC_AGAIN:
  case HW_OP_ALLOC_ALIGNED:
    return put_alloc(state, event);
  case HW_OP_FREE:
  case HW_OP_DELETE:
  case HW_OP_FREE_VIA:
    return put_free(state, event);
  case HW_OP_REALLOC:
    return put_realloc(state, event);
  case HW_OP_NODE:
    return put_node(state, event);
  case HW_OP_FAILED:
    return put_failed(state, event);
  case HW_OP_RECORD:
    return put_record(state, event);
  default:
    return false;
  }
}

static bool put_chunk(struct state *state, const struct hw_chunk_header *chunk, const uint8_t *events)
{
  const uint8_t *at = events, *end = events + chunk->valid_bytes;
  state->has_usable = chunk->fields & HW_FIELD_USABLE;
  state->address = chunk->base_address;
  state->node_address = 0;
  state->last_node = 0;
  memset(state->recent, 0, sizeof state->recent);
  hwi_columns_put_bytes(state->out, HWI_COLUMN_HEADS, chunk, sizeof *chunk);
  while (at < end) {
    struct hwi_raw_event event = {0};
    at = hwi_raw_event_parse(at, end, state->has_usable, &event);
    if (!at || !put_event(state, &event))
      return false;
  }
  return true;
}

int hwi_recode(struct hwi_recoder *recoder, const uint8_t *plain, size_t bytes, struct hwi_columns_out *out)
{
  struct state state = {.recoder = recoder, .model = &recoder->model, .out = out};
  hwi_columns_out_clear(out);
  if (bytes > HWI_RECODE_MAX_BYTES)
    return HW_ERR_LIMIT;
  if (!reset_places(recoder, PLACES_LOG2_MIN))
    return HW_ERR_MEMORY;
  hwi_model_reset(&recoder->model);
  size_t at = 0;
  while (at < bytes) {
    struct hw_chunk_header chunk;
    if (bytes - at < sizeof chunk)
      return HW_ERR_DAMAGED;
    memcpy(&chunk, plain + at, sizeof chunk);
    at += sizeof chunk;
    if (chunk.valid_bytes > bytes - at || !put_chunk(&state, &chunk, plain + at))
      return out->failed ? HW_ERR_MEMORY : HW_ERR_DAMAGED;
    at += chunk.valid_bytes;
  }
  return out->failed ? HW_ERR_MEMORY : 0;
}
