/* test_pack.c - a packed section unpacks to the same events and definitions, and a forged one does no harm
 *
 * Breaks if an op is re-coded wrongly in any context; if damaged chunks are made whole, or worse; if the packer's and
 * the unpacker's state diverge; or if a forged section exceeds a bound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "encoder.c"
#include "trace/decode.h"
#include "trace/grow.h"
#include "trace/pack/pack.h"

enum { PLAIN_MAX = 2 << 20, LIVE_MAX = 512, BATCH = 100 };

static struct enc enc;
static struct hwi_packer *packer;
static uint8_t plain[PLAIN_MAX + HWI_DECODE_PADDING];
static uint64_t random_state = 1;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

/* The chunks of `enc` as a section contains them. */
static size_t join_chunks(void)
{
  size_t at = 0;
  for (int i = 0; i < enc.chunk_count; i++) {
    struct enc_chunk *chunk = &enc.chunks[i];
    chunk->header.valid_bytes = (uint32_t)chunk->count;
    assert_true(at + sizeof chunk->header + chunk->count <= PLAIN_MAX);
    memcpy(plain + at, &chunk->header, sizeof chunk->header);
    memcpy(plain + at + sizeof chunk->header, chunk->bytes, chunk->count);
    at += sizeof chunk->header + chunk->count;
  }
  return at;
}

/* --- the contents of a section --- */

/* Definitions are reported in their order, but separately from each other and from the events. */
struct told {
  struct hwi_event *events;
  size_t event_count, event_room;
  uint8_t *nodes, *records;
  size_t node_bytes, node_room, record_bytes, record_room;
  bool is_damaged;
};

static void tell(uint8_t **to, size_t *count, size_t *room, const void *from, size_t bytes)
{
  assert_true(hwi_grow((void **)to, room, *count + bytes + 1, 1));
  memcpy(*to + *count, from, bytes);
  *count += bytes;
}

static bool tell_node(void *context, uint32_t number, const struct hwi_node *node)
{
  struct told *told = context;
  uint64_t parts[] = {number, node->address, node->parent, node->module, node->entry, node->cut};
  tell(&told->nodes, &told->node_bytes, &told->node_room, parts, sizeof parts);
  return true;
}

static bool tell_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct told *told = context;
  struct hwi_thread ignored;
  tell(&told->records, &told->record_bytes, &told->record_room, &type, 1);
  tell(&told->records, &told->record_bytes, &told->record_room, payload, bytes);
  return type != HW_RECORD_THREAD || hwi_payload_thread(payload, bytes, thread, &ignored);
}

static struct hwi_event *room_for_batch(struct told *told)
{
  assert_true(hwi_grow((void **)&told->events, &told->event_room, told->event_count + BATCH, sizeof *told->events));
  return told->events + told->event_count;
}

static void tell_bytes(struct told *told, const uint8_t *bytes, size_t count)
{
  struct hwi_definition_sink sink = {told, tell_node, tell_record};
  struct hw_chunk_header chunk;
  struct hwi_cursor cursor;
  uint64_t tick = 0;
  for (size_t at = 0; at < count; at += sizeof chunk + chunk.valid_bytes) {
    int made;
    memcpy(&chunk, bytes + at, sizeof chunk);
    assert_true(hwi_cursor_init(&cursor, &chunk, bytes + at + sizeof chunk, tick));
    while ((made = hwi_decode(&cursor, &sink, room_for_batch(told), BATCH)) > 0)
      told->event_count += (size_t)made;
    told->is_damaged |= cursor.damaged;
    tick = cursor.tick;
  }
}

static void tell_columns(struct told *told, struct hwi_restorer *restorer)
{
  struct hwi_definition_sink sink = {told, tell_node, tell_record};
  struct hwi_restored_chunk chunk;
  told->is_damaged |= hwi_restore_definitions(restorer, &sink) < 0;
  while (hwi_restore_chunk(restorer, &chunk)) {
    int made;
    while ((made = hwi_restore(restorer, room_for_batch(told), BATCH)) > 0)
      told->event_count += (size_t)made;
  }
  told->is_damaged |= hwi_restore_is_damaged(restorer);
  assert_true(hwi_restore_is_done(restorer));
}

