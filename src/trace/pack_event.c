/* pack_event.c - one event of a chunk as its bytes say it */
#include "trace/pack_event.h"

#include <string.h>

/* A parser that goes on over an error, so that each operation is one chain of calls. */
struct parser {
  const uint8_t *at, *end;
  bool failed;
};

static inline uint64_t take_varint(struct parser *parser)
{
  uint64_t value = 0;
  const uint8_t *next = parser->failed ? NULL : hwi_raw_varint(parser->at, parser->end, &value);
  if (!next) {
    parser->failed = true;
    return 0;
  }
  parser->at = next;
  return value;
}

static inline uint8_t take_byte(struct parser *parser)
{
  if (parser->failed || parser->at == parser->end) {
    parser->failed = true;
    return 0;
  }
  return *parser->at++;
}

static inline void take_size(struct parser *parser, bool has_usable, struct hwi_raw_event *event)
{
  event->size = take_varint(parser);
  event->usable = has_usable && (event->size & 1) ? take_varint(parser) : 0;
}

static void take_record(struct parser *parser, struct hwi_raw_event *event)
{
  event->byte = take_byte(parser);
  event->size = take_varint(parser);
  if (parser->failed || event->size > (uint64_t)(parser->end - parser->at)) {
    parser->failed = true;
    return;
  }
  event->payload = parser->at;
  parser->at += event->size;
}

static void take_rare(struct parser *parser, bool has_usable, struct hwi_raw_event *event)
{
  switch (event->op) {
  case HW_OP_REALLOC:
    event->node = take_varint(parser);
    event->ticks = take_varint(parser);
    event->old_address = take_varint(parser);
    take_size(parser, has_usable, event);
    event->address = take_varint(parser);
    break;
  case HW_OP_FAILED:
    event->byte = take_byte(parser);
    event->node = take_varint(parser);
    event->size = take_varint(parser);
    break;
  case HW_OP_NODE:
    event->node = take_varint(parser);
    event->parent = take_varint(parser);
    event->module = take_varint(parser);
    event->byte = event->module & 1 ? take_byte(parser) : 0;
    event->address = take_varint(parser);
    break;
  case HW_OP_RECORD:
    take_record(parser, event);
    break;
  default: /* of a later version: nobody knows how long it is */
    parser->failed = true;
  }
}

const uint8_t *hwi_raw_event_parse(const uint8_t *at, const uint8_t *end, bool has_usable, struct hwi_raw_event *event)
{
  struct parser parser = {at, end, false};
  uint8_t first = take_byte(&parser);
  event->op = first & HW_OP_MASK;
  event->dt = first >> HW_OP_BITS;
  if (event->dt == HW_DT_LONG) {
    event->dt = take_varint(&parser);
    parser.failed |= event->dt < HW_DT_LONG;
  }
  switch (event->op) {
  case HW_OP_ALLOC_ALIGNED:
  case HW_OP_ALLOC_RECENT:
  case HW_OP_ALLOC:
    event->byte = event->op == HW_OP_ALLOC ? 0 : take_byte(&parser);
    event->node = event->op == HW_OP_ALLOC_RECENT ? 0 : take_varint(&parser);
    take_size(&parser, has_usable, event);
    event->address = take_varint(&parser);
    break;
  case HW_OP_ALLOC_AGAIN:
    event->byte = take_byte(&parser);
    event->address = take_varint(&parser);
    break;
  case HW_OP_FREE_VIA:
  case HW_OP_FREE:
  case HW_OP_DELETE:
    event->byte = event->op == HW_OP_FREE_VIA ? take_byte(&parser) : 0;
    event->address = take_varint(&parser);
    break;
  default:
    take_rare(&parser, has_usable, event);
  }
  return parser.failed ? NULL : parser.at;
}
