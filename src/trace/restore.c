/* restore.c - columns back to the events of consecutive chunks (codec 1): the unpacker's side
 *
 * The mirror of recode.c, step by step: what that writes, this reads in the same order, and the model learns the same. A forged
 * section can make it guess wrong and restore nonsense, which the reader of events then judges; here it only matters that
 * every number is checked before it is used, that the output is never left, and that memory is bounded by its size.
 */
#include <stdlib.h>

#include "base/error.h"
#include "trace/recode.h"
#include "trace/recode_common.h"

struct state {
  struct hwi_model *model;
  struct hwi_columns_in *in;
  uint8_t *at,
      *end; /* of the output; no event begins at or behind `end`, and at most one leaves it, by HWI_RESTORE_SLACK */
  bool has_usable;
  bool no_memory;
  uint64_t address, node_address;
  uint32_t last_node;
  struct hwi_recent recent[HW_RECENT_SLOTS];
};

/* --- writing events --- */

static inline void put_head(struct state *state, enum hw_op op, uint64_t dt)
{
  if (dt < HW_DT_LONG) {
    *state->at++ = (uint8_t)(op | dt << HW_OP_BITS);
    return;
  }
  *state->at++ = (uint8_t)(op | HW_DT_LONG << HW_OP_BITS);
  state->at = hwi_put_varint(state->at, dt);
}

/* As a distance from `base`. */
static inline bool put_address(struct state *state, uint64_t address, uint64_t base)
{
  uint64_t varint;
  bool ok = hwi_address_varint(address, base, &varint);
  state->at = hwi_put_varint(state->at, varint);
  state->address = address;
  return ok;
}

/* --- blocks that end --- */

/* 0: no such block. */
static uint32_t get_rank(struct state *state, uint32_t node)
{
  const struct hwi_model *model = state->model;
  uint8_t rank = hwi_columns_get_byte(state->in, HWI_COLUMN_RANKS);
  if (rank < HWI_RANKS)
    return hwi_model_block_at_rank(model, node, rank);
  uint64_t far = hwi_columns_get(state->in, HWI_COLUMN_FAR);
  if (far == 0 || far >= model->block_count)
    return 0;
  uint32_t block = model->block_count - (uint32_t)far;
  return model->blocks[block].live ? block : 0;
}

static uint64_t get_far_address(struct state *state)
{
  return hwi_address_of(hwi_columns_get(state->in, HWI_COLUMN_FAR), state->model->last_freed);
}

static uint32_t get_node(struct state *state, enum hwi_column column)
{
  uint64_t node = hwi_columns_get(state->in, column);
  if (node >> HWI_SYMBOL_NODE_BITS)
    state->in->failed = true;
  return hwi_symbol_node((uint32_t)node);
}

/* False: it names nothing. *block 0: it is no block, but *address. */
static bool get_which(struct state *state, uint32_t own, uint32_t *block, uint64_t *address)
{
  uint8_t which = hwi_columns_get_byte(state->in, HWI_COLUMN_WHICH);
  *block = 0;
  if (which == HWI_WHICH_UNKNOWN) {
    *address = get_far_address(state);
    return true;
  }
  if (which >= HWI_WHICH_STEP + HWI_STEP_CODES)
    return false;
  if (which >= HWI_WHICH_STEP)
    *block = hwi_model_block_at_step(state->model, which - HWI_WHICH_STEP);
  else
    *block = get_rank(state, which == HWI_WHICH_OWN_NODE ? own : get_node(state, HWI_COLUMN_FREE_NODES));
  *address = *block ? state->model->blocks[*block].address : 0;
  return *block != 0;
}

