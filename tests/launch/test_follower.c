/* test_follower.c - the counts that are made while a trace is written equal the final contents of its file
 *
 * Breaks if events are counted before earlier ones that arrive late; if ties between streams are cut; if chunks are
 * marked as read before they are; if a thread that was stopped in the middle of an event makes the counts wrong
 * unnoticed; if a section of the only stream lacks some of its events; or if the moment at which a second stream begins
 * is handled wrongly.
 */
#include "launch/follow/follower.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/running_program.c"
#include "trace/pack/recode.h"

enum { SECTION_BYTES = 10000 };

static struct hwi_follower *follower;
static struct hwi_packer *packer;
static uint64_t packed_events; /* in sections */
static uint32_t packed_chunks;

static bool pack(void)
{
  struct hw_section_header section;
  const uint8_t *packed;
  assert_int_equal(hwi_follower_pack(follower, packer, &section, &packed), 0);
  assert_int_equal(section.first_sequence, packed_chunks);
  packed_chunks = section.last_sequence + 1;
  packed_events += section.event_count;
  return true;
}

/* Looks for chunks and counts, as the launcher's draining does. */
static void look(uint64_t busy_tick, uint64_t silent_tick)
{
  hwi_follower_begin(follower, busy_tick, silent_tick);
  do {
    for (int i = 0; i < enc.chunk_count; i++) {
      const struct hw_chunk_header *header = &enc.chunks[i].header;
      if (!is_skipped(i))
        hwi_follower_chunk(follower, &(struct hwi_seen_chunk){off_of(i), header->stream, header->sequence});
    }
  } while (hwi_follower_work(follower) || (hwi_follower_has_section(follower) && pack()));
}

static int set_up(void **state)
{
  (void)state;
  program_begin();
  follower = hwi_follower_create(fd, &enc.header, SECTION_BYTES);
  packer = hwi_packer_create();
  packed_events = packed_chunks = 0;
  return follower && packer ? 0 : -1;
}

static int tear_down(void **state)
{
  (void)state;
  hwi_follower_destroy(follower);
  hwi_packer_destroy(packer);
  program_end();
  return 0;
}

static void assert_counted_as_the_file(void)
{
  struct hwi_counts wanted;
  struct hwi_error error;
  publish();
  look(UINT64_MAX, UINT64_MAX);
  assert_int_equal(hwi_count_trace(&wanted, path, &error), 0);
  assert_false(hwi_follower_failed(follower));
  assert_memory_equal(hwi_follower_counts(follower), &wanted, sizeof wanted);
  for (int i = 0; i < enc.chunk_count; i++)
    assert_true(hwi_follower_has_read(follower, enc.chunks[i].header.stream, enc.chunks[i].header.sequence) ||
                is_open(i));
}

/* --- tests --- */

static void run_steps(uint32_t steps, int streams, uint64_t silence)
{
  for (uint32_t i = 0; i < steps && enc.chunk_count < ENC_MAX_CHUNKS - STREAMS; i++) {
    step(streams);
    if (below(100) == 0) {
      publish();
      look(below(2) ? now : now - below(50), now - silence);
    }
  }
}

static void run(int streams, uint64_t silence)
{
  run_steps(30000, streams, silence);
}

static size_t unpacked_bytes(void)
{
  size_t bytes = 0;
  for (int i = (int)packed_chunks; i < enc.chunk_count; i++)
    bytes += sizeof enc.chunks[i].header + enc.chunks[i].count;
  return bytes;
}

static void one_stream_is_counted(void **state)
{
  (void)state;
  random_state = 1;
  run(1, 1000);
  assert_true(packed_chunks > 10);
  assert_counted_as_the_file();
  assert_true(hwi_follower_is_single(follower));
  while (unpacked_bytes() < HWI_RECODE_MIN_BYTES) /* so that there is enough for a last section */
    step(1);
  assert_counted_as_the_file();
  assert_true(hwi_follower_end(follower));
  pack();
  assert_int_equal(packed_chunks, enc.chunk_count);
  assert_int_equal(packed_events, hwi_follower_event_count(follower));
}

