/* test_reader.c - known traces give known events, in known order
 *
 * Breaks if an op is decoded wrongly; if the order at equal ticks is wrong; if events that are there twice are not
 * dropped; if a stream that changes its thread is wrong; or if a chunk is lost that is packed and given back while it
 * is being read.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utime.h>

#include <cmocka.h>

#include "encoder.c"
#include "samples.h"
#include "trace/decode.h"
#include "trace/reader.h"

enum { MOST_EVENTS = 4096 };

static struct enc enc;
static char path[] = "/tmp/hw-test-reader-XXXXXX";
static struct hwi_event events[MOST_EVENTS];
static struct hwi_trace *trace;

static void open_trace(void)
{
  struct hwi_error error;
  enc_write(&enc, path);
  if (hwi_trace_open(&trace, path, &error) < 0)
    fail_msg("%s", error.text);
}

/* Reads all events into `events`. Returns their number. */
static int read_events(void)
{
  struct hwi_error error;
  int count = 0, got;
  while ((got = hwi_trace_next(trace, events + count, HWI_TRACE_MIN_BATCH, &error)) > 0) {
    count += got;
    assert_true(count + HWI_TRACE_MIN_BATCH <= MOST_EVENTS);
  }
  assert_int_equal(got, 0);
  return count;
}

static int close_trace(void **state)
{
  (void)state;
  hwi_trace_close(trace);
  trace = NULL;
  enc_release(&enc);
  return 0;
}

static void check(int i, enum hwi_event_kind kind, uint64_t tick, uint64_t address)
{
  assert_int_equal(events[i].kind, kind);
  assert_int_equal(events[i].tick, tick);
  assert_int_equal(events[i].address, address);
}

static void test_every_op(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  int c = enc_chunk(&enc, 0, 0, 3, 1000000);
  enc.chunks[c].header.fields = HW_FIELD_USABLE;
  enc_alloc_usable(&enc, c, 1000005, 9, 100, 104, 0x7f0000000010);
  enc_alloc_usable(&enc, c, 1000100, 9, 0, 4096, 0x1);
  enc_aligned(&enc, c, 1000100, 300, 64, 6, 0xfffffffffff0);
  enc_free(&enc, c, 1000110, 0x1);
  enc_delete(&enc, c, 1000111, 0x7f0000000010);
  enc_realloc(&enc, c, 1000120, 7, 9, 0xfffffffffff0, 1 << 20, 0x5008);
  enc_free_via(&enc, c, 1000130, HW_ENTRY_DELETE_ARRAY, 0x5008);
  enc_failed(&enc, c, 1000140, 9, UINT64_MAX, 12);
  enc_alloc(&enc, c, 1000150, 9, 7, 0x6000); /* a node that the chunk has named, then with the same size, too */
  assert_int_equal(enc.chunks[c].bytes[enc.chunks[c].count - 6] & HW_OP_MASK, HW_OP_ALLOC_RECENT);
  enc_alloc(&enc, c, 1000151, 9, 7, 0x6010);
  assert_int_equal(enc.chunks[c].bytes[enc.chunks[c].count - 3] & HW_OP_MASK, HW_OP_ALLOC_AGAIN);
  open_trace();
  assert_int_equal(read_events(), 11);
  check(0, HWI_EVENT_ALLOC, 1000005, 0x7f0000000010);
  assert_int_equal(events[0].size, 100);
  assert_int_equal(events[0].usable, 104);
  assert_int_equal(events[0].node, 9);
  assert_int_equal(events[0].thread, 3);
  check(1, HWI_EVENT_ALLOC, 1000100, 0x1);
  assert_int_equal(events[1].size, 0);
  assert_int_equal(events[1].usable, 4096);
  check(2, HWI_EVENT_ALLOC, 1000100, 0xfffffffffff0);
  assert_int_equal(events[2].alignment_log2, 6);
  assert_int_equal(events[2].usable, 72);
  check(3, HWI_EVENT_FREE, 1000110, 0x1);
  assert_int_equal(events[3].entry, HW_ENTRY_FREE);
  check(4, HWI_EVENT_FREE, 1000111, 0x7f0000000010);
  assert_int_equal(events[4].entry, HW_ENTRY_DELETE_SIZED);
  check(5, HWI_EVENT_FREE, 1000120, 0xfffffffffff0);
  assert_true(events[5].moved);
  check(6, HWI_EVENT_ALLOC, 1000127, 0x5008);
  assert_true(events[6].moved);
  assert_int_equal(events[6].size, 1 << 20);
  check(7, HWI_EVENT_FREE, 1000130, 0x5008);
  assert_int_equal(events[7].entry, HW_ENTRY_DELETE_ARRAY);
  check(8, HWI_EVENT_FAILED, 1000140, 0);
  assert_int_equal(events[8].size, UINT64_MAX);
  assert_int_equal(events[8].alignment_log2, 12);
  check(9, HWI_EVENT_ALLOC, 1000150, 0x6000);
  assert_int_equal(events[9].node, 9);
  assert_int_equal(events[9].size, 7);
  check(10, HWI_EVENT_ALLOC, 1000151, 0x6010);
  assert_int_equal(events[10].node, 9);
  assert_int_equal(events[10].size, 7);
  assert_int_equal(events[10].usable, 24);
}