static void put_free_op(struct state *state, uint64_t dt, uint32_t node)
{
  struct hwi_node_habits *habits = hwi_model_habits(state->model, node);
  uint64_t code = hwi_columns_get(state->in, HWI_COLUMN_FREE_OPS);
  if (code > UINT8_MAX || (code == HWI_FREE_HABIT && habits->free_op == 0))
    state->in->failed = true;
  if (code == HWI_FREE_HABIT)
    code = habits->free_op;
  habits->free_op = (uint8_t)code;
  if (code < HWI_FREE_VIA) {
    put_head(state, code == HWI_FREE_PLAIN ? HW_OP_FREE : HW_OP_DELETE, dt);
    return;
  }
  put_head(state, HW_OP_FREE_VIA, dt);
  *state->at++ = (uint8_t)(code - HWI_FREE_VIA);
}

static bool restore_free(struct state *state, uint32_t symbol, bool is_guessed)
{
  struct hwi_model *model = state->model;
  uint32_t block = 0;
  uint64_t address = 0;
  uint64_t dt = hwi_columns_get(state->in, hwi_time_column(model, true));
  switch (hwi_symbol_kind(symbol)) {
  case HWI_KIND_FREE_NEXT:
    block = model->next;
    break;
  case HWI_KIND_FREE_PREVIOUS:
    block = model->previous;
    break;
  case HWI_KIND_FREE_UNKNOWN:
    address = get_far_address(state);
    break;
  default:
    if (is_guessed)
      block = get_rank(state, hwi_symbol_node(symbol));
    else if (!get_which(state, 0, &block, &address))
      return false;
    if (block && !is_guessed)
      symbol = hwi_symbol(HWI_KIND_FREE, model->blocks[block].node);
  }
  if (!block && hwi_symbol_kind(symbol) != HWI_KIND_FREE_UNKNOWN)
    return false;
  uint32_t node = block ? model->blocks[block].node : 0;
  hwi_model_learn(model, symbol, hwi_free_context(node));
  put_free_op(state, dt, node);
  if (block) {
    address = model->blocks[block].address;
    hwi_model_end_block(model, block, true);
  } else {
    model->last_freed = address;
  }
  model->was_free = true;
  return put_address(state, address, state->address);
}

/* --- blocks that begin --- */

/* `event` gets the sizes. */
static void get_size(struct state *state, uint32_t node, struct hwi_recent *event)
{
  struct hwi_node_habits *habits = hwi_model_habits(state->model, node);
  uint64_t code = hwi_columns_get(state->in, HWI_COLUMN_SIZES);
  if (code == 0) {
    event->size = habits->size;
    event->usable = habits->usable;
    return;
  }
  event->size = code - 1;
  event->usable = state->has_usable && (event->size & 1) ? hwi_columns_get(state->in, HWI_COLUMN_USABLE) : 0;
  habits->size = (uint32_t)event->size;
  habits->usable = (uint16_t)event->usable;
}

static void put_size(struct state *state, const struct hwi_recent *event)
{
  state->at = hwi_put_varint(state->at, event->size);
  if (state->has_usable && (event->size & 1))
    state->at = hwi_put_varint(state->at, event->usable);
}

/* The address of the new block; 0: none. */
static uint64_t get_place(struct state *state, uint16_t class, uint64_t old)
{
  struct hwi_model *model = state->model;
  uint8_t place = hwi_columns_get_byte(state->in, HWI_COLUMN_PLACES);
  if (place == HWI_PLACE_SAME)
    return old;
  if (place > HWI_PLACE_SAME)
    return 0;
  uint64_t address = place == HWI_PLACE_ELSEWHERE
                         ? hwi_address_of(hwi_columns_get(state->in, HWI_COLUMN_ADDRESSES), model->last_address)
                         : hwi_model_address_at(model, class, place);
  if (address)
    hwi_model_take_place(model, class, place, address);
  return address;
}