/* Chunks that the first one was working on are neither lost nor counted twice. */
static void a_second_stream_may_come(void **state)
{
  (void)state;
  for (uint64_t seed = 70; seed < 90; seed++) {
    random_state = seed;
    run_steps(below(12000), 1, 1000);
    assert_true(!enc.chunk_count || hwi_follower_is_single(follower));
    run_steps(12000, STREAMS, START);
    assert_false(hwi_follower_is_single(follower) || hwi_follower_has_section(follower) || hwi_follower_end(follower));
    assert_counted_as_the_file();
    tear_down(state);
    set_up(state);
  }
}

static void streams_are_counted_in_one_order(void **state)
{
  (void)state;
  for (uint64_t seed = 2; seed < 12; seed++) {
    random_state = seed;
    run(STREAMS, START);
    uint64_t before = hwi_follower_event_count(follower);
    assert_true(before > 10000);
    assert_counted_as_the_file();
    tear_down(state);
    set_up(state);
  }
}

/* A silent stream does not delay the others. */
static void silence_is_passed_over(void **state)
{
  (void)state;
  random_state = 20;
  open_chunk(STREAMS - 1);
  enc_alloc(&enc, chunk_of[STREAMS - 1], now, 0, 5, 0x5000000);
  run(STREAMS - 1, 500);
  uint64_t counted = hwi_follower_event_count(follower);
  assert_true(counted > 10000);
  now += 1000;
  enc_free(&enc, chunk_of[STREAMS - 1], now, 0x5000000);
  assert_counted_as_the_file();
}

/* A thread was stopped between the time stamp of an event and its completion, for longer than the limit of silence. */
static void an_event_that_comes_too_late_is_noticed(void **state)
{
  (void)state;
  random_state = 40;
  run(STREAMS, START);
  publish();
  look(now, 0);
  holds = true;
  held_bytes = (uint32_t)enc.chunks[chunk_of[HELD_STREAM]].count;
  enc_alloc(&enc, chunk_of[HELD_STREAM], now, 0, 5, 0x5000000);
  for (int i = 0; i < 2000; i++)
    step(STREAMS);
  publish();
  look(now, now - 100);
  assert_false(hwi_follower_failed(follower));
  holds = false;
  publish();
  look(UINT64_MAX, UINT64_MAX);
  assert_true(hwi_follower_failed(follower));
  assert_int_equal(hwi_follower_event_count(follower), 0);
}

/* Nothing after a gap is counted, so the sum differs from the packed events. */
static void a_missing_chunk_shows_in_the_count(void **state)
{
  struct hwi_counts wanted;
  struct hwi_error error;
  (void)state;
  random_state = 50;
  skips = true;
  run(STREAMS, START);
  publish();
  look(UINT64_MAX, UINT64_MAX);
  assert_int_equal(hwi_count_trace(&wanted, path, &error), 0);
  uint64_t packed = wanted.allocation_calls + wanted.free_calls + wanted.failed_calls - wanted.realloc_calls;
  assert_true(hwi_follower_event_count(follower) < packed);
}

static void damage_is_noticed(void **state)
{
  (void)state;
  random_state = 60;
  run(1, 1000);
  struct enc_chunk *chunk = &enc.chunks[chunk_of[0]];
  chunk->bytes[chunk->count - 1] = HW_OP_MASK; /* an invalid op, or the end of an unfinished address */
  enc_alloc(&enc, chunk_of[0], now, 0, 1, 0x70000);
  chunk->bytes[chunk->count - 1] |= 0x80;
  publish();
  look(UINT64_MAX, UINT64_MAX);
  assert_true(hwi_follower_failed(follower));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(one_stream_is_counted, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_second_stream_may_come, set_up, tear_down),
      cmocka_unit_test_setup_teardown(streams_are_counted_in_one_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(silence_is_passed_over, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_event_that_comes_too_late_is_noticed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_missing_chunk_shows_in_the_count, set_up, tear_down),
      cmocka_unit_test_setup_teardown(damage_is_noticed, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