/* After the last field of every op; a realloc has one, that of its new block. */
static void test_every_op_is_timed(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  int c = enc_chunk(&enc, 0, 0, 3, 1000000);
  struct enc_chunk *chunk = &enc.chunks[c];
  chunk->header.fields = HW_FIELD_USABLE | HW_FIELD_DURATION;
  chunk->took = 1;
  enc_node(&enc, c, 9, 0, 0, HW_ENTRY_MALLOC, 0x400100);
  enc_alloc_usable(&enc, c, 1000005, 9, 100, 104, 0x5010);
  chunk->took = 0; /* unknown */
  enc_alloc(&enc, c, 1000006, 9, 100, 0x5110);
  chunk->took = 300;
  enc_alloc(&enc, c, 1000007, 9, 100, 0x5210);
  chunk->took = UINT64_MAX;
  enc_aligned(&enc, c, 1000100, 300, 64, 6, 0x6000);
  chunk->took = 5;
  enc_free(&enc, c, 1000110, 0x5010);
  chunk->took = 6;
  enc_delete(&enc, c, 1000111, 0x5110);
  chunk->took = 7;
  enc_realloc(&enc, c, 1000120, 7, 9, 0x6000, 1 << 20, 0x7000);
  chunk->took = 8;
  enc_free_via(&enc, c, 1000130, HW_ENTRY_DELETE_ARRAY, 0x7000);
  chunk->took = 9;
  enc_failed(&enc, c, 1000140, 9, UINT64_MAX, 12);
  enc_alloc(&enc, c, 1000150, 9, 100, 0x5310);
  open_trace();
  static const uint64_t took[] = {1, 0, 300, UINT64_MAX, 5, 6, 0, 7, 8, 9, 9};
  int count = sizeof took / sizeof *took;
  assert_int_equal(read_events(), count);
  for (int i = 0; i < count; i++)
    assert_int_equal(events[i].took, took[i]);
  check(10, HWI_EVENT_ALLOC, 1000150, 0x5310);
  assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 0);
}

/* The clock of the trace runs as fast as the nanoseconds, or three times as fast. */
static void test_durations_are_in_clock_units(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  enc.header.clock = HW_CLOCK_TSC;
  enc.header.clock_cost = 61;
  enc.header.last = (struct hw_anchor){1000000 + 3 * UINT64_C(1000000000), 1000000 + UINT64_C(1000000000)};
  open_trace();
  assert_int_equal(hwi_trace_units_ns(trace, 0), 0);
  assert_int_equal(hwi_trace_units_ns(trace, 4), 1);
  assert_int_equal(hwi_trace_units_ns(trace, 5), 2);
  assert_in_range(hwi_trace_units_ns(trace, 3 * UINT64_C(1000000000)), 1000000000 - 1,
                  1000000000); /* 32 bits after the point */
  assert_int_equal(hwi_trace_units_ns(trace, UINT64_MAX), HWI_TRACE_LATEST_NS);
  assert_int_equal(hwi_trace_info(trace)->clock_cost_ns, 20);
}