static void release_told(struct told *told)
{
  free(told->events);
  free(told->nodes);
  free(told->records);
}

static void assert_same_told(const struct told *a, const struct told *b)
{
  assert_int_equal(a->event_count, b->event_count);
  for (size_t i = 0; i < a->event_count; i++)
    assert_memory_equal(&a->events[i], &b->events[i], sizeof *a->events);
  assert_int_equal(a->node_bytes, b->node_bytes);
  assert_int_equal(a->record_bytes, b->record_bytes);
  if (a->node_bytes)
    assert_memory_equal(a->nodes, b->nodes, a->node_bytes);
  if (a->record_bytes)
    assert_memory_equal(a->records, b->records, a->record_bytes);
}

static void check_unpacks_to(const struct hw_section_header *section, const uint8_t *packed, size_t bytes)
{
  static const uint8_t zeros[HWI_DECODE_PADDING];
  struct hwi_unpacked unpacked;
  assert_int_equal(hwi_unpack_section(section, packed, &unpacked), 0);
  if (unpacked.events) {
    struct told wanted = {0}, got = {0};
    tell_bytes(&wanted, plain, bytes);
    tell_columns(&got, unpacked.events);
    assert_false(wanted.is_damaged || got.is_damaged);
    assert_same_told(&wanted, &got);
    release_told(&wanted);
    release_told(&got);
  } else {
    assert_int_equal(unpacked.count, bytes);
    assert_memory_equal(unpacked.bytes, plain, bytes);
    assert_memory_equal(unpacked.bytes + bytes, zeros, sizeof zeros);
  }
  hwi_unpacked_release(&unpacked);
}

/* Packs `plain` and checks that unpacking returns the same. */
static struct hw_section_header round_trip(size_t bytes)
{
  struct hw_section_header section;
  const uint8_t *packed;
  assert_int_equal(hwi_pack_chunks(packer, plain, bytes, &section, &packed), 0);
  assert_int_equal(section.magic, HW_SECTION_MAGIC);
  assert_int_equal(section.type, HW_SECTION_EVENTS);
  assert_int_equal(section.plain_bytes, bytes);
  check_unpacks_to(&section, packed, bytes);
  return section;
}

/* --- a simulated program --- */

struct live {
  uint64_t address, size;
};

struct program {
  struct live live[LIVE_MAX];
  int live_count;
  uint64_t free_list[LIVE_MAX * 4];
  int free_count;
  uint64_t top, tick;
  uint32_t nodes;
  bool usable, timed, sampled;
  int disorder; /* of 100 events, the number of unusual ones */
};

static uint64_t take_memory(struct program *p, uint64_t size)
{
  if (p->free_count && below(4))
    return p->free_list[--p->free_count];
  p->top += (size + 31) & ~UINT64_C(15);
  return p->top + (below(200) ? 0u : 8u);
}

static void remember(struct program *p, uint64_t address, uint64_t size)
{
  if (p->live_count < LIVE_MAX)
    p->live[p->live_count++] = (struct live){address, size};
}

static uint64_t forget(struct program *p, int i)
{
  uint64_t address = p->live[i].address;
  p->live[i] = p->live[--p->live_count];
  if (p->free_count < LIVE_MAX * 4)
    p->free_list[p->free_count++] = address;
  return address;
}

static void do_alloc(struct program *p, int chunk)
{
  uint32_t node = 1 + below(p->nodes < 40 ? p->nodes : 40);
  uint64_t size = below(10) ? 16 + node * 8 : below(100000), address = take_memory(p, size);
  uint64_t usable = hw_usual_usable(size) + (below(30) ? 0u : 16u * below(5));
  remember(p, address, size);
  if (p->usable)
    enc_alloc_usable(&enc, chunk, p->tick, node, size, usable, address);
  else
    enc_alloc(&enc, chunk, p->tick, node, size, address);
}

