/* test_growing.c - what is read of a trace while it grows equals what is read of the file afterwards
 *
 * Breaks if an event is lost, comes twice or in another order when chunks get more events, when streams begin, or when
 * chunks are packed and given back before they are read, while they are read, or after that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "packed_program.c"

#include "trace/read/trace.h"

enum { EVENTS_MAX = 1 << 17, BATCH = 512 };

static struct hwi_trace
    *trace; /* only opened: it is read through its parts, with other times than those of the clock */
static struct hwi_event *found, *wanted;
static int found_count;

static int set_up(void **state)
{
  (void)state;
  packed_program_begin();
  found_count = 0;
  found = calloc(EVENTS_MAX, sizeof *found);
  wanted = calloc(EVENTS_MAX, sizeof *wanted);
  trace = NULL;
  return found && wanted ? 0 : -1;
}

static int tear_down(void **state)
{
  (void)state;
  hwi_trace_close(trace);
  free(found);
  free(wanted);
  packed_program_end();
  return 0;
}

static void open_trace(void)
{
  struct hwi_error error;
  publish();
  assert_int_equal(hwi_trace_open(&trace, path, &error), 0);
  hwi_merge_release(&trace->merge);
  assert_true(hwi_growing_take_sections(&trace->growing, &trace->index));
}

static void read_certain(int most)
{
  int count, all = 0;
  while (all < most && (count = hwi_merge_next(&trace->merge, &trace->source, found + found_count, BATCH)) > 0) {
    found_count += count;
    all += count;
    assert_true(found_count < EVENTS_MAX - BATCH);
  }
}

/* Reads the events before `until`, or about `most` of them. */
static void look(uint64_t until, int most)
{
  assert_int_equal(hwi_growing_look(&trace->growing, &trace->source, &trace->merge), 0);
  trace->merge.until = until;
  read_certain(most);
}

static void assert_found_what_is_in_the_file(void)
{
  struct hwi_error error;
  struct hwi_trace *whole;
  assert_int_equal(hwi_trace_open(&whole, path, &error), 0);
  int count, all = 0;
  while ((count = hwi_trace_next(whole, wanted + all, BATCH, &error)) > 0)
    all += count;
  assert_int_equal(hwi_trace_info(whole)->damaged_chunks, 0);
  hwi_trace_close(whole);
  for (int i = 0; i < all && i < found_count; i++)
    if (memcmp(&found[i], &wanted[i], sizeof *found) != 0)
      fail_msg("event %d of %d differs: tick %llu, not %llu", i, all, (unsigned long long)found[i].tick,
               (unsigned long long)wanted[i].tick);
  assert_int_equal(found_count, all);
}

static void assert_read_as_the_file(void)
{
  publish();
  look(UINT64_MAX, EVENTS_MAX);
  assert_int_equal(trace->index.damaged, 0);
  assert_int_equal(trace->source.missing_chunks, 0);
  assert_found_what_is_in_the_file();
}

/* --- tests --- */

static void run(uint32_t steps, uint32_t pack_every)
{
  for (uint32_t i = 0; i < steps && enc.chunk_count < ENC_MAX_CHUNKS - STREAMS; i++) {
    step(STREAMS);
    if (below(50) == 0)
      publish();
    if (pack_every && below(pack_every) == 0) {
      publish();
      pack((int)below(STREAMS), 1 + (int)below(3));
    }
    if (trace && below(200) == 0) {
      publish();
      look(below(2) ? now : now - below(500), below(3) ? EVENTS_MAX : (int)below(400));
    }
  }
}

static void chunks_that_grow_are_read(void **state)
{
  for (uint64_t seed = 1; seed < 11; seed++) {
    random_state = seed;
    run(below(3000), 0);
    open_trace();
    run(20000, 0);
    assert_true(found_count > 5000);
    assert_read_as_the_file();
    tear_down(state);
    set_up(state);
  }
}

static void chunks_that_are_packed_are_read(void **state)
{
  for (uint64_t seed = 20; seed < 50; seed++) {
    random_state = seed;
    run(below(10000), below(2) * 100);
    open_trace();
    run(20000, 50 + below(1000));
    assert_read_as_the_file();
    tear_down(state);
    set_up(state);
  }
}

/* The reader saw a part of a chunk; then the program filled it, and it was packed with the next ones. */
static void a_chunk_that_is_read_in_part_may_be_packed(void **state)
{
  (void)state;
  random_state = 60;
  for (int i = 0; i < 100; i++)
    step(1);
  open_trace();
  look(now, EVENTS_MAX);
  const int before = found_count;
  assert_true(before > 50);
  while (enc.chunk_count < 5)
    step(1);
  publish();
  pack(0, 4);
  look(now, EVENTS_MAX);
  assert_true(found_count > before);
  assert_read_as_the_file();
}

/* The chunks that were found when the trace was opened are gone when they are to be read. */
static void chunks_may_be_gone_before_they_are_read(void **state)
{
  (void)state;
  random_state = 70;
  while (enc.chunk_count < 12)
    step(2);
  open_trace();
  look(START, 0);
  for (int s = 0; s < 2; s++)
    pack(s, 3);
  assert_read_as_the_file();
}

/* The same without following: the section has more chunks than the one that is looked for. */
static void an_open_trace_finds_chunks_that_were_packed(void **state)
{
  struct hwi_error error;
  int count;
  (void)state;
  random_state = 80;
  while (enc.chunk_count < 12)
    step(2);
  publish();
  assert_int_equal(hwi_trace_open(&trace, path, &error), 0);
  for (int s = 0; s < 2; s++)
    pack(s, 4);
  while ((count = hwi_trace_next(trace, found + found_count, BATCH, &error)) > 0)
    found_count += count;
  assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 0);
  assert_int_equal(hwi_trace_info(trace)->missing_chunks, 0);
  assert_found_what_is_in_the_file();
}