/* `symbol` gets what was learned; the node is returned. */
static uint32_t take_birth(struct state *state, uint32_t symbol, bool is_guessed)
{
  struct hwi_model *model = state->model;
  enum hwi_symbol_kind kind = hwi_symbol_kind(symbol);
  uint32_t node = hwi_symbol_node(symbol), fresh = hwi_symbol(HWI_KIND_ALLOC_FRESH, 0);
  if (kind == HWI_KIND_ALLOC_FRESH)
    node = model->fresh;
  else if (!is_guessed)
    node = get_node(state, HWI_COLUMN_NODES);
  bool is_fresh = (kind == HWI_KIND_ALLOC_FRESH || kind == HWI_KIND_ALLOC) && node && node == model->fresh;
  if (kind != HWI_KIND_ALLOC_FRESH)
    symbol = hwi_symbol(kind, node);
  hwi_model_learn(model, symbol, is_fresh ? fresh : hwi_symbol(kind, node));
  model->fresh = 0;
  model->last_allocated = node;
  model->was_free = false;
  return node;
}

static bool add_block(struct state *state, uint64_t address, uint32_t node, uint16_t class)
{
  state->no_memory = !hwi_model_add_block(state->model, address, node, class);
  return !state->no_memory;
}

/* An allocation through its chunk's slots. */
static bool put_alloc(struct state *state, uint64_t dt, const struct hwi_recent *event)
{
  uint8_t slot = hw_recent_slot(event->node);
  struct hwi_recent *recent = &state->recent[slot];
  uint64_t base = state->address;
  if (event->node && recent->node == event->node) {
    bool is_same = event->size == recent->size && event->usable == recent->usable;
    put_head(state, is_same ? HW_OP_ALLOC_AGAIN : HW_OP_ALLOC_RECENT, dt);
    *state->at++ = slot;
    if (!is_same)
      put_size(state, event);
    base = recent->address;
  } else {
    put_head(state, HW_OP_ALLOC, dt);
    state->at = hwi_put_varint(state->at, event->node);
    put_size(state, event);
  }
  *recent = *event;
  return put_address(state, event->address, base);
}

static bool put_aligned(struct state *state, uint64_t dt, uint8_t alignment, const struct hwi_recent *event)
{
  put_head(state, HW_OP_ALLOC_ALIGNED, dt);
  *state->at++ = alignment;
  state->at = hwi_put_varint(state->at, event->node);
  put_size(state, event);
  return put_address(state, event->address, state->address);
}

static bool restore_alloc(struct state *state, uint32_t symbol, bool is_guessed)
{
  uint64_t dt = hwi_columns_get(state->in, hwi_time_column(state->model, false));
  struct hwi_recent event = {.node = take_birth(state, symbol, is_guessed)};
  bool is_aligned = hwi_symbol_kind(symbol) == HWI_KIND_ALIGNED;
  uint8_t alignment = is_aligned ? hwi_columns_get_byte(state->in, HWI_COLUMN_RARE) : 0;
  get_size(state, event.node, &event);
  uint16_t class = hwi_model_class(event.size, event.usable, state->has_usable);
  event.address = get_place(state, class, 0);
  if (!event.address || !(is_aligned ? put_aligned(state, dt, alignment, &event) : put_alloc(state, dt, &event)))
    return false;
  return add_block(state, event.address, event.node, class);
}

static bool restore_realloc(struct state *state, uint32_t symbol, bool is_guessed)
{
  struct hwi_model *model = state->model;
  uint64_t old, dt = hwi_columns_get(state->in, hwi_time_column(model, false));
  struct hwi_recent event = {.node = take_birth(state, symbol, is_guessed)};
  uint64_t ticks = hwi_columns_get(state->in, HWI_COLUMN_DT);
  uint32_t block;
  if (!get_which(state, event.node, &block, &old))
    return false;
  put_head(state, HW_OP_REALLOC, dt);
  state->at = hwi_put_varint(state->at, event.node);
  state->at = hwi_put_varint(state->at, ticks);
  if (!put_address(state, old, state->address))
    return false;
  get_size(state, event.node, &event);
  put_size(state, &event);
  uint16_t class = hwi_model_class(event.size, event.usable, state->has_usable);
  event.address = get_place(state, class, old);
  if (!event.address || !put_address(state, event.address, old))
    return false;
  if (block)
    hwi_model_end_block(model, block, event.address != old);
  else
    model->last_freed = old;
  return add_block(state, event.address, event.node, class);
}

