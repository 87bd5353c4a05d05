/* test_turns.c - packing does not delay the looks at the processes, and every trace gets its turn
 *
 * Breaks if the resident set is sampled at half the rate, or not to the end, when packing is slower than the program;
 * if the first of two busy traces is packed and the other never; or if work that a turn left undone is lost or packed
 * twice.
 */
#include "launch/follow/monitor.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "launch/pack/section_file.h"
#include "platform/os.h"

enum { CHUNK_BYTES = 100 << 10, SECTIONS = 3, TRACES = 2, SAMPLES_MAX = 16, SECOND_NS = 1000000000 };

/* The clock advances by a step at each reading, so that a turn shorter than a step ends after one piece of work. */
static const uint64_t begin_ns = UINT64_C(1000) * SECOND_NS, step_ns = 30000000;
static uint64_t clock_ns;

int clock_gettime(clockid_t clock, struct timespec *time)
{
  if (clock != CLOCK_MONOTONIC)
    return (int)syscall(SYS_clock_gettime, clock, time);
  clock_ns += step_ns;
  *time = (struct timespec){(time_t)(clock_ns / SECOND_NS), (long)(clock_ns % SECOND_NS)};
  return 0;
}

static bool not_interrupted(void)
{
  return false;
}

/* A raw trace of this process with data for this number of sections, in chunks that are all retired. */
static void write_trace(const char *path, int streams)
{
  static struct enc enc;
  enc_init(&enc, 1);
  enc.header.pid = (uint32_t)getpid();
  enc.header.process_start = hwi_os_process_start(enc.header.pid);
  uint64_t tick = enc.header.start.clock, wanted = SECTIONS * (HWI_SECTION_BYTES + CHUNK_BYTES);
  for (int i = 0; (uint64_t)i * CHUNK_BYTES < (uint64_t)streams * wanted; i++) {
    int chunk = enc_chunk(&enc, (uint32_t)(i % streams), (uint32_t)(i / streams), 1, ++tick);
    while (enc.chunks[chunk].count < CHUNK_BYTES) {
      enc_alloc(&enc, chunk, ++tick, 0, 48, UINT64_C(0x10000) * (uint64_t)(1 + i % streams));
      enc_free(&enc, chunk, ++tick, UINT64_C(0x10000) * (uint64_t)(1 + i % streams));
    }
  }
  enc_write(&enc, path);
  enc_release(&enc);
}

/* The sections that were appended between two offsets. */
static int count_sections(int fd, uint64_t from, uint64_t to, uint64_t *events)
{
  struct hw_section_header section;
  int count = 0;
  for (; from < to; count++) {
    assert_int_equal(pread(fd, &section, sizeof section, (off_t)from), sizeof section);
    assert_int_equal(section.magic, HW_SECTION_MAGIC);
    *events += section.event_count;
    from += (sizeof section + section.packed_bytes + 7) & ~UINT64_C(7);
  }
  assert_int_equal(from, to);
  return count;
}

/* --- one trace --- */

static void drain_in_turns(int streams, bool is_counted)
{
  char path[] = "/tmp/hw-test-turns-XXXXXX";
  uint8_t run_id[HW_ID_BYTES];
  memset(run_id, 7, sizeof run_id);
  close(mkstemp(path));
  write_trace(path, streams);
  clock_ns = begin_ns;
  struct hwi_packer *packer = hwi_packer_create();
  struct hwi_drain drain;
  struct hwi_turn turn = {0, not_interrupted}; /* over before it begins */
  uint64_t events = 0;
  int sections = 0, turns = 0;
  assert_int_equal(hwi_drain_open(&drain, strdup(path), run_id, &(struct hwi_keep){0}), 0);
  if (is_counted)
    hwi_drain_begin_counting(&drain);
  for (bool more = true; more; turns++) {
    uint64_t before = drain.append_off;
    assert_int_equal(hwi_drain_work(&drain, packer, &turn, &more), 0);
    assert_false(drain.stopped);
    int made = count_sections(drain.fd, before, drain.append_off, &events);
    assert_in_range(made, 0, 1);
    sections += made;
  }
  assert_int_equal(sections, streams * SECTIONS);
  assert_true(turns > sections);
  if (is_counted)
    assert_true(hwi_follower_event_count(drain.follower) >= events);
  hwi_drain_close(&drain);
  hwi_packer_destroy(packer);
  unlink(path);
}

