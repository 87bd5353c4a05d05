/* decode.c - decodes the events and definitions of one chunk; the hot loop of every reader
 *
 * The loop checks bounds once per event, not once per byte: an event has at most HW_EVENT_MAX_BYTES bytes, and that
 * many readable bytes follow the end of every buffer. An event that ends after the chunk's end, or a varint of more
 * than ten bytes, is damage: the cursor goes back to the start of the event and stays there.
 */
#include "trace/decode.h"

#include <string.h>

enum { VARINT_LAST_SHIFT = 63 };

static_assert((int)HWI_DECODE_PADDING >= (int)HW_EVENT_MAX_BYTES, "an event that begins before the end can be read");

bool hwi_cursor_init(struct hwi_cursor *cursor, const struct hw_chunk_header *header, const uint8_t *events,
                     uint64_t floor)
{
  *cursor = (struct hwi_cursor){
      .at = events,
      .end = events ? events + header->valid_bytes : NULL,
      .tick = header->base_tick > floor ? header->base_tick : floor,
      .address = header->base_address,
      .thread = header->thread,
      .usable = header->fields & HW_FIELD_USABLE,
      .timed = header->fields & HW_FIELD_DURATION,
  };
  return !(header->fields & ~HW_FIELDS) && cursor->tick <= HWI_LATEST_TICK;
}

static inline int64_t unzigzag(uint64_t value)
{
  return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* A varint and its end; NULL: it has more than ten bytes. Always passed by value, so that the loop keeps it in
 * registers. */
struct number {
  uint64_t value;
  const uint8_t *end;
};

static __attribute__((noinline)) struct number long_varint(const uint8_t *at)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift <= VARINT_LAST_SHIFT; shift += 7) {
    uint8_t byte = *at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return (struct number){value, at};
  }
  return (struct number){0, NULL};
}

static inline struct number varint(const uint8_t *at)
{
  uint64_t value = at[0];
  if (value < 0x80)
    return (struct number){value, at + 1};
  uint64_t second = at[1];
  if (second < 0x80)
    return (struct number){(value & 0x7f) | second << 7, at + 2};
  uint64_t third = at[2];
  if (third < 0x80)
    return (struct number){(value & 0x7f) | (second & 0x7f) << 7 | third << 14, at + 3};
  return long_varint(at);
}

/* This function and the following ones return the end of the bytes that were read, or NULL if those are invalid. */
static inline const uint8_t *node_of(struct hwi_event *event, const uint8_t *at)
{
  struct number node = varint(at);
  event->node = (uint32_t)node.value;
  return node.value > UINT32_MAX ? NULL : node.end;
}

static inline const uint8_t *address_of(struct hwi_event *event, uint64_t last, const uint8_t *at)
{
  struct number u = varint(at);
  unsigned unit_log2 = u.value & 1 ? 0 : 4;
  uint64_t address = last + ((uint64_t)unzigzag(u.value >> 1) << unit_log2);
  event->address = address;
  return address ? u.end : NULL;
}

static inline const uint8_t *sizes_of(struct hwi_event *event, bool has_usable, const uint8_t *at)
{
  struct number size = varint(at);
  if (!has_usable) {
    event->size = size.value;
    return size.end;
  }
  event->size = size.value >> 1;
  event->usable = hw_usual_usable(event->size);
  if (!(size.value & 1) || !size.end)
    return size.end;
  struct number unusual = varint(size.end);
  event->usable += (uint64_t)unzigzag(unusual.value);
  return unusual.end;
}

/* Entry points of a later version are unknown here. */
static inline uint8_t entry_byte(uint8_t byte)
{
  return byte < HW_ENTRY_COUNT ? byte : HW_ENTRY_NONE;
}

/* --- definitions --- */

