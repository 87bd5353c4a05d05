/* decode.c - the events of one chunk; the hot loop of every reader
 *
 * The loop checks bounds once an event, not once a byte: an event has at most HW_EVENT_MAX_BYTES bytes, and that many
 * readable bytes follow the end of every buffer. An event that ends behind the chunk's end, and a varint of more than ten
 * bytes, is damage: the cursor goes back to where the event began and stays there.
 */
#include "trace/decode.h"

enum { VARINT_LAST_SHIFT = 63 };

static_assert((int)HWI_DECODE_PADDING >= (int)HW_EVENT_MAX_BYTES, "an event that begins before the end can be read");

bool hwi_cursor_init(struct hwi_cursor *cursor, const struct hw_chunk_header *header, const uint8_t *events,
                     uint64_t floor)
{
  *cursor = (struct hwi_cursor){
      .at = events,
      .end = events + header->valid_bytes,
      .tick = header->base_tick > floor ? header->base_tick : floor,
      .address = header->base_address,
      .thread = header->thread,
      .usable = header->fields & HW_FIELD_USABLE,
  };
  return !(header->fields & ~HW_FIELD_USABLE) && cursor->tick <= HWI_LATEST_TICK;
}

static inline int64_t unzigzag(uint64_t value)
{
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* NULL in *at: more than ten bytes. */
static __attribute__((noinline)) uint64_t long_varint(const uint8_t **at)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift <= VARINT_LAST_SHIFT; shift += 7) {
    uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return value;
  }
  *at = NULL;
  return 0;
}

static inline uint64_t varint(const uint8_t **at)
{
  const uint8_t *p = *at;
  uint64_t value = p[0];
  if (value < 0x80) {
    *at = p + 1;
    return value;
  }
  uint64_t second = p[1];
  if (second < 0x80) {
    *at = p + 2;
    return (value & 0x7f) | second << 7;
  }
  uint64_t third = p[2];
  if (third < 0x80) {
    *at = p + 3;
    return (value & 0x7f) | (second & 0x7f) << 7 | third << 14;
  }
  return long_varint(at);
}

static inline uint64_t address(const uint8_t **at, uint64_t last)
{
  uint64_t u = varint(at);
  if (!*at)
    return 0;
  uint64_t delta = (uint64_t)unzigzag(u >> 1);
  return last + (u & 1 ? delta : delta * 16);
}

static inline uint64_t sizes(const struct hwi_cursor *cursor, const uint8_t **at, uint64_t *usable)
{
  *usable = 0;
  uint64_t size = varint(at);
  if (!cursor->usable || !*at)
    return size;
  bool odd = size & 1;
  size >>= 1;
  *usable = hw_usual_usable(size);
  if (odd)
    *usable += (uint64_t)unzigzag(varint(at));
  return size;
}

/* Entry points of a later version have no name here. */
static inline uint8_t entry_byte(uint8_t byte)
{
  return byte < HW_ENTRY_COUNT ? byte : HW_ENTRY_NONE;
}

/* NODE and RECORD: seldom, so kept out of the loop. Returns where the event ends, or NULL. */
static __attribute__((noinline)) const uint8_t *definition(struct hwi_cursor *cursor,
                                                           const struct hwi_definition_sink *sink, unsigned op,
                                                           const uint8_t *at)
{
  if (op == HW_OP_RECORD) {
    uint8_t type = *at++;
    uint64_t bytes = varint(&at);
    if (!at || at > cursor->end || bytes > (uint64_t)(cursor->end - at))
      return NULL;
    if (!sink->add_record(sink->context, type, at, (size_t)bytes, &cursor->thread))
      return NULL;
    return at + bytes;
  }
  uint64_t number = (uint64_t)unzigzag(varint(&at)) + cursor->node + 1;
  uint64_t parent = at ? number - (uint64_t)unzigzag(varint(&at)) : 0;
  uint64_t module = at ? varint(&at) : 0;
  uint8_t entry = at && module & 1 ? *at++ : HW_ENTRY_NONE;
  uint64_t delta = at ? varint(&at) : 0;
  module >>= 1;
  if (!at || at > cursor->end || number > UINT32_MAX || parent > UINT32_MAX || module > UINT32_MAX)
    return NULL;
  uint64_t pc = cursor->node_address + (uint64_t)unzigzag(delta);
  struct hwi_node node = {
      .address = pc,
      .parent = (uint32_t)parent,
      .module = (uint32_t)module,
      .entry = entry_byte(entry),
      .cut = entry == HW_NODE_CUT,
  };
  if (!sink->add_node(sink->context, (uint32_t)number, &node))
    return NULL;
  cursor->node_address = pc;
  cursor->node = (uint32_t)number;
  return at;
}

static inline const uint8_t *node_of(struct hwi_event *event, const uint8_t *at)
{
  uint64_t node = varint(&at);
  event->node = (uint32_t)node;
  return node > UINT32_MAX ? NULL : at;
}

