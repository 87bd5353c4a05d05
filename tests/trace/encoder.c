/* encoder.c - writes traces for the tests, from format.h alone */
#include "encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* LONG_OVER: a process that started so early after the machine's own start no longer exists. */
enum { PAGE = 4096, RECORD_PAYLOAD_MAX = 4096, LONG_OVER = 1 };

static void *need(void *memory)
{
  if (!memory)
    abort();
  return memory;
}

void enc_init(struct enc *enc, uint8_t image)
{
  memset(enc, 0, sizeof *enc);
  struct hw_trace_header *h = &enc->header;
  memcpy(h->magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES);
  h->version = HW_TRACE_VERSION;
  h->kind = HW_TRACE_RAW;
  h->header_bytes = HW_TRACE_HEADER_BYTES;
  h->machine = 62;
  h->pointer_bytes = 8;
  h->clock = HW_CLOCK_MONOTONIC_NS;
  h->page_bytes = PAGE;
  h->depth_limit = 1024;
  memset(h->run_id, 7, sizeof h->run_id);
  memset(h->image_id, image, sizeof h->image_id);
  h->pid = 100;
  h->process_start = LONG_OVER;
  h->start = (struct hw_anchor){1000000, 1000000};
  h->last = h->start;
}

void enc_release(struct enc *enc)
{
  for (int i = 0; i < enc->chunk_count; i++)
    free(enc->chunks[i].bytes);
  enc->chunk_count = 0;
}

int enc_chunk(struct enc *enc, uint32_t stream, uint32_t sequence, uint32_t thread, uint64_t base_tick)
{
  if (enc->chunk_count == ENC_MAX_CHUNKS)
    abort();
  struct enc_chunk *c = &enc->chunks[enc->chunk_count];
  *c = (struct enc_chunk){.tick = base_tick, .address = 0x5000, .in_raw = true};
  c->header = (struct hw_chunk_header){
      .magic = HW_CHUNK_MAGIC,
      .stream = stream,
      .sequence = sequence,
      .thread = thread,
      .base_tick = base_tick,
      .base_address = c->address,
      .state = HW_CHUNK_RETIRED,
  };
  return enc->chunk_count++;
}

static void byte(struct enc_chunk *c, uint8_t value)
{
  if (c->count == c->capacity) {
    c->capacity = c->capacity ? 2 * c->capacity : 256;
    c->bytes = need(realloc(c->bytes, c->capacity));
  }
  c->bytes[c->count++] = value;
}

static void varint(struct enc_chunk *c, uint64_t value)
{
  for (; value >= 128; value /= 128)
    byte(c, (uint8_t)(value % 128 + 128));
  byte(c, (uint8_t)value);
}

static uint64_t zigzag(int64_t value)
{
  return value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1;
}

static struct enc_chunk *begin(struct enc *enc, int chunk, enum hw_op op, uint64_t tick)
{
  struct enc_chunk *c = &enc->chunks[chunk];
  if (tick < c->tick)
    abort();
  uint64_t dt = tick - c->tick;
  byte(c, (uint8_t)(op + (dt < 15 ? dt : 15) * 16));
  if (dt >= 15)
    varint(c, dt);
  c->tick = tick;
  return c;
}

static void address(struct enc_chunk *c, uint64_t value)
{
  int64_t delta = (int64_t)(value - c->address);
  if (delta % 16 == 0)
    varint(c, zigzag(delta / 16) * 2);
  else
    varint(c, zigzag(delta) * 2 + 1);
  c->address = value;
}

static uint64_t usual_usable(uint64_t size)
{
  uint64_t usual = (size + 8 + 15) / 16 * 16 - 8;
  return usual < 24 ? 24 : usual;
}

static void sizes(struct enc_chunk *c, uint64_t size, uint64_t usable)
{
  if (!(c->header.fields & HW_FIELD_USABLE)) {
    varint(c, size);
    return;
  }
  bool odd = usable != usual_usable(size);
  varint(c, size * 2 + odd);
  if (odd)
    varint(c, zigzag((int64_t)(usable - usual_usable(size))));
}

/* The end of an event: the duration of its call. */
static void end(struct enc_chunk *c)
{
  if (c->header.fields & HW_FIELD_DURATION)
    varint(c, c->took);
}