/* --- order --- */

static bool live_answer;

static bool is_live(void *context, uint64_t address)
{
  (void)context;
  (void)address;
  return live_answer;
}

/* One thread frees a block and another gets or has got the same one, within one tick. */
static void test_only_the_live_blocks_can_tell(void **state)
{
  (void)state;
  for (int live = 0; live < 2; live++) {
    enc_init(&enc, 1);
    int a = enc_chunk(&enc, 0, 0, 0, 1000000), b = enc_chunk(&enc, 1, 0, 1, 1000000);
    enc_free(&enc, a, 1000010, 0x10000);
    enc_alloc(&enc, b, 1000010, 1, 8, 0x10000);
    open_trace();
    live_answer = live;
    hwi_trace_set_liveness(trace, is_live, NULL);
    assert_int_equal(read_events(), 2);
    check(live ? 0 : 1, HWI_EVENT_FREE, 1000010, 0x10000);
    check(live ? 1 : 0, HWI_EVENT_ALLOC, 1000010, 0x10000);
    close_trace(NULL);
  }
}

/* Taking the first free that fits does not work: the thread that gets the block again must go first. */
static void test_ties_are_searched(void **state)
{
  (void)state;
  for (uint32_t first = 0; first < 2; first++) {
    enc_init(&enc, 1);
    int chunk[2] = {enc_chunk(&enc, 0, 0, 0, 1000000), enc_chunk(&enc, 1, 0, 1, 1000000)};
    enc_free(&enc, chunk[!first], 1000010, 0x10000);
    enc_free(&enc, chunk[first], 1000010, 0x10000);
    enc_alloc(&enc, chunk[first], 1000010, 1, 8, 0x10000);
    open_trace();
    live_answer = true;
    hwi_trace_set_liveness(trace, is_live, NULL);
    assert_int_equal(read_events(), 3);
    assert_int_equal(events[0].thread, first);
    assert_int_equal(events[1].thread, first);
    assert_int_equal(events[2].thread, !first);
    close_trace(NULL);
  }
}

static void put_heap_event(int chunk, enum hw_heap_op op, uint32_t heap, uint8_t tick_part)
{
  enc_heap_in_part(&enc, chunk, 1000010, tick_part, &(struct enc_heap_event){op, heap, 1, 1, 8, 0x10000});
}

/* The parts of the tick order the events of a heap, while malloc and another heap have blocks at the same address. */
static void test_ties_in_a_heap(void **state)
{
  (void)state;
  for (uint32_t first = 0; first < 2; first++) {
    enc_init(&enc, 1);
    int chunk[3] = {enc_chunk(&enc, 0, 0, 0, 1000000), enc_chunk(&enc, 1, 0, 1, 1000000),
                    enc_chunk(&enc, 2, 0, 2, 1000000)};
    put_heap_event(chunk[!first], HW_HEAP_FREE, 1, 9);
    put_heap_event(chunk[first], HW_HEAP_ALLOC, 1, 3);
    put_heap_event(chunk[first], HW_HEAP_FREE, 1, 4);
    put_heap_event(chunk[first], HW_HEAP_ALLOC, 1, 8);
    put_heap_event(chunk[2], HW_HEAP_ALLOC, 2, 7);
    enc_alloc(&enc, chunk[2], 1000010, 1, 8, 0x10000);
    open_trace();
    live_answer = false; /* in malloc */
    hwi_trace_set_liveness(trace, is_live, NULL);
    assert_int_equal(read_events(), 6);
    uint32_t order[4];
    int count = 0;
    for (int i = 0; i < 6; i++)
      if (events[i].kind == HWI_EVENT_HEAP && events[i].heap == 1)
        order[count++] = events[i].thread;
    assert_int_equal(count, 4);
    for (int i = 0; i < 3; i++)
      assert_int_equal(order[i], first);
    assert_int_equal(order[3], !first);
    close_trace(NULL);
  }
}