static void test_a_short_turn_is_one_piece(void **state)
{
  (void)state;
  drain_in_turns(1, true);
  drain_in_turns(1, false);
  drain_in_turns(2, true);
  drain_in_turns(2, false);
}

/* --- a run --- */

struct run {
  char root[32], path[64], folder[96], child[128];
  void *mapped[TRACES]; /* so that they count as being written */
};

static void *map_trace(const char *path)
{
  int fd = open(path, O_RDWR);
  void *mapped = mmap(NULL, HW_TRACE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  assert_true(mapped != MAP_FAILED);
  close(fd);
  return mapped;
}

static void begin_run(struct run *run)
{
  snprintf(run->root, sizeof run->root, "/tmp/hw-test-turns-XXXXXX");
  assert_non_null(mkdtemp(run->root));
  snprintf(run->path, sizeof run->path, "%s/run.hwt", run->root);
  snprintf(run->folder, sizeof run->folder, "%s.children", run->path);
  snprintf(run->child, sizeof run->child, "%s/a.1.hwt", run->folder);
  assert_int_equal(mkdir(run->folder, 0700), 0);
  write_trace(run->path, 1);
  write_trace(run->child, 1);
  run->mapped[0] = map_trace(run->path);
  run->mapped[1] = map_trace(run->child);
  clock_ns = begin_ns;
}

static void end_run(const struct run *run)
{
  for (int i = 0; i < TRACES; i++)
    munmap(run->mapped[i], HW_TRACE_HEADER_BYTES);
  unlink(run->child);
  unlink(run->path);
  rmdir(run->folder);
  rmdir(run->root);
}

/* The times of the samples in a trace. */
static size_t read_samples(int fd, uint64_t times[SAMPLES_MAX])
{
  struct hw_tool_record record;
  size_t count = 0;
  for (uint64_t at = HW_TOOL_AREA_OFF;; at += sizeof record + ((record.bytes + UINT64_C(7)) & ~UINT64_C(7))) {
    assert_int_equal(pread(fd, &record, sizeof record, (off_t)at), sizeof record);
    if (!record.type)
      return count;
    if (record.type == HW_TOOL_RSS && count < SAMPLES_MAX)
      times[count++] = record.monotonic_ns;
  }
}

static void test_each_trace_has_its_turn_and_each_look_its_time(void **state)
{
  (void)state;
  struct run run;
  struct hwi_monitor monitor;
  begin_run(&run);
  struct hwi_monitor_options options = {.name = run.path, .pid = (uint32_t)getpid(), .pack = true};
  memset(options.run_id, 7, sizeof options.run_id);
  assert_int_equal(hwi_monitor_init(&monitor, &options), 0);
  for (int round = 1; round <= SECTIONS; round++) {
    hwi_monitor_poll(&monitor, not_interrupted);
    assert_int_equal(monitor.count, TRACES);
    for (int i = 0; i < TRACES; i++) {
      struct hwi_drain *drain = &monitor.traces[i].drain;
      uint64_t events = 0, times[SAMPLES_MAX];
      assert_int_equal(count_sections(drain->fd, drain->header.window_bytes, drain->append_off, &events), round);
      size_t samples = read_samples(drain->fd, times);
      assert_true(samples > (size_t)round); /* not only in each round: also between the turns */
      for (size_t s = 1; s < samples; s++)
        assert_true(times[s] > times[s - 1]);
    }
  }
  uint64_t first[SAMPLES_MAX], second[SAMPLES_MAX];
  read_samples(monitor.traces[0].drain.fd, first);
  read_samples(monitor.traces[1].drain.fd, second);
  assert_true(second[0] > first[0]);
  hwi_monitor_release(&monitor);
  end_run(&run);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_short_turn_is_one_piece),
      cmocka_unit_test(test_each_trace_has_its_turn_and_each_look_its_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