/* --- counts of a sample, which grow without events --- */

static uint64_t allocations_of[4]; /* by the chunk's sequence number, as they were read last */

static bool skip_node(void *context, uint32_t number, const struct hwi_node *node)
{
  (void)context, (void)number, (void)node;
  return true;
}

static bool see_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  uint32_t sequence;
  (void)context, (void)thread;
  if (type != HW_RECORD_COUNTS)
    return true;
  assert_int_equal(bytes, HW_COUNTS_BYTES);
  memcpy(&sequence, payload + HW_COUNTS_SEQUENCE_OFF, sizeof sequence);
  assert_true(sequence < 4);
  memcpy(&allocations_of[sequence], payload + HW_COUNTS_PADDING, sizeof *allocations_of);
  return true;
}

static void open_counted_chunk(void)
{
  uint8_t payload[HW_COUNTS_BYTES] = {0};
  open_chunk(0);
  const struct hw_chunk_header *header = &enc.chunks[chunk_of[0]].header;
  memcpy(payload + HW_COUNTS_SEQUENCE_OFF, &header->sequence, sizeof header->sequence);
  enc_record(&enc, chunk_of[0], HW_RECORD_COUNTS, payload, sizeof payload);
}

static void count(uint64_t allocations)
{
  memcpy(enc.chunks[chunk_of[0]].bytes + HW_COUNTS_OFF, &allocations, sizeof allocations);
  publish();
}

static void counts_grow_without_events(void **state)
{
  (void)state;
  enc.header.fields |= HW_FIELD_SAMPLED;
  assert_int_equal(pwrite(fd, &enc.header, sizeof enc.header, 0), sizeof enc.header);
  open_counted_chunk();
  count(5);
  open_trace();
  trace->source.definitions = (struct hwi_definition_sink){NULL, skip_node, see_record};
  look(UINT64_MAX, EVENTS_MAX);
  assert_int_equal(allocations_of[0], 5);
  count(9);
  look(UINT64_MAX, EVENTS_MAX);
  assert_int_equal(allocations_of[0], 9);
  for (int i = 0; i < 50; i++)
    step(1);
  count(60);
  look(UINT64_MAX, EVENTS_MAX);
  assert_int_equal(allocations_of[0], 60);
  count(61); /* the last ones, before the next chunk */
  open_counted_chunk();
  count(2);
  look(UINT64_MAX, EVENTS_MAX);
  assert_int_equal(allocations_of[0], 61);
  assert_int_equal(allocations_of[1], 2);
  pack(0, 1);
  count(3);
  look(UINT64_MAX, EVENTS_MAX);
  assert_int_equal(allocations_of[0], 61);
  assert_int_equal(allocations_of[1], 3);
}

static uint64_t follow_to_the_end(struct hwi_trace *followed)
{
  struct hwi_error error;
  bool is_over = false;
  uint64_t count = 0;
  for (int i = 0; i < 5; i++) {
    assert_int_equal(hwi_trace_look(followed, &is_over, &error), 0);
    for (int got; (got = hwi_trace_next(followed, found, BATCH, &error)) > 0;)
      count += (uint64_t)got;
  }
  assert_true(is_over);
  return count;
}

/* Damage is counted once, however often the trace is looked at, and the definitions have no more room than chunks that
 * are full could need. */
static void a_damaged_trace_is_followed_as_it_is_read(void **state)
{
  struct hwi_error error;
  struct hwi_trace *whole;
  uint8_t garbage[64];
  uint64_t count = 0;
  (void)state;
  memset(garbage, 0xff, sizeof garbage);
  random_state = 90;
  while (enc.chunk_count < 30)
    step(STREAMS);
  publish();
  pack(0, 2);
  assert_int_equal(pwrite(fd, garbage, sizeof garbage, (off_t)off_of(9)), sizeof garbage);
  assert_int_equal(pwrite(fd, garbage, sizeof garbage, (off_t)(off_of(20) + sizeof(struct hw_chunk_header))),
                   sizeof garbage);
  assert_int_equal(hwi_trace_open(&whole, path, &error), 0);
  for (int got; (got = hwi_trace_next(whole, wanted, BATCH, &error)) > 0;)
    count += (uint64_t)got;
  assert_int_equal(hwi_trace_open(&trace, path, &error), 0);
  assert_int_equal(follow_to_the_end(trace), count);
  const struct hwi_trace_info *as_a_whole = hwi_trace_info(whole), *followed = hwi_trace_info(trace);
  assert_true(as_a_whole->damaged_chunks > 1);
  assert_int_equal(followed->damaged_chunks, as_a_whole->damaged_chunks);
  assert_int_equal(followed->first_damage_off, as_a_whole->first_damage_off);
  assert_int_equal(followed->missing_chunks, as_a_whole->missing_chunks);
  assert_true(trace->definitions->limit <= whole->definitions->limit + (uint64_t)enc.chunk_count * SLOT_BYTES);
  hwi_trace_close(whole);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(counts_grow_without_events, set_up, tear_down),
      cmocka_unit_test_setup_teardown(chunks_that_grow_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(chunks_that_are_packed_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_chunk_that_is_read_in_part_may_be_packed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(chunks_may_be_gone_before_they_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_open_trace_finds_chunks_that_were_packed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_damaged_trace_is_followed_as_it_is_read, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