/* An ALLOC, or a shorter op if the chunk has named the node recently, or the node with the same sizes. */
static void put_alloc(struct enc *enc, int chunk, uint64_t tick, const struct enc_slot *block)
{
  struct enc_slot *slot = &enc->chunks[chunk].slots[block->node * UINT32_C(2654435761) / (1 << 24)];
  bool recent = block->node && slot->node == block->node;
  bool again = recent && slot->size == block->size && slot->usable == block->usable;
  unsigned op = again ? HW_OP_ALLOC_AGAIN : recent ? HW_OP_ALLOC_RECENT : HW_OP_ALLOC;
  struct enc_chunk *c = begin(enc, chunk, op, tick);
  if (recent) {
    byte(c, (uint8_t)(slot - c->slots));
    c->address = slot->address;
  } else {
    varint(c, block->node);
  }
  if (!again)
    sizes(c, block->size, block->usable);
  address(c, block->address);
  end(c);
  *slot = *block;
}

void enc_alloc(struct enc *enc, int chunk, uint64_t tick, uint32_t node, uint64_t size, uint64_t at)
{
  put_alloc(enc, chunk, tick, &(struct enc_slot){node, size, usual_usable(size), at});
}

void enc_alloc_usable(struct enc *enc, int chunk, uint64_t tick, uint32_t node, uint64_t size, uint64_t usable,
                      uint64_t at)
{
  put_alloc(enc, chunk, tick, &(struct enc_slot){node, size, usable, at});
}

void enc_aligned(struct enc *enc, int chunk, uint64_t tick, uint32_t node, uint64_t size, uint8_t align_log2,
                 uint64_t at)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_ALLOC_ALIGNED, tick);
  byte(c, align_log2);
  varint(c, node);
  sizes(c, size, usual_usable(size));
  address(c, at);
  end(c);
}

void enc_free(struct enc *enc, int chunk, uint64_t tick, uint64_t at)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_FREE, tick);
  address(c, at);
  end(c);
}

void enc_free_via(struct enc *enc, int chunk, uint64_t tick, uint8_t entry, uint64_t at)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_FREE_VIA, tick);
  byte(c, entry);
  address(c, at);
  end(c);
}

void enc_delete(struct enc *enc, int chunk, uint64_t tick, uint64_t at)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_DELETE, tick);
  address(c, at);
  end(c);
}

void enc_realloc(struct enc *enc, int chunk, uint64_t tick, uint64_t ticks, uint32_t node, uint64_t old, uint64_t size,
                 uint64_t at)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_REALLOC, tick);
  varint(c, node);
  varint(c, ticks);
  address(c, old);
  sizes(c, size, usual_usable(size));
  address(c, at);
  end(c);
  c->tick += ticks;
}

void enc_failed(struct enc *enc, int chunk, uint64_t tick, uint32_t node, uint64_t size, uint8_t align_log2)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_FAILED, tick);
  byte(c, align_log2);
  varint(c, node);
  varint(c, size);
  end(c);
}

void enc_scope(struct enc *enc, int chunk, uint64_t tick, enum hw_scope_op op, uint64_t name, uint64_t value)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_SCOPE, tick);
  byte(c, (uint8_t)op);
  varint(c, name);
  varint(c, value);
}

void enc_heap(struct enc *enc, int chunk, uint64_t tick, const struct enc_heap_event *event)
{
  enc_heap_in_part(enc, chunk, tick, 0, event);
}

void enc_heap_in_part(struct enc *enc, int chunk, uint64_t tick, uint8_t tick_part, const struct enc_heap_event *event)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_HEAP, tick);
  byte(c, (uint8_t)((unsigned)event->op | tick_part << HW_HEAP_OP_BITS));
  varint(c, event->heap);
  varint(c, event->name);
  if (event->op == HW_HEAP_ALLOC || event->op == HW_HEAP_FAILED) {
    varint(c, event->node);
    varint(c, event->size);
  }
  if (event->op == HW_HEAP_ALLOC || event->op == HW_HEAP_FREE)
    address(c, event->address);
}

void enc_name(struct enc *enc, int chunk, uint8_t number, const char *name)
{
  char payload[64];
  payload[0] = (char)number;
  size_t bytes = strlen(name);
  memcpy(payload + 1, name, bytes);
  enc_record(enc, chunk, HW_RECORD_NAME, payload, bytes + 1);
}