/* A reset is ordered with all events of its heap, also if there are more than are searched. */
static void test_ties_with_a_reset(void **state)
{
  (void)state;
  for (int test = 0; test < 4; test++) {
    const uint32_t first = test % 2;
    const int before = test < 2 ? 2 : 100;
    enc_init(&enc, 1);
    int chunk[2] = {enc_chunk(&enc, 0, 0, 0, 1000000), enc_chunk(&enc, 1, 0, 1, 1000000)};
    put_heap_event(chunk[first], HW_HEAP_RESET, 1, 20);
    for (int i = 0; i < before; i++)
      put_heap_event(chunk[!first], i % 2 ? HW_HEAP_FREE : HW_HEAP_ALLOC, 1, 19);
    put_heap_event(chunk[!first], HW_HEAP_ALLOC, 1, 21);
    open_trace();
    assert_int_equal(read_events(), before + 2);
    assert_int_equal(events[before].entry, HW_HEAP_RESET);
    assert_int_equal(events[before].tick_part, 20);
    close_trace(NULL);
  }
}

/* Forged: the parts of the tick contradict the streams. No event is lost. */
static void test_ties_in_no_order(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  for (uint32_t s = 0; s < 2; s++) {
    const int chunk = enc_chunk(&enc, s, 0, s, 1000000);
    put_heap_event(chunk, HW_HEAP_FREE, 1, (uint8_t)(9 - s));
    put_heap_event(chunk, HW_HEAP_ALLOC, 1, (uint8_t)(1 + s));
  }
  open_trace();
  assert_int_equal(read_events(), 4);
  for (uint32_t s = 0; s < 2; s++) {
    int of_stream = 0;
    for (int i = 0; i < 4; i++)
      if (events[i].thread == s)
        assert_int_equal(events[i].entry, of_stream++ ? HW_HEAP_ALLOC : HW_HEAP_FREE);
    assert_int_equal(of_stream, 2);
  }
  close_trace(NULL);
}

/* More events at one tick than are searched: picked one by one, none lost, in each stream's order. */
static void test_a_tick_with_many_events(void **state)
{
  (void)state;
  enum { EACH = 600 };
  enc_init(&enc, 1);
  for (uint32_t s = 0; s < 2; s++) {
    int c = enc_chunk(&enc, s, 0, s, 1000000);
    for (int i = 0; i < EACH; i++)
      enc_failed(&enc, c, 1000010, 1, (uint64_t)i, 0);
  }
  open_trace();
  assert_int_equal(read_events(), 2 * EACH);
  uint64_t next[2] = {0};
  for (int i = 0; i < 2 * EACH; i++)
    assert_int_equal(events[i].size, next[events[i].thread]++);
}

static void test_others_come_between_the_halves_of_a_realloc(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  int a = enc_chunk(&enc, 0, 0, 0, 1000000), b = enc_chunk(&enc, 1, 0, 1, 1000000);
  enc_alloc(&enc, a, 1000001, 1, 8, 0x10000);
  enc_realloc(&enc, a, 1000010, 100, 1, 0x10000, 16, 0x20000);
  enc_alloc(&enc, b, 1000050, 1, 8, 0x10000);
  enc_free(&enc, b, 1000120, 0x20000);
  open_trace();
  assert_int_equal(read_events(), 5);
  check(1, HWI_EVENT_FREE, 1000010, 0x10000);
  check(2, HWI_EVENT_ALLOC, 1000050, 0x10000);
  check(3, HWI_EVENT_ALLOC, 1000110, 0x20000);
  check(4, HWI_EVENT_FREE, 1000120, 0x20000);
}

static void test_many_streams_keep_time(void **state)
{
  (void)state;
  enum { STREAMS = 150 };
  enc_init(&enc, 1);
  for (uint32_t s = 0; s < STREAMS; s++) {
    int c = enc_chunk(&enc, s, 0, s, 1000000 + s * 7 % 50);
    for (uint64_t i = 0; i < 20; i++)
      enc_failed(&enc, c, 1000100 + i * (1 + s * 31 % 17), 1, i, 0);
  }
  open_trace();
  int count = read_events();
  assert_int_equal(count, STREAMS * 20);
  for (int i = 1; i < count; i++)
    assert_true(events[i].tick >= events[i - 1].tick);
}

/* --- chunks --- */