static void do_free(struct program *p, int chunk)
{
  int i = below(3) ? p->live_count - 1 : (int)below((uint32_t)p->live_count);
  uint64_t address = below(100) ? forget(p, i) : UINT64_C(0x7f0000000000) + below(1000) * 16;
  switch (below(8)) {
  case 0:
    enc_delete(&enc, chunk, p->tick, address);
    break;
  case 1:
    enc_free_via(&enc, chunk, p->tick, (uint8_t)(HW_ENTRY_DELETE + below(4)), address);
    break;
  default:
    enc_free(&enc, chunk, p->tick, address);
  }
}

static void do_realloc(struct program *p, int chunk)
{
  int i = (int)below((uint32_t)p->live_count);
  uint64_t old = p->live[i].address, size = p->live[i].size * 2 + 1, address = old;
  if (below(2)) {
    forget(p, i);
    address = take_memory(p, size);
    remember(p, address, size);
  }
  uint64_t ticks = below(30);
  enc_realloc(&enc, chunk, p->tick, ticks, 1 + below(p->nodes), old, size, address);
  p->tick += ticks;
}

static void do_odd(struct program *p, int chunk)
{
  static const char text[] = "a record of some length, which nobody knows";
  switch (below(6)) {
  case 5:
    enc_heap(&enc, chunk, p->tick,
             &(struct enc_heap_event){(enum hw_heap_op)(1 + below(6)), below(2) ? below(5) : UINT32_MAX, below(300),
                                      1 + below(p->nodes), below(2) ? below(1000) : UINT64_MAX,
                                      below(2) ? 1 + below(1000) : UINT64_C(0x7f0000000000) + below(1000) * 16});
    break;
  case 4:
    enc_scope(&enc, chunk, p->tick, (enum hw_scope_op)(1 + below(6)), below(2) ? below(300) : UINT64_MAX, below(1000));
    break;
  case 0:
    enc_record(&enc, chunk, (uint8_t)(HW_RECORD_COMMAND + below(40)), text, below(sizeof text)); /* without a thread */
    break;
  case 1:
    enc_failed(&enc, chunk, p->tick, 1 + below(p->nodes), UINT64_C(1) << (20 + below(42)), (uint8_t)below(13));
    break;
  case 2: {
    uint64_t address = take_memory(p, 64);
    remember(p, address, 64);
    enc_aligned(&enc, chunk, p->tick, 1 + below(p->nodes), 64, (uint8_t)(4 + below(8)), address);
    break;
  }
  default:
    for (uint32_t depth = 1 + below(6), parent = below(p->nodes + 1); depth; depth--) {
      uint32_t number = p->nodes + 1 + (below(50) ? 0 : below(3));
      enc_node(&enc, chunk, number, parent, 1 + below(3), depth == 1 ? HW_ENTRY_MALLOC : 0,
               0x555555000000 + 64 * below(300) + (parent % 7));
      parent = p->nodes = number;
    }
  }
}

static void do_end(struct program *p, int chunk)
{
  const bool is_free = below(20) || p->sampled;
  if (p->sampled && below(2))
    enc_record(&enc, chunk, HW_RECORD_TEMPORARY, NULL, 0);
  if (is_free)
    do_free(p, chunk);
  else
    do_realloc(p, chunk);
}

static void put_counts(int chunk)
{
  uint8_t payload[HW_COUNTS_BYTES] = {0};
  const uint64_t counts[HW_COUNTS] = {below(1000), below(2) ? UINT64_MAX : 0, below(1000)};
  memcpy(payload + HW_COUNTS_PADDING, counts, sizeof counts);
  enc_record(&enc, chunk, HW_RECORD_COUNTS, payload, sizeof payload);
}

static void run_program(struct program *p, int events, uint32_t first_sequence)
{
  int chunk = 0;
  for (int i = 0; i < events; i++) {
    if (i % 4000 == 0) {
      chunk = enc_chunk(&enc, 3, first_sequence + (uint32_t)i / 4000, 1, p->tick);
      enc.chunks[chunk].header.fields =
          (p->usable ? HW_FIELD_USABLE : 0) | (p->timed ? HW_FIELD_DURATION : 0) | (p->sampled ? HW_FIELD_SAMPLED : 0);
      if (p->sampled)
        put_counts(chunk);
    }
    enc.chunks[chunk].took = below(20) ? 60 + below(100) : (uint64_t)below(1000) * below(1000000);
    p->tick += below(50) ? below(14) : below(100000);
    if ((int)below(100) < p->disorder)
      do_odd(p, chunk);
    else if (p->live_count == 0 || (p->live_count < LIVE_MAX - 1 && below(100) < 52))
      do_alloc(p, chunk);
    else
      do_end(p, chunk);
  }
}