static const uint8_t *record(struct hwi_cursor *cursor, const struct hwi_definition_sink *sink, const uint8_t *at)
{
  uint8_t type = *at++;
  struct number bytes = varint(at);
  at = bytes.end;
  if (!at || at > cursor->end || bytes.value > (uint64_t)(cursor->end - at))
    return NULL;
  if (type == HW_RECORD_TEMPORARY)
    cursor->temporary = true;
  else if (!sink->add_record(sink->context, type, at, (size_t)bytes.value, &cursor->thread))
    return NULL;
  return at + bytes.value;
}

static const uint8_t *node(struct hwi_cursor *cursor, const struct hwi_definition_sink *sink, bool is_child,
                           const uint8_t *at)
{
  static const uint64_t one_up = 2; /* the zigzag form of 1 */
  struct number number = is_child ? (struct number){0, at} : varint(at);
  struct number parent = is_child ? (struct number){one_up, at} : number.end ? varint(number.end) : number;
  struct number module = parent.end ? varint(parent.end) : parent;
  if (!module.end)
    return NULL;
  at = module.end;
  uint8_t entry = module.value & 1 ? *at++ : HW_ENTRY_NONE;
  struct number delta = varint(at);
  uint64_t own = (uint64_t)unzigzag(number.value) + cursor->node + 1;
  struct hwi_node made = {
      .address = cursor->node_address + (uint64_t)unzigzag(delta.value),
      .entry = entry_byte(entry),
      .cut = entry == HW_NODE_CUT,
  };
  uint64_t caller = own - (uint64_t)unzigzag(parent.value);
  made.parent = (uint32_t)caller;
  made.module = (uint32_t)(module.value >> 1);
  if (!delta.end || delta.end > cursor->end || own > UINT32_MAX || caller > UINT32_MAX ||
      module.value >> 1 > UINT32_MAX || !sink->add_node(sink->context, (uint32_t)own, &made))
    return NULL;
  cursor->node_address = made.address;
  cursor->node = (uint32_t)own;
  return delta.end;
}

static inline bool is_definition_op(unsigned op)
{
  return op == HW_OP_NODE || op == HW_OP_RECORD || op == HW_OP_NODE_CHILD;
}

/* Definitions are rare, so they are decoded outside of the loop. */
static __attribute__((noinline)) const uint8_t *definition(struct hwi_cursor *cursor,
                                                           const struct hwi_definition_sink *sink, unsigned op,
                                                           const uint8_t *at)
{
  return op == HW_OP_RECORD ? record(cursor, sink, at) : node(cursor, sink, op == HW_OP_NODE_CHILD, at);
}

/* --- events --- */

static inline const uint8_t *allocation(struct hwi_cursor *cursor, struct hwi_event *event, uint64_t last,
                                        const uint8_t *at)
{
  at = node_of(event, at);
  at = at ? sizes_of(event, cursor->usable, at) : NULL;
  return at ? address_of(event, last, at) : NULL;
}

static inline void remember(struct hwi_cursor *cursor, const struct hwi_event *event)
{
  cursor->recent[hw_recent_slot(event->node)] =
      (struct hwi_recent){event->size, event->usable, event->address, event->node};
}

static inline const uint8_t *recent_allocation(struct hwi_recent *recent, bool has_usable, struct hwi_event *event,
                                               const uint8_t *at)
{
  event->node = recent->node;
  at = sizes_of(event, has_usable, at);
  recent->size = event->size;
  recent->usable = event->usable;
  at = at ? address_of(event, recent->address, at) : NULL;
  recent->address = event->address;
  return recent->node ? at : NULL;
}

static inline const uint8_t *same_allocation(struct hwi_recent *recent, struct hwi_event *event, const uint8_t *at)
{
  event->node = recent->node;
  event->size = recent->size;
  event->usable = recent->usable;
  at = address_of(event, recent->address, at);
  recent->address = event->address;
  return recent->node ? at : NULL;
}