static void test_a_stream_is_taken_over(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  int c = enc_chunk(&enc, 0, 0, 1, 1000000);
  enc_thread(&enc, c, 1, 501, "first");
  enc_alloc(&enc, c, 1000001, 1, 8, 0x10000);
  enc_thread(&enc, c, 2, 502, "second");
  enc_alloc(&enc, c, 1000002, 1, 8, 0x20000);
  int d = enc_chunk(&enc, 0, 1, 2, 1000002);
  enc_alloc(&enc, d, 1000003, 1, 8, 0x30000);
  open_trace();
  assert_int_equal(read_events(), 3);
  assert_int_equal(events[0].thread, 1);
  assert_int_equal(events[1].thread, 2);
  assert_int_equal(events[2].thread, 2);
  assert_string_equal(hwi_trace_thread(trace, 1).name, "first");
  assert_int_equal(hwi_trace_thread(trace, 2).tid, 502);
  assert_false(hwi_trace_thread(trace, 3).known);
}

static void add_three_chunks(void)
{
  for (uint32_t i = 0; i < 3; i++) {
    int c = enc_chunk(&enc, 0, i, 0, 1000000 + i * 10);
    enc_alloc(&enc, c, 1000001 + i * 10, 1, i, 0x10000);
  }
}

static void test_what_is_there_twice_counts_once(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  add_three_chunks();
  enc.chunks[0].in_packed = enc.chunks[1].in_packed = true;
  enc.chunks[0].in_raw = false;
  open_trace();
  assert_int_equal(read_events(), 3);
  for (uint64_t i = 0; i < 3; i++)
    assert_int_equal(events[i].size, i);
  assert_int_equal(hwi_trace_info(trace)->missing_chunks, 0);
}

/* A section in which some chunks are known already. */
static void test_a_section_that_overlaps(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  add_three_chunks();
  enc.chunks_a_section = 3;
  for (int i = 0; i < 3; i++) {
    enc.chunks[i].in_packed = true;
    enc.chunks[i].in_raw = i == 0;
  }
  open_trace();
  assert_int_equal(read_events(), 3);
  for (uint64_t i = 0; i < 3; i++)
    assert_int_equal(events[i].size, i);
}

static void test_gaps_are_counted(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  add_three_chunks();
  enc.chunks[1].in_raw = false;
  open_trace();
  assert_int_equal(read_events(), 2);
  assert_int_equal(hwi_trace_info(trace)->missing_chunks, 1);
  assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 0);
}

/* Sums of times would wrap round after it, and the last event would be taken for the first. */
static void test_a_time_beyond_the_latest_is_damage(void **state)
{
  (void)state;
  static const uint32_t kinds[] = {HW_TRACE_RAW, HW_TRACE_PACKED};
  for (size_t i = 0; i < 2; i++) {
    enc_init(&enc, 1);
    enc.header.kind = kinds[i];
    int late = enc_chunk(&enc, 0, 0, 1, HWI_LATEST_TICK - 10);
    enc_alloc(&enc, late, HWI_LATEST_TICK - 5, 0, 8, 0x1000);
    enc_free(&enc, late, HWI_LATEST_TICK, 0x1000);
    enc_alloc(&enc, late, HWI_LATEST_TICK + 1, 0, 8, 0x2000);
    int later = enc_chunk(&enc, 1, 0, 2, HWI_LATEST_TICK + 1);
    enc_alloc(&enc, later, HWI_LATEST_TICK + 1, 0, 8, 0x3000);
    int realloc = enc_chunk(&enc, 2, 0, 3, 1000);
    enc_alloc(&enc, realloc, 1001, 0, 8, 0x4000);
    enc_realloc(&enc, realloc, 1002, HWI_LATEST_TICK, 0, 0x4000, 9, 0x5000);
    open_trace();
    assert_int_equal(read_events(), 3);
    check(0, HWI_EVENT_ALLOC, 1001, 0x4000);
    check(1, HWI_EVENT_ALLOC, HWI_LATEST_TICK - 5, 0x1000);
    check(2, HWI_EVENT_FREE, HWI_LATEST_TICK, 0x1000);
    assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 3);
    close_trace(NULL);
  }
}