static struct program new_program(bool usable, int disorder)
{
  return (struct program){.top = 0x555555600000, .tick = 1000, .nodes = 20, .usable = usable, .disorder = disorder};
}

static int set_up(void **state)
{
  (void)state;
  packer = hwi_packer_create();
  enc_init(&enc, 1);
  return packer ? 0 : -1;
}

static int tear_down(void **state)
{
  (void)state;
  hwi_packer_destroy(packer);
  enc_release(&enc);
  return 0;
}

/* --- tests --- */

static void what_a_program_does_comes_back(void **state)
{
  (void)state;
  for (int round = 0; round < 20; round++) {
    struct program p = new_program(round & 1, round % 5 * 4);
    p.timed = round & 2;
    p.sampled = round & 4;
    int codec = p.timed ? HWI_CODEC_TIMED : HWI_CODEC_COLUMNS;
    enc_release(&enc);
    run_program(&p, 500 + (int)below(20000), below(5));
    struct hw_section_header section = round_trip(join_chunks());
    assert_int_equal(section.codec, section.plain_bytes < 8192 ? HWI_CODEC_PLAIN : codec);
    assert_int_equal(section.stream, 3);
    assert_int_equal(section.last_sequence - section.first_sequence, enc.chunk_count - 1);
    assert_int_equal(section.first_tick, 1000);
    assert_int_equal(section.last_tick, enc.chunks[enc.chunk_count - 1].tick);
  }
}

static void every_effort_gives_the_same(void **state)
{
  (void)state;
  uint64_t packed_bytes[3];
  struct program p = new_program(true, 3);
  run_program(&p, 60000, 0);
  size_t bytes = join_chunks();
  for (int effort = HWI_EFFORT_SMALL; effort <= HWI_EFFORT_FAST; effort++) {
    hwi_packer_set_effort(packer, (enum hwi_effort)effort);
    packed_bytes[effort] = round_trip(bytes).packed_bytes;
  }
  assert_true(packed_bytes[HWI_EFFORT_FAST] < packed_bytes[HWI_EFFORT_SMALL] * 4 / 3);
  assert_true(packed_bytes[HWI_EFFORT_QUICK] < packed_bytes[HWI_EFFORT_SMALL] * 4 / 3);
}

/* A loop over a few stacks, which allocates and frees in turn: only the times need bytes. */
static void a_regular_program_packs_well(void **state)
{
  (void)state;
  uint64_t slots[8] = {0}, tick = 0;
  int chunk = enc_chunk(&enc, 0, 0, 0, 0);
  for (uint32_t i = 0; i < 40000; i++) {
    uint64_t *slot = &slots[i % 8];
    if (*slot)
      enc_free(&enc, chunk, tick += 2, *slot);
    *slot = 0x555555600000 + 1024 * (i % 8);
    enc_alloc(&enc, chunk, tick += 3, 1 + i % 8, 100 + i % 8, *slot);
  }
  struct hw_section_header section = round_trip(join_chunks());
  assert_int_equal(section.event_count, 40000 + 40000 - 8);
  assert_true(section.packed_bytes < section.event_count / 50);
}

