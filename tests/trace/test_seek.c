/* test_seek.c - reading from any moment on gives the same as the rest of a whole reading
 *
 * Breaks if a piece is left out although some of its events are not older; if one is read both raw and packed; if the
 * order at equal ticks depends on where the reading began; or if a thread's number is lost because only an earlier
 * chunk contains it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "encoder.c"
#include "trace/reader.h"

enum { STREAMS = 3, CHUNKS = 9, CHUNK_EVENTS = 11, MOST_EVENTS = STREAMS * CHUNKS * CHUNK_EVENTS, KINDS = 5 };
static const uint64_t START = 1000;

static char path[] = "/tmp/hw-test-seek-XXXXXX";

/* Blocks of a stream live for some events; times of the streams are sometimes equal. `kind` says where chunks are. */
static void make_trace(int kind)
{
  struct enc enc;
  enc_init(&enc, 1);
  enc.chunks_a_section = 1 + kind % 3;
  for (uint32_t s = 0; s < STREAMS; s++) {
    uint64_t tick = START + s;
    for (uint32_t c = 0; c < CHUNKS; c++) {
      int chunk = enc_chunk(&enc, s, c, s, tick);
      enc.chunks[chunk].in_raw = kind < 3 || (kind == 3 ? c >= CHUNKS / 2 : c % 2 == 0);
      enc.chunks[chunk].in_packed = kind == 0 || (kind == 3 ? c <= CHUNKS / 2 : kind == 4);
      for (uint32_t e = 0; e < CHUNK_EVENTS; e++) {
        tick += (s + c * e) % 4;
        uint64_t address = 0x1000 * (s + 1) + e / 2 * 64;
        if (e % 2 == 0)
          enc_alloc(&enc, chunk, tick, 7, 100 + e, address);
        else
          enc_free(&enc, chunk, tick, address);
      }
    }
  }
  enc_write(&enc, path);
  enc_release(&enc);
}

static int read_events(struct hwi_trace *trace, struct hwi_event *events)
{
  int count = 0;
  for (int got = 1; got > 0; count += got) {
    got = hwi_trace_next(trace, events + count, MOST_EVENTS + HWI_TRACE_MIN_BATCH - count, NULL);
    assert_true(got >= 0 && count + got <= MOST_EVENTS);
  }
  return count;
}

static void from_any_moment(void **state)
{
  (void)state;
  static struct hwi_event all[MOST_EVENTS + HWI_TRACE_MIN_BATCH], some[MOST_EVENTS + HWI_TRACE_MIN_BATCH];
  for (int kind = 0; kind < KINDS; kind++) {
    struct hwi_trace *trace;
    make_trace(kind);
    assert_int_equal(hwi_trace_open(&trace, path, NULL), 0);
    int count = read_events(trace, all), first = 0;
    assert_int_equal(count, MOST_EVENTS);
    for (uint64_t tick = START; tick < all[count - 1].tick + 3; tick++) {
      while (first < count && all[first].tick < tick)
        first++;
      assert_int_equal(hwi_trace_seek(trace, tick, NULL), 0);
      assert_int_equal(read_events(trace, some), count - first);
      assert_memory_equal(some, all + first, (size_t)(count - first) * sizeof *all);
    }
    assert_int_equal(hwi_trace_seek(trace, 0, NULL), 0); /* and back */
    assert_int_equal(read_events(trace, some), count);
    hwi_trace_close(trace);
  }
}

int main(void)
{
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  const struct CMUnitTest tests[] = {cmocka_unit_test(from_any_moment)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