/* What follows the node of an allocation. */
static inline const uint8_t *block(struct hwi_cursor *cursor, struct hwi_event *event, const uint8_t *at)
{
  if (!at)
    return NULL;
  event->size = sizes(cursor, &at, &event->usable);
  if (at)
    event->address = address(&at, cursor->address);
  if (!at || !event->address)
    return NULL;
  cursor->address = event->address;
  return at;
}

static inline void remember(struct hwi_cursor *cursor, uint8_t slot, const struct hwi_event *event)
{
  cursor->recent[slot].size = event->size;
  cursor->recent[slot].usable = event->usable;
  cursor->recent[slot].address = event->address;
  cursor->recent[slot].node = event->node;
}

/* ALLOC_RECENT and ALLOC_AGAIN. */
static inline const uint8_t *recent_allocation(struct hwi_cursor *cursor, struct hwi_event *event, bool again,
                                               const uint8_t *at)
{
  uint8_t slot = *at++;
  event->node = cursor->recent[slot].node;
  event->size = cursor->recent[slot].size;
  event->usable = cursor->recent[slot].usable;
  if (!again)
    event->size = sizes(cursor, &at, &event->usable);
  if (at)
    event->address = address(&at, cursor->recent[slot].address);
  if (!at || !event->address || !event->node)
    return NULL;
  cursor->address = event->address;
  remember(cursor, slot, event);
  return at;
}

static inline const uint8_t *release(struct hwi_cursor *cursor, struct hwi_event *event, const uint8_t *at)
{
  event->address = address(&at, cursor->address);
  if (!at || !event->address)
    return NULL;
  cursor->address = event->address;
  return at;
}

/* Gives two events: the end of the old block and the birth of the new one. */
static inline const uint8_t *reallocation(struct hwi_cursor *cursor, struct hwi_event *event, const uint8_t *at)
{
  uint64_t node = varint(&at);
  uint64_t ticks = at ? varint(&at) : 0;
  if (!at || node > UINT32_MAX || ticks > HWI_LATEST_TICK - cursor->tick)
    return NULL;
  event[1] = event[0];
  event[0].kind = HWI_EVENT_FREE;
  event[0].entry = HW_ENTRY_REALLOC;
  event[0].moved = event[1].moved = true;
  at = release(cursor, &event[0], at);
  if (!at)
    return NULL;
  event[1].kind = HWI_EVENT_ALLOC;
  event[1].node = (uint32_t)node;
  event[1].tick = cursor->tick + ticks;
  event[1].size = sizes(cursor, &at, &event[1].usable);
  if (at)
    at = release(cursor, &event[1], at);
  if (at && at <= cursor->end)
    cursor->tick = event[1].tick;
  return at;
}

int hwi_decode(struct hwi_cursor *cursor, const struct hwi_definition_sink *sink, struct hwi_event *events, int max)
{
  int count = 0;
  while (cursor->at < cursor->end && !cursor->damaged && count <= max - HWI_DECODE_MIN_ROOM) {
    const uint8_t *at = cursor->at;
    unsigned op = *at & HW_OP_MASK;
    uint64_t ticks = *at++ >> HW_OP_BITS;
    if (ticks == HW_DT_LONG)
      ticks = varint(&at);
    if (!at || ticks > HWI_LATEST_TICK - cursor->tick) {
      cursor->damaged = true;
      break;
    }
    uint64_t before = cursor->tick;
    cursor->tick += ticks;
    struct hwi_event *event = &events[count];
    *event = (struct hwi_event){.tick = cursor->tick, .thread = cursor->thread, .kind = HWI_EVENT_ALLOC};
    int made = 1;
    switch (op) {
    case HW_OP_ALLOC_RECENT:
    case HW_OP_ALLOC_AGAIN:
      at = recent_allocation(cursor, event, op == HW_OP_ALLOC_AGAIN, at);
      break;
    case HW_OP_ALLOC:
      at = block(cursor, event, node_of(event, at));
      remember(cursor, hw_recent_slot(event->node), event);
      break;
    case HW_OP_ALLOC_ALIGNED:
      event->alignment_log2 = *at++;
      at = block(cursor, event, node_of(event, at));
      break;
    case HW_OP_FREE:
    case HW_OP_DELETE:
    case HW_OP_FREE_VIA:
      event->kind = HWI_EVENT_FREE;
      event->entry = op == HW_OP_FREE ? HW_ENTRY_FREE : op == HW_OP_DELETE ? HW_ENTRY_DELETE_SIZED : entry_byte(*at++);
      at = release(cursor, event, at);
      break;
    case HW_OP_REALLOC:
      at = reallocation(cursor, event, at);
      made = 2;
      break;
    case HW_OP_FAILED:
      event->kind = HWI_EVENT_FAILED;
      event->alignment_log2 = *at++;
      at = node_of(event, at);
      event->size = at ? varint(&at) : 0;
      break;
    case HW_OP_NODE:
    case HW_OP_RECORD:
      at = definition(cursor, sink, op, at);
      made = 0;
      break;
    default:
      at = NULL;
    }
    if (!at || at > cursor->end) {
      cursor->damaged = true;
      cursor->tick = before;
      break;
    }
    cursor->at = at;
    count += made;
  }
  return count;
}