/* Decodes two events: the end of the old block and the birth of the new one. */
static inline const uint8_t *reallocation(struct hwi_cursor *cursor, struct hwi_event *event, uint64_t last,
                                          const uint8_t *at)
{
  event[1] = event[0];
  event[0].kind = HWI_EVENT_FREE;
  event[0].entry = HW_ENTRY_REALLOC;
  event[0].moved = event[1].moved = true;
  at = node_of(&event[1], at);
  struct number ticks = at ? varint(at) : (struct number){0};
  if (!ticks.end || ticks.value > HWI_LATEST_TICK - event->tick)
    return NULL;
  event[1].tick += ticks.value;
  at = address_of(&event[0], last, ticks.end);
  at = at ? sizes_of(&event[1], cursor->usable, at) : NULL;
  return at ? address_of(&event[1], event[0].address, at) : NULL;
}

static inline const uint8_t *failed_call(struct hwi_event *event, const uint8_t *at)
{
  event->kind = HWI_EVENT_FAILED;
  event->alignment_log2 = *at++;
  at = node_of(event, at);
  struct number size = at ? varint(at) : (struct number){0};
  event->size = size.value;
  return size.end;
}

static const uint8_t *scope(struct hwi_event *event, const uint8_t *at)
{
  event->kind = HWI_EVENT_SCOPE;
  event->entry = *at;
  struct number name = varint(at + 1);
  struct number value = name.end ? varint(name.end) : name;
  event->size = name.value;
  event->usable = value.value;
  return value.end;
}

/* The heap's number and name, without what follows. */
static const uint8_t *heap_head(struct hwi_event *event, const uint8_t *at)
{
  event->kind = HWI_EVENT_HEAP;
  event->entry = *at & ((1 << HW_HEAP_OP_BITS) - 1);
  event->tick_part = *at >> HW_HEAP_OP_BITS;
  struct number heap = varint(at + 1);
  struct number name = heap.end ? varint(heap.end) : heap;
  event->heap = (uint32_t)heap.value;
  event->usable = name.value;
  return heap.value > UINT32_MAX ? NULL : name.end;
}

static const uint8_t *heap(struct hwi_event *event, uint64_t last, const uint8_t *at)
{
  at = heap_head(event, at);
  if (!at || event->entry < HW_HEAP_CREATE || event->entry > HW_HEAP_FAILED)
    return NULL;
  if (event->entry == HW_HEAP_ALLOC || event->entry == HW_HEAP_FAILED) {
    at = node_of(event, at);
    at = at ? sizes_of(event, false, at) : NULL;
  }
  if (at && (event->entry == HW_HEAP_ALLOC || event->entry == HW_HEAP_FREE))
    at = address_of(event, last, at);
  return at;
}

static inline const uint8_t *release(struct hwi_event *event, uint8_t entry, uint64_t last, const uint8_t *at)
{
  event->kind = HWI_EVENT_FREE;
  event->entry = entry;
  return address_of(event, last, at);
}

static const uint8_t *duration_of(struct hwi_event *event, const uint8_t *at)
{
  struct number took = varint(at);
  event->took = took.value;
  return took.end;
}

/* Decodes the event of an op that is no definition, without its duration. */
static inline const uint8_t *decode_op(struct hwi_cursor *cursor, unsigned op, struct hwi_event *event, uint64_t last,
                                       const uint8_t *at)
{
  switch (op) {
  case HW_OP_FREE:
    return release(event, HW_ENTRY_FREE, last, at);
  case HW_OP_DELETE:
    return release(event, HW_ENTRY_DELETE_SIZED, last, at);
  case HW_OP_FREE_VIA:
    return release(event, entry_byte(*at), last, at + 1);
  case HW_OP_ALLOC_RECENT:
    return recent_allocation(&cursor->recent[*at], cursor->usable, event, at + 1);
  case HW_OP_ALLOC_AGAIN:
    return same_allocation(&cursor->recent[*at], event, at + 1);
  case HW_OP_ALLOC:
    at = allocation(cursor, event, last, at);
    remember(cursor, event);
    return at;
  case HW_OP_ALLOC_ALIGNED:
    event->alignment_log2 = *at;
    return allocation(cursor, event, last, at + 1);
  case HW_OP_REALLOC:
    return reallocation(cursor, event, last, at);
  case HW_OP_FAILED:
    return failed_call(event, at);
  case HW_OP_SCOPE:
    return scope(event, at);
  case HW_OP_HEAP:
    return heap(event, last, at);
  default:
    return NULL;
  }
}

