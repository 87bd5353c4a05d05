/* test_cut.c - a trace that is cut at a moment has all earlier events and no later ones
 *
 * Breaks if an event before the moment is lost, or comes twice, when chunks are packed and given back while the trace is
 * copied; if a later event stays; or if a definition is lost that an earlier event names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "packed_program.c"

#include "launch/pack/compact.h"
#include "trace/reader.h"

enum { EVENTS_MAX = 1 << 17, BATCH = 512 };

static struct hwi_event found[EVENTS_MAX], wanted[EVENTS_MAX];
static char copy[80];
static bool packs_meanwhile;

static int set_up(void **state)
{
  (void)state;
  packed_program_begin();
  snprintf(copy, sizeof copy, "%s.copy", path);
  packs_meanwhile = false;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  packed_program_end();
  unlink(copy);
  return 0;
}

static int read_all(const char *from, struct hwi_event *events)
{
  struct hwi_error error;
  struct hwi_trace *trace;
  int count, all = 0;
  uint64_t calls = 0;
  assert_int_equal(hwi_trace_open(&trace, from, &error), 0);
  while ((count = hwi_trace_next(trace, events + all, BATCH, &error)) > 0) {
    all += count;
    assert_true(all < EVENTS_MAX - BATCH);
  }
  for (int i = 0; i < all; i++)
    calls += !(events[i].moved && events[i].kind == HWI_EVENT_FREE);
  if (hwi_trace_info(trace)->header.kind == HW_TRACE_PACKED) /* each chunk is in one section */
    assert_int_equal(hwi_trace_expected_events(trace), calls);
  assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 0);
  assert_int_equal(hwi_trace_info(trace)->missing_chunks, 0);
  hwi_trace_close(trace);
  return all;
}

/* The trace is packed between two pieces. */
static bool pack_some(void)
{
  if (packs_meanwhile && below(8) == 0)
    pack((int)below(STREAMS), 1 + (int)below(8));
  return false;
}

static void cut_at(uint64_t tick)
{
  struct hwi_error error;
  struct hwi_compacted compacted;
  struct hwi_packer *packer = hwi_packer_create();
  struct hwi_cut cut = {.header = enc.header, .tick = tick, .monotonic_ns = UINT64_MAX};
  cut.header.state = HW_STATE_SAVED;
  cut.header.stop_clock = tick;
  const struct hwi_compaction compaction = {packer, fd, path, copy, pack_some, &cut};
  if (hwi_compact(&compaction, &compacted, &error) < 0)
    fail_msg("%s", error.text);
  hwi_packer_destroy(packer);
}

static void assert_is_cut(uint64_t tick)
{
  int all = read_all(path, wanted), kept = 0, count = read_all(copy, found);
  while (kept < all && wanted[kept].tick < tick)
    kept++;
  for (int i = 0; i < kept && i < count; i++)
    if (memcmp(&found[i], &wanted[i], sizeof *found) != 0)
      fail_msg("event %d of %d differs: tick %llu, not %llu", i, kept, (unsigned long long)found[i].tick,
               (unsigned long long)wanted[i].tick);
  assert_int_equal(count, kept);
}

static void run(uint32_t steps)
{
  for (uint32_t i = 0; i < steps && enc.chunk_count < ENC_MAX_CHUNKS - STREAMS; i++) {
    step(STREAMS);
    if (below(2000) == 0) {
      publish();
      pack((int)below(STREAMS), 1 + (int)below(3));
    }
  }
  publish();
}

static void all_events_before_the_moment_are_kept(void **state)
{
  for (uint64_t seed = 1; seed < 60; seed++) {
    random_state = seed;
    run(5000 + below(20000));
    const uint64_t tick = START + below((uint32_t)(now - START) + 10);
    packs_meanwhile = seed % 4 != 0;
    cut_at(tick);
    assert_is_cut(tick);
    packs_meanwhile = true;
    cut_at(now + 1);
    assert_is_cut(now + 1);
    tear_down(state);
    set_up(state);
  }
}

/* The same thread may have freed the old block before the moment. Its new one is not there yet. */
static void a_realloc_that_is_not_complete_has_freed_its_block(void **state)
{
  (void)state;
  open_chunk(0);
  enc_alloc(&enc, chunk_of[0], START + 10, 0, 100, 0x10000);
  enc_realloc(&enc, chunk_of[0], START + 20, 10, 0, 0x10000, 200, 0x20000);
  enc_free(&enc, chunk_of[0], START + 40, 0x20000);
  publish();
  cut_at(START + 25);
  assert_int_equal(read_all(copy, found), 2);
  assert_int_equal(found[1].kind, HWI_EVENT_FREE);
  assert_int_equal(found[1].tick, START + 20);
  assert_int_equal(found[1].address, 0x10000);
  assert_int_equal(found[1].entry, HW_ENTRY_REALLOC);
  assert_false(found[1].moved);
  cut_at(START + 31);
  assert_int_equal(read_all(copy, found), 3);
  assert_true(found[1].moved && found[2].moved);
}

/* Another thread may have used the node of an event that is cut off. */
static void definitions_after_the_moment_are_kept(void **state)
{
  struct hwi_error error;
  struct hwi_trace *trace;
  for (int packed = 0; packed < 2; packed++) {
    for (int s = 0; s < 2; s++)
      open_chunk(s);
    enc_alloc(&enc, chunk_of[0], START + 10, 2, 100, 0x10000);
    enc_main(&enc, chunk_of[1]);
    enc_alloc(&enc, chunk_of[1], START + 30, 2, 100, 0x20000);
    enc_thread(&enc, chunk_of[1], 1, 101, "late");
    enc_record(&enc, chunk_of[1], HW_RECORD_EXIT, NULL, 0);
    publish();
    if (packed) {
      now = START + 30;
      open_chunk(1);
      publish();
      pack(1, 1);
    }
    cut_at(START + 20);
    assert_int_equal(read_all(copy, found), 1);
    assert_int_equal(hwi_trace_open(&trace, copy, &error), 0);
    assert_int_equal(hwi_trace_complete(trace, &error), 0);
    assert_true(hwi_trace_node(trace, 2).known);
    assert_true(hwi_trace_module(trace, 1)->known);
    assert_false(hwi_trace_info(trace)->ended);
    hwi_trace_close(trace);
    tear_down(state);
    set_up(state);
  }
}

/* The next recording of the same name began while this one was packed. */
static void another_recording_keeps_the_name(void **state)
{
  (void)state;
  static const char other[] = "of another recording";
  char content[sizeof other] = "";
  struct hwi_error error;
  struct hwi_compacted compacted;
  struct hwi_packer *packer = hwi_packer_create();
  const struct hwi_compaction compaction = {packer, fd, path, path, NULL, NULL};
  run(1000);
  assert_int_equal(unlink(path), 0);
  FILE *next = fopen(path, "w");
  assert_non_null(next);
  assert_int_equal(fwrite(other, sizeof other, 1, next), 1);
  fclose(next);
  assert_int_equal(hwi_compact(&compaction, &compacted, &error), HW_ERR_BUSY);
  assert_non_null(strstr(error.text, "another recording"));
  next = fopen(path, "r");
  assert_non_null(next);
  assert_int_equal(fread(content, sizeof content, 1, next), 1);
  assert_string_equal(content, other);
  fclose(next);
  hwi_packer_destroy(packer);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(all_events_before_the_moment_are_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_realloc_that_is_not_complete_has_freed_its_block, set_up, tear_down),
      cmocka_unit_test_setup_teardown(definitions_after_the_moment_are_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(another_recording_keeps_the_name, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