/* Columns cannot represent damage, so the bytes are kept as they are. */
static void damage_is_kept(void **state)
{
  static const struct {
    const char *what;
    uint8_t bytes[12];
    size_t count;
  } odd[] = {
      {"an empty slot", {HW_OP_ALLOC_RECENT, 77, 2, 4}, 4},
      {"a slot's sizes without a slot", {HW_OP_ALLOC_AGAIN, 77, 4}, 3},
      {"an op of a later version", {13, 1, 2}, 3},
      {"an event that is cut", {HW_OP_ALLOC, 5}, 2},
      {"a node beyond all", {HW_OP_ALLOC, 0xff, 0xff, 0xff, 0xff, 0x7f, 2, 4}, 8},
      {"a thread without a number", {HW_OP_RECORD, HW_RECORD_THREAD, 0}, 3},
  };
  (void)state;
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    struct program p = new_program(true, 3);
    enc_release(&enc);
    run_program(&p, 4000, 0);
    struct enc_chunk *chunk = &enc.chunks[0];
    chunk->bytes = realloc(chunk->bytes, chunk->count + odd[i].count);
    assert_non_null(chunk->bytes);
    memcpy(chunk->bytes + chunk->count, odd[i].bytes, odd[i].count);
    chunk->count += odd[i].count;
    struct hw_section_header section = round_trip(join_chunks());
    if (section.codec != HWI_CODEC_PLAIN)
      fail_msg("%s was re-coded", odd[i].what);
    assert_int_equal(section.last_tick, chunk->tick);
  }
}

/* The thread of a stream's chunks can change, by a THREAD record and from chunk to chunk. */
static void threads_come_back(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < 60; i++) {
    int chunk = enc_chunk(&enc, 0, i, i / 7, i * 1000);
    for (uint32_t k = 0; k < 300; k++) {
      if (i % 5 == 0 && k % 100 == 50)
        enc_thread(&enc, chunk, 100 + k, 7, "name");
      enc_alloc(&enc, chunk, i * 1000 + k, 1 + k % 3, 100, 0x10000 + 256 * (i * 300 + k));
    }
  }
  assert_int_equal(round_trip(join_chunks()).codec, HWI_CODEC_COLUMNS);
}

/* The same block twice, frees of freed blocks, sizes and addresses at the ends of their ranges. */
static void nonsense_comes_back(void **state)
{
  (void)state;
  for (int round = 0; round < 20; round++) {
    enc_release(&enc);
    int chunk = enc_chunk(&enc, 0, 9, 0, 5);
    uint64_t tick = 5;
    for (int i = 0; i < 6000; i++) {
      uint64_t address = below(20) ? 16 * (1 + below(64)) : (uint64_t)below(UINT32_MAX) << 14 | 1;
      tick += below(3);
      switch (below(6)) {
      case 0:
        enc_free(&enc, chunk, tick, address);
        break;
      case 1:
        enc_realloc(&enc, chunk, tick, 1, below(5), address, below(100), 16 * (1 + below(64)));
        tick++;
        break;
      case 2:
        enc_node(&enc, chunk, below(1 << 20), below(1 << 20), below(1000), (uint8_t)(below(9) ? below(4) : HW_NODE_CUT),
                 address);
        break;
      default:
        enc_alloc(&enc, chunk, tick, below(3), below(50) ? below(40) : UINT64_MAX / 4, address);
      }
    }
    round_trip(join_chunks());
  }
}

static void lists_with_gaps_are_refused(void **state)
{
  struct hw_section_header section;
  const uint8_t *packed;
  (void)state;
  struct program p = new_program(true, 3);
  run_program(&p, 9000, 0);
  enc.chunks[1].header.sequence++;
  size_t bytes = join_chunks();
  assert_int_equal(hwi_pack_chunks(packer, plain, bytes, &section, &packed), HW_ERR_DAMAGED);
  enc.chunks[1].header.sequence--;
  enc.chunks[2].header.stream++;
  bytes = join_chunks();
  assert_int_equal(hwi_pack_chunks(packer, plain, bytes, &section, &packed), HW_ERR_DAMAGED);
  assert_int_equal(hwi_pack_chunks(packer, plain, bytes - 1, &section, &packed), HW_ERR_DAMAGED);
}

static void tool_records_come_back(void **state)
{
  struct hw_section_header section;
  const uint8_t *packed;
  (void)state;
  for (size_t i = 0; i < 5000; i++)
    plain[i] = (uint8_t)(i / 7);
  assert_int_equal(hwi_pack_bytes(packer, HW_SECTION_TOOL, plain, 5000, &section, &packed), 0);
  assert_int_equal(section.type, HW_SECTION_TOOL);
  check_unpacks_to(&section, packed, 5000);
  section.codec = HWI_CODEC_COLUMNS;
  struct hwi_unpacked unpacked;
  assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), HW_ERR_VERSION);
}