static void test_packed_reads_like_raw(void **state)
{
  (void)state;
  static struct hwi_event raw[SAMPLE_EVENTS];
  sample_make(&enc, 1);
  open_trace();
  assert_int_equal(read_events(), SAMPLE_EVENTS);
  memcpy(raw, events, sizeof raw);
  close_trace(NULL);
  sample_make(&enc, 2);
  open_trace();
  assert_int_equal(read_events(), SAMPLE_EVENTS);
  assert_memory_equal(raw, events, sizeof raw);
  assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 0);
}

/* As the drainer does it, between the reader's look at the index and its reading. */
static void test_a_chunk_is_packed_under_way(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  add_three_chunks();
  open_trace();
  for (int i = 0; i < 3; i++)
    enc.chunks[i].in_packed = i == 1;
  size_t bytes;
  uint8_t *file = enc_file(&enc, &bytes);
  enc.chunks[1].in_raw = false;
  memset(file + HW_CHUNKS_OFF + 4096, 0, 4096);
  int fd = open(path, O_WRONLY);
  assert_int_equal(pwrite(fd, file, bytes, 0), bytes);
  close(fd);
  free(file);
  assert_int_equal(read_events(), 3);
  assert_int_equal(events[1].size, 1);
  assert_int_equal(hwi_trace_info(trace)->missing_chunks, 0);
}

static void test_holes_and_garbage_are_stepped_over(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  add_three_chunks();
  enc_write(&enc, path);
  int fd = open(path, O_WRONLY);
  char garbage[4096];
  memset(garbage, 'x', sizeof garbage);
  assert_int_equal(pwrite(fd, garbage, sizeof garbage, HW_CHUNKS_OFF + 4096), sizeof garbage);
  close(fd);
  struct hwi_error error;
  assert_int_equal(hwi_trace_open(&trace, path, &error), 0);
  assert_int_equal(read_events(), 2);
  assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 1);
  assert_int_equal(hwi_trace_info(trace)->first_damage_off, HW_CHUNKS_OFF + 4096);
  assert_int_equal(hwi_trace_info(trace)->missing_chunks, 1);
}

/* On a file system that does not report holes, the window's 8 GiB used to be read to the end, page by page. After the
 * used part, the first empty page of data ends it. Pages that are written, but not yet counted in the header, are not
 * missed. */
static void test_nothing_is_looked_for_behind_what_is_used(void **state)
{
  (void)state;
  for (int used = 1; used <= 3; used++) {
    enc_init(&enc, 1);
    add_three_chunks();
    enc_write(&enc, path);
    int fd = open(path, O_RDWR);
    uint64_t used_bytes = HW_CHUNKS_OFF + (uint64_t)used * 4096, window_bytes = HW_CHUNKS_OFF + 5 * 4096;
    char empty[4096] = {0}, garbage[4096];
    memset(garbage, 'x', sizeof garbage);
    assert_int_equal(pwrite(fd, &used_bytes, sizeof used_bytes, offsetof(struct hw_trace_header, used_bytes)), 8);
    assert_int_equal(pwrite(fd, &window_bytes, sizeof window_bytes, offsetof(struct hw_trace_header, window_bytes)), 8);
    assert_int_equal(pwrite(fd, empty, sizeof empty, HW_CHUNKS_OFF + 3 * 4096), sizeof empty);
    assert_int_equal(pwrite(fd, garbage, sizeof garbage, HW_CHUNKS_OFF + 4 * 4096), sizeof garbage);
    close(fd);
    struct hwi_error error;
    assert_int_equal(hwi_trace_open(&trace, path, &error), 0);
    assert_int_equal(read_events(), 3);
    assert_int_equal(hwi_trace_info(trace)->damaged_chunks, 0);
    hwi_trace_close(trace);
    trace = NULL;
    enc_release(&enc);
  }
}

/* --- numbers, the program and time in the trace --- */