/* Decodes an event that is no definition. */
static inline const uint8_t *decode_event(struct hwi_cursor *cursor, unsigned op, struct hwi_event *event,
                                          uint64_t last, const uint8_t *at)
{
  at = decode_op(cursor, op, event, last, at);
  if (!cursor->timed || op == HW_OP_SCOPE || op == HW_OP_HEAP)
    return at;
  return at ? duration_of(op == HW_OP_REALLOC ? &event[1] : event, at) : NULL;
}

/* The event after a TEMPORARY record. */
static __attribute__((noinline)) void note_temporary(struct hwi_cursor *cursor, struct hwi_event *event)
{
  if (event->kind == HWI_EVENT_FREE)
    event->temporary = true;
  cursor->temporary = false;
}

int hwi_decode(struct hwi_cursor *cursor, const struct hwi_definition_sink *sink, struct hwi_event *events, int max)
{
  const uint8_t *now = cursor->at, *const end = cursor->end;
  uint64_t tick = cursor->tick, address = cursor->address;
  struct hwi_event *event = events, *const last = events + max - HWI_DECODE_MIN_ROOM;
  bool damaged = cursor->damaged;
  while (now < end && !damaged && event <= last) {
    unsigned op = *now & HW_OP_MASK;
    struct number ticks = {*now >> HW_OP_BITS, now + 1};
    if (ticks.value == HW_DT_LONG)
      ticks = varint(now + 1);
    damaged = !ticks.end || ticks.value > HWI_LATEST_TICK - tick;
    if (damaged)
      break;
    bool is_definition = is_definition_op(op);
    if (!is_definition)
      *event = (struct hwi_event){.tick = tick + ticks.value, .thread = cursor->thread, .kind = HWI_EVENT_ALLOC};
    const uint8_t *at =
        is_definition ? definition(cursor, sink, op, ticks.end) : decode_event(cursor, op, event, address, ticks.end);
    damaged = !at || at > end;
    if (damaged)
      break;
    now = at;
    tick += ticks.value;
    if (is_definition)
      continue;
    event += op == HW_OP_REALLOC;
    tick = event->tick;
    if (event->address)
      address = event->address;
    if (cursor->temporary)
      note_temporary(cursor, event);
    event++;
  }
  cursor->damaged = damaged;
  cursor->at = now;
  cursor->tick = tick;
  cursor->address = address;
  return (int)(event - events);
}

/* --- the payload of a definition record --- */

uint64_t hwi_payload_varint(struct hwi_payload *p)
{
  uint64_t value = 0;
  for (unsigned shift = 0; p->at < p->end && shift < 64; shift += 7) {
    uint8_t byte = *p->at++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return value;
  }
  p->bad = true;
  return 0;
}

uint8_t hwi_payload_byte(struct hwi_payload *p)
{
  if (p->at < p->end)
    return *p->at++;
  p->bad = true;
  return 0;
}

bool hwi_payload_thread(const uint8_t *payload, size_t bytes, uint32_t *number, struct hwi_thread *thread)
{
  struct hwi_payload p = {payload, payload + bytes, false};
  uint64_t wide = hwi_payload_varint(&p);
  *thread = (struct hwi_thread){.known = true};
  thread->tid = (uint32_t)hwi_payload_varint(&p);
  thread->policy = hwi_payload_byte(&p);
  thread->priority = hwi_payload_byte(&p);
  if (p.bad || wide > UINT32_MAX)
    return false;
  size_t name_bytes = (size_t)(p.end - p.at);
  memcpy(thread->name, p.at, name_bytes < sizeof thread->name - 1 ? name_bytes : sizeof thread->name - 1);
  *number = (uint32_t)wide;
  return true;
}