/* --- forged data --- */

/* Events from arbitrary bytes: the test checks only that it ends, within memory. */
static bool read_through(struct hwi_restorer *restorer)
{
  struct told told = {0};
  tell_columns(&told, restorer);
  release_told(&told);
  return !told.is_damaged;
}

static void damaged_sections_do_no_harm(void **state)
{
  (void)state;
  struct program p = new_program(true, 10);
  p.timed = true;
  run_program(&p, 12000, 0);
  size_t bytes = join_chunks();
  struct hw_section_header section;
  const uint8_t *packed;
  struct hwi_unpacked unpacked;
  assert_int_equal(hwi_pack_chunks(packer, plain, bytes, &section, &packed), 0);
  uint8_t *copy = malloc(section.packed_bytes);
  assert_non_null(copy);
  for (int i = 0; i < 1000; i++) {
    memcpy(copy, packed, section.packed_bytes);
    for (uint32_t flips = 1 + below(4); flips; flips--)
      copy[below((uint32_t)section.packed_bytes)] ^= (uint8_t)(1 << below(8));
    int status = hwi_unpack_section(&section, copy, &unpacked);
    assert_true(status == 0 || (status == HW_ERR_DAMAGED && unpacked.events == NULL && unpacked.bytes == NULL));
    if (status == 0)
      read_through(unpacked.events);
    hwi_unpacked_release(&unpacked);
  }
  for (uint64_t cut = 0; cut < section.packed_bytes; cut += 1 + section.packed_bytes / 300) {
    struct hw_section_header shorter = section;
    shorter.packed_bytes = cut;
    memcpy(copy, packed, cut);
    assert_int_equal(hwi_unpack_section(&shorter, copy, &unpacked), HW_ERR_DAMAGED);
  }
  free(copy);
}

/* The uncompressed columns, in separate memory. */
static struct hwi_columns_in copy_columns(const struct hwi_columns_out *out)
{
  struct hwi_columns_in in = {0};
  size_t bytes = 0;
  for (int k = 0; k < HWI_COLUMN_COUNT; k++)
    bytes += out->columns[k].count;
  in.bytes = malloc(bytes + 1);
  assert_non_null(in.bytes);
  uint8_t *at = in.bytes;
  for (int k = 0; k < HWI_COLUMN_COUNT; k++) {
    if (out->columns[k].count)
      memcpy(at, out->columns[k].bytes, out->columns[k].count);
    in.columns[k] = (struct hwi_column_in){at, at + out->columns[k].count};
    at += out->columns[k].count;
  }
  return in;
}

/* As in a raw trace. */
static void a_time_beyond_the_latest_is_damage(void **state)
{
  (void)state;
  struct program p = new_program(true, 10);
  run_program(&p, 12000, 0);
  struct hw_section_header section;
  const uint8_t *packed;
  struct hwi_unpacked unpacked;
  assert_int_equal(hwi_pack_chunks(packer, plain, join_chunks(), &section, &packed), 0);
  assert_int_equal(section.codec, HWI_CODEC_COLUMNS);
  uint64_t span = section.last_tick - section.first_tick;
  section.first_tick = HWI_LATEST_TICK - span;
  assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), 0);
  assert_true(read_through(unpacked.events));
  assert_int_equal(hwi_restore_tick(unpacked.events), HWI_LATEST_TICK);
  hwi_unpacked_release(&unpacked);
  section.first_tick++;
  assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), 0);
  assert_false(read_through(unpacked.events));
  assert_true(hwi_restore_tick(unpacked.events) <= HWI_LATEST_TICK);
  hwi_unpacked_release(&unpacked);
  const uint64_t beyond[] = {HWI_LATEST_TICK + 1, HWI_LATEST_TICK + span + 1, UINT64_MAX - span, UINT64_MAX};
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
    section.first_tick = beyond[i];
    assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), HW_ERR_DAMAGED);
  }
}