static void test_a_node_that_another_stream_defines_later(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  int a = enc_chunk(&enc, 0, 0, 0, 1000000), b = enc_chunk(&enc, 1, 0, 1, 1000500);
  enc_alloc(&enc, a, 1000001, 2, 8, 0x10000);
  enc_alloc(&enc, b, 1000600, 1, 8, 0x20000);
  enc_node(&enc, b, 1, 0, 0, HW_ENTRY_NONE, 0x400100);
  enc_node(&enc, b, 2, 1, 0, HW_ENTRY_CALLOC, 0x400200); /* written as the child of the previous one */
  open_trace();
  struct hwi_error error;
  assert_false(hwi_trace_node(trace, 2).known);
  assert_int_equal(hwi_trace_complete(trace, &error), 0);
  struct hwi_node node = hwi_trace_node(trace, 2);
  assert_true(node.known);
  assert_int_equal(node.address, 0x400200);
  assert_int_equal(node.parent, 1);
  assert_int_equal(node.entry, HW_ENTRY_CALLOC);
  assert_false(hwi_trace_node(trace, 3).known);
  assert_false(hwi_trace_node(trace, UINT32_MAX).known);
  assert_int_equal(read_events(), 2);
}

static void test_info(void **state)
{
  (void)state;
  sample_make(&enc, 0);
  enc.header.state = HW_STATE_STOPPED_DISK;
  enc.header.stop_clock = 1005000;
  open_trace();
  const struct hwi_trace_info *info = hwi_trace_info(trace);
  assert_string_equal(info->command, "'a b' 'c'\\''d'");
  assert_string_equal(info->exe, "/bin/a");
  assert_string_equal(info->environment[1], "B=2");
  assert_null(info->environment[2]);
  assert_int_equal(info->mark_count, 3);
  assert_string_equal(info->marks[0].text, "mark");
  assert_int_equal(info->marks[0].ns, 500);
  assert_int_equal(info->marks[1].type, HW_TOOL_PAUSED);
  assert_int_equal(info->rss_count, 1);
  assert_int_equal(info->rss[0].sample.rss, 5);
  assert_int_equal(info->exit->code, 3);
  assert_int_equal(info->note_count, 1);
  assert_int_equal(info->notes[0].kind, HW_NOTE_OWN_MALLOC);
  assert_string_equal(info->notes[0].text, "module");
  assert_int_equal(info->rss_peak_bytes, 0x1010);
  assert_int_equal(info->silent_from_ns, 5000);
  assert_int_equal(info->duration_ns, 10000);
  assert_false(info->being_written);
  assert_int_equal(hwi_trace_module(trace, 1)->start, 0x400000);
  assert_int_equal(hwi_trace_module(trace, 1)->build_id_bytes, 10);
  assert_true(hwi_trace_node(trace, 2).cut);
  assert_int_equal(read_events(), SAMPLE_EVENTS);
  assert_int_equal(info->note_count, 1);
}

static void test_the_clock(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  enc.header.clock = HW_CLOCK_TSC;
  enc.header.tick_shift = 4;
  enc.header.clock_hz_hint = 1000000000;
  enc.header.start = (struct hw_anchor){16000, 5000};
  enc.header.last = (struct hw_anchor){16000 + 40000000, 5000 + 20000000}; /* 2 GHz over 20 ms */
  open_trace();
  assert_int_equal(hwi_trace_tick_ns(trace, 0), 0);
  assert_int_equal(hwi_trace_tick_ns(trace, 1000), 0);
  assert_int_equal(hwi_trace_tick_ns(trace, 1000 + 1000000), 8000000);
  close_trace(NULL);
  enc.header.last = (struct hw_anchor){16000 + 4000, 5000 + 2000}; /* too short to be trusted: the hint */
  open_trace();
  assert_int_equal(hwi_trace_tick_ns(trace, 1000 + 1000000), 16000000);
  close_trace(NULL);
  uint64_t clock = 16000 + UINT64_C(3000000000); /* a tool read both clocks a second later: 3 GHz */
  enc_tool(&enc, HW_TOOL_ANCHOR, 5000 + 1000000000, &clock, sizeof clock);
  open_trace();
  assert_in_range(hwi_trace_tick_ns(trace, 1000 + 3000000), 16000000 - 1, 16000000);
  assert_int_equal(hwi_trace_tick_ns(trace, UINT64_MAX), HWI_TRACE_LATEST_NS);
}