/* --- nodes --- */

static uint32_t get_pc(struct state *state, uint32_t parent)
{
  struct hwi_model *model = state->model;
  uint8_t code = hwi_columns_get_byte(state->in, HWI_COLUMN_NODE_PCS);
  if (code < HWI_PC_KNOWN)
    return hwi_model_pc_at(model, parent, code);
  if (code == HWI_PC_KNOWN) {
    uint64_t number = hwi_columns_get(state->in, HWI_COLUMN_KNOWN_PCS);
    return number < model->pc_count ? (uint32_t)number : 0;
  }
  int64_t delta = hwi_unzigzag(hwi_columns_get(state->in, HWI_COLUMN_NEW_PCS));
  struct hwi_pc pc = {.address = model->last_pc + (uint64_t)delta};
  pc.module = hwi_columns_get(state->in, HWI_COLUMN_NEW_PCS);
  pc.entry = hwi_columns_get_byte(state->in, HWI_COLUMN_NEW_PCS);
  return hwi_model_add_pc(model, &pc);
}

static bool restore_node(struct state *state, uint32_t symbol)
{
  struct hwi_model *model = state->model;
  hwi_model_begin_nodes(model);
  hwi_model_learn(model, symbol, symbol);
  uint64_t dt = hwi_symbol_kind(symbol) == HWI_KIND_NODE_LATE ? hwi_columns_get(state->in, HWI_COLUMN_RARE) : 0;
  uint64_t distance = hwi_columns_get(state->in, HWI_COLUMN_NODE_NUMBERS);
  uint64_t number = (uint64_t)hwi_unzigzag(distance) + state->last_node + 1;
  uint8_t code = hwi_columns_get_byte(state->in, HWI_COLUMN_NODE_PARENTS);
  uint64_t parent;
  if (code == HWI_PARENT_FAR)
    parent = number - (uint64_t)hwi_unzigzag(hwi_columns_get(state->in, HWI_COLUMN_FAR_PARENTS));
  else
    parent = hwi_model_parent_at(model, code);
  if (number >> HWI_SYMBOL_NODE_BITS || parent >> HWI_SYMBOL_NODE_BITS)
    return false;
  uint32_t pc_number = get_pc(state, (uint32_t)parent);
  if (!pc_number)
    return false;
  const struct hwi_pc *pc = &model->pcs[pc_number];
  put_head(state, HW_OP_NODE, dt);
  state->at = hwi_put_varint(state->at, distance);
  state->at = hwi_put_varint(state->at, hwi_zigzag((int64_t)(number - parent)));
  state->at = hwi_put_varint(state->at, pc->module);
  if (pc->module & 1)
    *state->at++ = pc->entry;
  state->at = hwi_put_varint(state->at, hwi_zigzag((int64_t)(pc->address - state->node_address)));
  state->last_node = (uint32_t)number;
  state->node_address = pc->address;
  hwi_model_add_node(model, (uint32_t)number, (uint32_t)parent, pc_number);
  return true;
}

/* --- what seldom occurs --- */

static bool restore_failed(struct state *state, uint32_t symbol)
{
  uint64_t dt = hwi_columns_get(state->in, hwi_time_column(state->model, false));
  hwi_model_learn(state->model, symbol, symbol);
  put_head(state, HW_OP_FAILED, dt);
  *state->at++ = hwi_columns_get_byte(state->in, HWI_COLUMN_RARE);
  state->at = hwi_put_varint(state->at, hwi_columns_get(state->in, HWI_COLUMN_RARE));
  state->at = hwi_put_varint(state->at, hwi_columns_get(state->in, HWI_COLUMN_RARE));
  state->model->was_free = false;
  return true;
}

