/* test_publication.c - a reader that runs next to the writer never sees an event before all of its bytes
 *
 * Breaks if a chunk appears before its header is complete, if valid_bytes covers bytes that were not written, or if a chunk seems
 * to be at its end while events are missing. The writer stores in the order of the protocol (release stores of magic, valid_bytes and
 * state), the reader loads as tools do (hwi_index_read_chunk, then the events). On x86-64 the CPU keeps the order of stores and loads
 * by itself, also for programs of other CPUs that are emulated on it: there the test shows only the order in the code.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/os.h"
#include "record/lane.h"
#include "trace/read/index.h"
#include "trace/writer.h"

enum { PAGE = 4096, CHUNKS = 400, EVENTS_A_CHUNK = 300, LARGEST_EVENT = 13, WINDOW_BYTES = 32 << 20 };

static struct hwi_writer writer;
static struct hw_trace_header header;
static char path[64];

/* Event `i` of a chunk has 1 to LARGEST_EVENT bytes, all of which follow from both numbers. */
static uint8_t byte_of(uint32_t sequence, uint32_t at)
{
  return (uint8_t)(1 + (sequence * 31 + at * 7) % 251);
}

static void *write_chunks(void *argument)
{
  (void)argument;
  for (uint32_t sequence = 0; sequence < CHUNKS; sequence++) {
    const struct hw_chunk_header like = {.stream = 1, .sequence = sequence, .thread = 7, .base_tick = sequence + 5};
    enum hw_trace_state reason = HW_STATE_RECORDING;
    struct hwi_lane lane = {.chunk_bytes = PAGE};
    lane.chunk = hwi_writer_chunk(&writer, PAGE, &like, &lane.end, &reason);
    if (!lane.chunk)
      return "no chunk";
    hwi_writer_publish(lane.chunk);
    lane.at = (uint8_t *)(lane.chunk + 1);
    for (uint32_t i = 0, at = 0; i < EVENTS_A_CHUNK; i++) {
      uint32_t bytes = 1 + i % LARGEST_EVENT;
      for (uint32_t k = 0; k < bytes; k++, at++)
        lane.at[k] = byte_of(sequence, at);
      hwi_lane_commit(&lane, lane.at + bytes);
    }
    hwi_writer_retire(&writer, lane.chunk, PAGE);
  }
  return NULL;
}

/* Reads a chunk until it is at its end, again and again. Returns how often it had grown meanwhile. */
static unsigned follow_chunk(int fd, uint32_t sequence)
{
  const uint64_t off = HW_CHUNKS_OFF + (uint64_t)sequence * PAGE;
  uint8_t events[PAGE];
  uint32_t seen = 0;
  unsigned growths = 0;
  for (;;) {
    struct hw_chunk_header chunk;
    if (!hwi_index_read_chunk(fd, &header, off, &chunk)) {
      assert_int_equal(seen, 0);
      hwi_os_yield();
      continue;
    }
    assert_int_equal(chunk.sequence, sequence);
    assert_int_equal(chunk.stream, 1);
    assert_int_equal(chunk.thread, 7);
    assert_int_equal(chunk.base_tick, sequence + 5);
    assert_true(chunk.valid_bytes >= seen);
    growths += chunk.valid_bytes > seen;
    assert_int_equal(pread(fd, events, chunk.valid_bytes, (off_t)(off + sizeof chunk)), chunk.valid_bytes);
    for (uint32_t at = 0; at < chunk.valid_bytes; at++)
      if (events[at] != byte_of(sequence, at))
        fail_msg("chunk %u: byte %u of %u is %u", sequence, at, chunk.valid_bytes, events[at]);
    seen = chunk.valid_bytes;
    if (chunk.state == HW_CHUNK_RETIRED)
      break;
    hwi_os_yield();
  }
  uint32_t all = 0;
  for (uint32_t i = 0; i < EVENTS_A_CHUNK; i++)
    all += 1 + i % LARGEST_EVENT;
  assert_int_equal(seen, all);
  return growths;
}

static void test_events_appear_whole(void **state)
{
  (void)state;
  pthread_t thread;
  void *failure;
  unsigned growths = 0;
  snprintf(path, sizeof path, "/tmp/heapwright-test-publication-%d.hwt", (int)getpid());
  unlink(path);
  header.image_id[0] = 9;
  assert_int_equal(hwi_writer_open(&writer, path, WINDOW_BYTES, &header), 0);
  header = *writer.header;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_int_equal(pthread_create(&thread, NULL, write_chunks, NULL), 0);
  for (uint32_t sequence = 0; sequence < CHUNKS; sequence++)
    growths += follow_chunk(fd, sequence);
  pthread_join(thread, &failure);
  assert_null(failure);
  assert_true(growths >= CHUNKS);
  print_message("%u chunks, seen growing %u times\n", CHUNKS, growths);
  hwi_writer_close(&writer);
  close(fd);
  unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_events_appear_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