/* Field 22 of /proc/self/stat; our name has no blanks. */
static uint64_t own_start(void)
{
  unsigned long long start = 0;
  FILE *stat = fopen("/proc/self/stat", "r");
  assert_non_null(stat);
  for (int field = 1; field < 22; field++)
    assert_int_equal(fscanf(stat, "%*s"), 0);
  assert_int_equal(fscanf(stat, "%llu", &start), 1);
  fclose(stat);
  return start;
}

/* This process is the writer, as long as it has the file mapped. */
static void test_being_written(void **state)
{
  (void)state;
  enc_init(&enc, 1);
  enc.header.pid = (uint32_t)getpid();
  enc.header.process_start = own_start();
  open_trace();
  assert_false(hwi_trace_info(trace)->being_written);
  close_trace(NULL);
  int fd = open(path, O_RDWR);
  void *window = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  assert_ptr_not_equal(window, MAP_FAILED);
  struct hwi_error error;
  assert_int_equal(hwi_trace_open(&trace, path, &error), 0);
  assert_true(hwi_trace_info(trace)->being_written);
  hwi_trace_close(trace);
  ((struct hw_trace_header *)window)->process_start++; /* another process has got the number */
  assert_int_equal(hwi_trace_open(&trace, path, &error), 0);
  assert_false(hwi_trace_info(trace)->being_written);
  munmap(window, 4096);
}

static char dir[] = "/tmp/hw-test-newest-XXXXXX";

static const char *in_dir(const char *name)
{
  static char at[sizeof dir + 16];
  snprintf(at, sizeof at, "%s/%s", dir, name);
  return at;
}

static void test_the_newest_trace(void **state)
{
  (void)state;
  static const char *const names[] = {"old.hwt", "new", "newer.txt"};
  char found[300];
  struct hwi_error error;
  assert_non_null(mkdtemp(dir));
  assert_int_equal(hwi_trace_newest(dir, found, sizeof found, &error), HW_ERR_NOT_A_TRACE);
  enc_init(&enc, 1);
  enc_chunk(&enc, 0, 0, 0, 1000000);
  enc_write(&enc, in_dir("old.hwt"));
  enc_write(&enc, in_dir("new"));
  FILE *other = fopen(in_dir("newer.txt"), "w");
  assert_non_null(other);
  fclose(other);
  utime(in_dir("old.hwt"), &(struct utimbuf){1000, 1000});
  utime(in_dir("new"), &(struct utimbuf){2000, 2000});
  assert_int_equal(hwi_trace_newest(dir, found, sizeof found, &error), 0);
  assert_string_equal(found, in_dir("new"));
  assert_int_equal(hwi_trace_newest(dir, found, 5, &error), HW_ERR_LIMIT);
  assert_int_equal(hwi_trace_newest("/no/such/folder", found, sizeof found, &error), HW_ERR_IO);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    unlink(in_dir(names[i]));
  rmdir(dir);
}

int main(void)
{
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
#define TEST(name) cmocka_unit_test_teardown(name, close_trace)
  const struct CMUnitTest tests[] = {
      TEST(test_every_op),
      TEST(test_every_op_is_timed),
      TEST(test_durations_are_in_clock_units),
      TEST(test_only_the_live_blocks_can_tell),
      TEST(test_ties_are_searched),
      TEST(test_ties_in_a_heap),
      TEST(test_ties_with_a_reset),
      TEST(test_ties_in_no_order),
      TEST(test_a_tick_with_many_events),
      TEST(test_others_come_between_the_halves_of_a_realloc),
      TEST(test_many_streams_keep_time),
      TEST(test_a_stream_is_taken_over),
      TEST(test_what_is_there_twice_counts_once),
      TEST(test_a_section_that_overlaps),
      TEST(test_gaps_are_counted),
      TEST(test_a_time_beyond_the_latest_is_damage),
      TEST(test_packed_reads_like_raw),
      TEST(test_a_chunk_is_packed_under_way),
      TEST(test_holes_and_garbage_are_stepped_over),
      TEST(test_nothing_is_looked_for_behind_what_is_used),
      TEST(test_a_node_that_another_stream_defines_later),
      TEST(test_info),
      TEST(test_the_clock),
      TEST(test_being_written),
      TEST(test_the_newest_trace),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