static bool restore_record(struct state *state, uint32_t symbol)
{
  hwi_model_learn(state->model, symbol, symbol);
  put_head(state, HW_OP_RECORD, hwi_columns_get(state->in, HWI_COLUMN_RARE));
  *state->at++ = hwi_columns_get_byte(state->in, HWI_COLUMN_RARE);
  uint64_t bytes = hwi_columns_get(state->in, HWI_COLUMN_RARE);
  state->at = hwi_put_varint(state->at, bytes);
  if (state->at > state->end || bytes > (uint64_t)(state->end - state->at))
    return false;
  const uint8_t *payload = hwi_columns_get_bytes(state->in, HWI_COLUMN_PAYLOADS, (size_t)bytes);
  if (!payload)
    return false;
  memcpy(state->at, payload, (size_t)bytes);
  state->at += bytes;
  return true;
}

/* --- chunks --- */

static bool restore_event(struct state *state)
{
  uint32_t guess[HWI_GUESSES];
  hwi_model_guess(state->model, guess);
  uint8_t code = hwi_columns_get_byte(state->in, HWI_COLUMN_SYMBOLS);
  bool is_guessed = code < HWI_GUESSES;
  if (code >= HWI_GUESSES + HWI_KIND_COUNT)
    return false;
  uint32_t symbol = is_guessed ? guess[code] : hwi_symbol((enum hwi_symbol_kind)(code - HWI_GUESSES), 0);
  switch (hwi_symbol_kind(symbol)) {
  case HWI_KIND_ALLOC:
  case HWI_KIND_ALLOC_FRESH:
  case HWI_KIND_ALIGNED:
    return restore_alloc(state, symbol, is_guessed);
  case HWI_KIND_FREE:
  case HWI_KIND_FREE_NEXT:
  case HWI_KIND_FREE_PREVIOUS:
  case HWI_KIND_FREE_UNKNOWN:
    return restore_free(state, symbol, is_guessed);
  case HWI_KIND_REALLOC:
    return restore_realloc(state, symbol, is_guessed);
  case HWI_KIND_NODE:
  case HWI_KIND_NODE_LATE:
    return restore_node(state, symbol);
  case HWI_KIND_FAILED:
    return restore_failed(state, symbol);
  case HWI_KIND_RECORD:
    return restore_record(state, symbol);
  default:
    return false;
  }
}

static bool restore_chunk(struct state *state, const uint8_t *limit)
{
  struct hw_chunk_header chunk;
  const uint8_t *head = hwi_columns_get_bytes(state->in, HWI_COLUMN_HEADS, sizeof chunk);
  if (!head || (size_t)(limit - state->at) < sizeof chunk)
    return false;
  memcpy(&chunk, head, sizeof chunk);
  memcpy(state->at, head, sizeof chunk);
  state->at += sizeof chunk;
  if (chunk.valid_bytes > (size_t)(limit - state->at))
    return false;
  state->end = state->at + chunk.valid_bytes;
  state->has_usable = chunk.fields & HW_FIELD_USABLE;
  state->address = chunk.base_address;
  state->node_address = 0;
  state->last_node = 0;
  memset(state->recent, 0, sizeof state->recent);
  while (state->at < state->end)
    if (!restore_event(state) || state->in->failed)
      return false;
  return state->at == state->end;
}

int hwi_restore(struct hwi_columns_in *in, uint8_t *plain, size_t bytes)
{
  static_assert((int)HWI_RESTORE_SLACK >= 2 * (int)HW_EVENT_MAX_BYTES, "an event that begins before the end fits");
  if (bytes > HWI_RECODE_MAX_BYTES)
    return HW_ERR_DAMAGED;
  struct hwi_model *model = malloc(sizeof *model);
  if (!model)
    return HW_ERR_MEMORY;
  model->blocks = NULL;
  model->block_room = 0;
  hwi_model_reset(model);
  struct state state = {.model = model, .in = in, .at = plain};
  const uint8_t *limit = plain + bytes;
  bool ok = true;
  while (ok && state.at < limit)
    ok = restore_chunk(&state, limit);
  hwi_model_release(model);
  free(model);
  return ok ? 0 : state.no_memory ? HW_ERR_MEMORY : HW_ERR_DAMAGED;
}