/* Without zstd and its checks in between: the numbers themselves are forged. */
static void forged_columns_do_no_harm(void **state)
{
  (void)state;
  struct program p = new_program(true, 10);
  p.timed = true;
  run_program(&p, 12000, 0);
  size_t bytes = join_chunks();
  struct hw_section_header section;
  struct hwi_recoder *recoder = hwi_recoder_create();
  struct hwi_columns_out out = {0};
  assert_non_null(recoder);
  int whole = 0;
  for (int i = 0; i < 600; i++) {
    assert_int_equal(hwi_recode(recoder, plain, bytes, &out, &section), 0);
    for (uint32_t changes = i ? 1 + below(6) : 0; changes; changes--) {
      struct hwi_column_out *column = &out.columns[below(HWI_COLUMN_COUNT)];
      if (column->count)
        column->bytes[below((uint32_t)column->count)] = (uint8_t)below(256);
    }
    int status;
    struct hwi_columns_in in = copy_columns(&out);
    struct hwi_restorer *restorer = hwi_restorer_create(&in, 1000, &status);
    assert_true(restorer ? status == 0 : status == HW_ERR_DAMAGED);
    whole += restorer && read_through(restorer);
    hwi_restorer_destroy(restorer);
  }
  assert_in_range(whole, 1, 599);
  hwi_columns_out_release(&out);
  hwi_recoder_destroy(recoder);
}

static void bombs_are_refused(void **state)
{
  (void)state;
  uint8_t packed[HWI_COLUMN_COUNT * 8] = {0};
  struct hwi_unpacked unpacked;
  struct hw_section_header section = {
      .magic = HW_SECTION_MAGIC, .type = HW_SECTION_EVENTS, .packed_bytes = sizeof packed};
  section.plain_bytes = (uint64_t)HWI_UNPACK_MAX_BYTES + 1;
  assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), HW_ERR_DAMAGED);
  for (uint32_t codec = HWI_CODEC_COLUMNS; codec <= HWI_CODEC_TIMED; codec++) {
    uint32_t huge = UINT32_MAX, none = 0;
    section.codec = codec;
    section.packed_bytes = 8u * (codec == HWI_CODEC_TIMED ? HWI_COLUMN_COUNT : HWI_COLUMN_COUNT_UNTIMED);
    section.plain_bytes = (uint64_t)HWI_RECODE_MAX_BYTES + 1;
    assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), HW_ERR_DAMAGED);
    section.plain_bytes = 100000;
    assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), HW_ERR_DAMAGED);
    memcpy(packed, &huge, sizeof huge);
    assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), HW_ERR_DAMAGED);
    memcpy(packed, &none, sizeof none);
  }
  section.codec = HWI_CODEC_TIMED + 1;
  assert_int_equal(hwi_unpack_section(&section, packed, &unpacked), HW_ERR_VERSION);
}

/* A section that claims that its calls were timed, without the column: no times are invented. */
static void durations_that_are_missing_are_damage(void **state)
{
  (void)state;
  struct program p = new_program(true, 0);
  p.timed = true;
  run_program(&p, 5000, 0);
  struct hw_section_header section;
  struct hwi_columns_out out = {0};
  struct hwi_recoder *recoder = hwi_recoder_create();
  assert_non_null(recoder);
  assert_int_equal(hwi_recode(recoder, plain, join_chunks(), &out, &section), 0);
  out.columns[HWI_COLUMN_DURATIONS].count--;
  int status;
  struct hwi_columns_in in = copy_columns(&out);
  struct hwi_restorer *restorer = hwi_restorer_create(&in, 1000, &status);
  assert_non_null(restorer);
  assert_false(read_through(restorer));
  hwi_restorer_destroy(restorer);
  hwi_columns_out_release(&out);
  hwi_recoder_destroy(recoder);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_a_program_does_comes_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(every_effort_gives_the_same, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_regular_program_packs_well, set_up, tear_down),
      cmocka_unit_test_setup_teardown(damage_is_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(threads_come_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(nonsense_comes_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(lists_with_gaps_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(tool_records_come_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(damaged_sections_do_no_harm, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_time_beyond_the_latest_is_damage, set_up, tear_down),
      cmocka_unit_test_setup_teardown(forged_columns_do_no_harm, set_up, tear_down),
      cmocka_unit_test_setup_teardown(bombs_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(durations_that_are_missing_are_damage, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