void enc_node(struct enc *enc, int chunk, uint32_t number, uint32_t parent, uint32_t module, uint8_t entry, uint64_t at)
{
  bool is_child = number == enc->chunks[chunk].node + 1 && parent == enc->chunks[chunk].node;
  struct enc_chunk *c = begin(enc, chunk, is_child ? HW_OP_NODE_CHILD : HW_OP_NODE, enc->chunks[chunk].tick);
  if (!is_child) {
    varint(c, zigzag((int64_t)number - ((int64_t)c->node + 1)));
    varint(c, zigzag((int64_t)number - (int64_t)parent));
  }
  varint(c, (uint64_t)module << 1 | (entry != 0));
  if (entry)
    byte(c, entry);
  varint(c, zigzag((int64_t)(at - c->node_address)));
  c->node_address = at;
  c->node = number;
}

void enc_record(struct enc *enc, int chunk, uint8_t type, const void *payload, size_t bytes)
{
  struct enc_chunk *c = begin(enc, chunk, HW_OP_RECORD, enc->chunks[chunk].tick);
  byte(c, type);
  varint(c, bytes);
  for (size_t i = 0; i < bytes; i++)
    byte(c, ((const uint8_t *)payload)[i]);
}

/* A payload has the layout of a chunk. */
static void finish_record(struct enc *enc, int chunk, uint8_t type, struct enc_chunk *payload)
{
  enc_record(enc, chunk, type, payload->bytes, payload->count);
  free(payload->bytes);
}

void enc_module(struct enc *enc, int chunk, uint32_t number, uint64_t start, uint64_t bytes, uint64_t bias,
                const char *build_id, const char *path)
{
  struct enc_chunk p = {0};
  varint(&p, number);
  varint(&p, start);
  varint(&p, bytes);
  varint(&p, bias);
  byte(&p, (uint8_t)strlen(build_id));
  for (; *build_id; build_id++)
    byte(&p, (uint8_t)*build_id);
  for (; *path; path++)
    byte(&p, (uint8_t)*path);
  finish_record(enc, chunk, HW_RECORD_MODULE, &p);
}

void enc_main(struct enc *enc, int chunk)
{
  enc_module(enc, chunk, 1, 0x400000, 0x1000, 0x400000, "id", "/bin/main");
  enc_node(enc, chunk, 1, 0, 1, HW_ENTRY_NONE, 0x400100);
  enc_node(enc, chunk, 2, 1, 1, HW_ENTRY_MALLOC, 0x400200);
}

void enc_thread(struct enc *enc, int chunk, uint32_t number, uint32_t tid, const char *name)
{
  struct enc_chunk p = {0};
  varint(&p, number);
  varint(&p, tid);
  byte(&p, 0);
  byte(&p, 0);
  for (; *name; name++)
    byte(&p, (uint8_t)*name);
  finish_record(enc, chunk, HW_RECORD_THREAD, &p);
}

void enc_tool(struct enc *enc, uint32_t type, uint64_t monotonic_ns, const void *payload, uint32_t bytes)
{
  struct hw_tool_record record = {type, bytes, monotonic_ns};
  if (enc->tool_bytes + sizeof record + bytes + 8 > sizeof enc->tool)
    abort();
  memcpy(enc->tool + enc->tool_bytes, &record, sizeof record);
  memcpy(enc->tool + enc->tool_bytes + sizeof record, payload, bytes);
  enc->tool_bytes += (sizeof record + bytes + 7) / 8 * 8;
}

/* --- the file --- */

struct buffer {
  uint8_t *bytes;
  size_t count, capacity;
};

/* Makes room for `bytes` more zeros. Returns the offset at which they begin. */
static size_t extend(struct buffer *b, size_t bytes)
{
  while (b->count + bytes > b->capacity) {
    size_t capacity = b->capacity ? 2 * b->capacity : 1 << 16;
    b->bytes = need(realloc(b->bytes, capacity));
    memset(b->bytes + b->capacity, 0, capacity - b->capacity);
    b->capacity = capacity;
  }
  b->count += bytes;
  return b->count - bytes;
}

static void put(struct buffer *b, const void *bytes, size_t count)
{
  size_t at = extend(b, count);
  if (count)
    memcpy(b->bytes + at, bytes, count);
}

static void put_section(struct buffer *b, struct hw_section_header section, const void *plain, size_t bytes)
{
  section.magic = HW_SECTION_MAGIC;
  section.plain_bytes = bytes;
  if (bytes) {
    size_t bound = ZSTD_compressBound(bytes);
    uint8_t *packed = need(malloc(bound));
    section.packed_bytes = ZSTD_compress(packed, bound, plain, bytes, 1);
    put(b, &section, sizeof section);
    put(b, packed, section.packed_bytes);
    free(packed);
  } else {
    put(b, &section, sizeof section);
  }
  extend(b, (8 - b->count % 8) % 8);
}

static struct hw_chunk_header finished_header(const struct enc *enc, const struct enc_chunk *c, uint64_t off)
{
  struct hw_chunk_header header = c->header;
  header.bytes = (uint32_t)((sizeof header + c->count + PAGE - 1) / PAGE * PAGE);
  header.off = off;
  memcpy(&header.image_tag, enc->header.image_id, sizeof header.image_tag);
  header.valid_bytes = (uint32_t)c->count;
  return header;
}

static bool is_packed(const struct enc *enc, int chunk, bool all)
{
  return all || enc->chunks[chunk].in_packed;
}

/* Returns the next chunk of the stream that is to be packed, or -1. */
static int following(const struct enc *enc, int chunk, bool all)
{
  const struct hw_chunk_header *header = &enc->chunks[chunk].header;
  for (int i = 0; i < enc->chunk_count; i++) {
    const struct hw_chunk_header *other = &enc->chunks[i].header;
    if (other->stream == header->stream && other->sequence == header->sequence + 1)
      return is_packed(enc, i, all) ? i : -1;
  }
  return -1;
}

static void put_sections(const struct enc *enc, struct buffer *b, bool all)
{
  bool done[ENC_MAX_CHUNKS] = {false};
  uint32_t left = 0;
  for (int i = 0; i < enc->chunk_count; i++) {
    if (done[i] || !is_packed(enc, i, all))
      continue;
    const struct hw_chunk_header *first = &enc->chunks[i].header;
    struct hw_section_header section = {.type = HW_SECTION_EVENTS, .stream = first->stream};
    if (first->stream == HW_BASE_STREAM)
      section.type = HW_SECTION_LEFT;
    left += section.type == HW_SECTION_LEFT;
    section.first_sequence = first->sequence;
    section.first_tick = first->base_tick;
    struct buffer plain = {0};
    int count = 0;
    for (int k = i; k >= 0 && !done[k] && count < (enc->chunks_a_section ? enc->chunks_a_section : 1); count++) {
      const struct enc_chunk *c = &enc->chunks[k];
      struct hw_chunk_header header = finished_header(enc, c, HW_CHUNKS_OFF);
      put(&plain, &header, sizeof header);
      put(&plain, c->bytes, c->count);
      section.last_sequence = header.sequence;
      section.last_tick = c->tick;
      done[k] = true;
      k = following(enc, k, all);
    }
    put_section(b, section, plain.bytes, plain.count);
    free(plain.bytes);
  }
  const struct hw_section_header base = {
      .type = HW_SECTION_BASE, .stream = left, .first_tick = enc->base_tick, .last_tick = enc->base_tick};
  if (enc->base_bytes)
    put_section(b, base, enc->base, enc->base_bytes);
}

uint8_t *enc_file(const struct enc *enc, size_t *bytes)
{
  struct buffer b = {0};
  extend(&b, HW_TRACE_HEADER_BYTES);
  struct hw_trace_header header = enc->header;
  if (header.kind == HW_TRACE_PACKED) {
    header.window_bytes = HW_TRACE_HEADER_BYTES;
    put_section(&b, (struct hw_section_header){.type = HW_SECTION_TOOL}, enc->tool, enc->tool_bytes);
    put_sections(enc, &b, true);
    put_section(&b, (struct hw_section_header){.type = HW_SECTION_END}, NULL, 0);
  } else {
    extend(&b, HW_TOOL_AREA_BYTES);
    memcpy(b.bytes + HW_TOOL_AREA_OFF, enc->tool, enc->tool_bytes);
    for (int i = 0; i < enc->chunk_count; i++) {
      const struct enc_chunk *c = &enc->chunks[i];
      if (!c->in_raw)
        continue;
      struct hw_chunk_header chunk = finished_header(enc, c, b.count);
      size_t at = extend(&b, chunk.bytes);
      memcpy(b.bytes + at, &chunk, sizeof chunk);
      if (c->count)
        memcpy(b.bytes + at + sizeof chunk, c->bytes, c->count);
    }
    header.window_bytes = header.used_bytes = b.count;
    put_sections(enc, &b, false);
  }
  memcpy(b.bytes, &header, sizeof header);
  *bytes = b.count;
  return b.bytes;
}

void enc_write(const struct enc *enc, const char *path)
{
  size_t bytes;
  uint8_t *file = enc_file(enc, &bytes);
  FILE *out = need(fopen(path, "wb"));
  if (fwrite(file, 1, bytes, out) != bytes || fclose(out) != 0)
    abort();
  free(file);
}
