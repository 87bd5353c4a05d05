/* test_writer.c - chunks from many threads fill the window to its end, none lost, none twice, and nothing stays mapped
 *
 * Breaks if two threads get overlapping chunks, if a segment is unmapped while one of its chunks is in use or while the
 * next one is made from its seed, if retired chunks keep their pages, if a chunk's first page brings the pages
 * around it into memory, or if a segment needs address space when there is none.
 */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum {
  THREADS = 4,
  PAGE = 4096,
  WINDOW_BYTES = 48 << 20,
  MOST_PAGES = 64,
  SEEN_PAGES = 1024,
  LARGEST_FOLIO_PAGES = 64,
  SMALLEST_SEGMENT_BYTES = 4 << 20
};

static struct hwi_writer writer;
static char path[64];
static uint64_t chunk_counts[THREADS];

static int make_path(void **state)
{
  (void)state;
  snprintf(path, sizeof path, "/tmp/heapwright-test-writer-%d.hwt", (int)getpid());
  unlink(path);
  return 0;
}

static int remove_path(void **state)
{
  (void)state;
  return unlink(path);
}

/* Takes chunks of changing sizes, two at a time, fills and retires them until there are no more. */
static void *fill_window(void *argument)
{
  uint32_t stream = (uint32_t)(uintptr_t)argument, sequence = 0, bytes = 0, before_bytes = 0;
  struct hw_chunk_header *before = NULL, *chunk;
  uint8_t *end;
  enum hw_trace_state reason = HW_STATE_RECORDING;
  for (;;) {
    bytes = (1 + sequence * 7 % MOST_PAGES) * PAGE;
    struct hw_chunk_header like = {.stream = stream, .sequence = sequence};
    chunk = hwi_writer_chunk(&writer, bytes, &like, &end, &reason);
    if (before) {
      before->valid_bytes = before_bytes - (uint32_t)sizeof *before;
      hwi_writer_retire(&writer, before, before_bytes);
    }
    if (!chunk)
      break;
    hwi_writer_publish(chunk);
    while (end < (uint8_t *)chunk + bytes && hwi_writer_extend(&end))
      continue;
    memset(chunk + 1, (int)(stream + 1), bytes - sizeof *chunk);
    before = chunk;
    before_bytes = bytes;
    sequence++;
  }
  chunk_counts[stream] = sequence;
  return (void *)(uintptr_t)reason;
}

static void check_chunk(const uint8_t *chunk, const struct hw_chunk_header *header, uint64_t off)
{
  assert_int_equal(header->off, off);
  assert_int_equal(header->state, HW_CHUNK_RETIRED);
  assert_true(header->stream < THREADS);
  for (uint32_t i = sizeof *header; i < header->bytes; i++)
    if (chunk[i] != header->stream + 1)
      fail_msg("byte %u of the chunk at %llu is %d", i, (unsigned long long)off, chunk[i]);
}

/* Every chunk is in the file once, with all of its bytes. */
static void check_file(void)
{
  static uint8_t chunk[MOST_PAGES * PAGE];
  uint64_t seen[THREADS] = {0};
  int fd = open(path, O_RDONLY);
  for (uint64_t off = HW_CHUNKS_OFF; off < WINDOW_BYTES;) {
    struct hw_chunk_header header;
    assert_true(pread(fd, &header, sizeof header, (off_t)off) == (ssize_t)sizeof header);
    if (header.magic != HW_CHUNK_MAGIC) {
      off += PAGE;
      continue;
    }
    assert_true(header.bytes <= sizeof chunk);
    assert_int_equal(pread(fd, chunk, header.bytes, (off_t)off), header.bytes);
    check_chunk(chunk, &header, off);
    seen[header.stream]++;
    off += header.bytes;
  }
  close(fd);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(seen[i], chunk_counts[i]);
}

/* Returns how many bytes of the file this process maps. */
static uint64_t mapped_bytes(void)
{
  char line[512];
  uint64_t bytes = 0, start, end;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps))
    if (strstr(line, path) && sscanf(line, "%lx-%lx", &start, &end) == 2)
      bytes += end - start;
  fclose(maps);
  return bytes;
}

static void open_writer(void)
{
  struct hw_trace_header header = {.pid = 1};
  assert_int_equal(hwi_writer_open(&writer, path, WINDOW_BYTES, &header), 0);
}

static void test_threads_fill_the_window(void **state)
{
  (void)state;
  pthread_t ids[THREADS];
  open_writer();
  for (uintptr_t i = 0; i < THREADS; i++)
    pthread_create(&ids[i], NULL, fill_window, (void *)i);
  for (int i = 0; i < THREADS; i++) {
    void *reason;
    pthread_join(ids[i], &reason);
    assert_int_equal((uintptr_t)reason, HW_STATE_STOPPED_LIMIT);
  }
  check_file();
  uint64_t used = atomic_load(&writer.next_off);
  assert_true(used > WINDOW_BYTES - (2 * MOST_PAGES * PAGE));
  assert_true(mapped_bytes() <= 2 * writer.segment_bytes); /* the header and the rest of the last segments */
  hwi_writer_close(&writer);
  assert_int_equal(mapped_bytes(), 0);
}

/* No event waits for all pages of a chunk. */
static void test_a_chunk_takes_its_pages_one_by_one(void **state)
{
  (void)state;
  struct hw_chunk_header like = {0};
  enum hw_trace_state reason = HW_STATE_RECORDING;
  uint8_t *end;
  open_writer();
  struct hw_chunk_header *chunk = hwi_writer_chunk(&writer, MOST_PAGES * PAGE, &like, &end, &reason);
  assert_non_null(chunk);
  for (int i = 1; i < MOST_PAGES; i++) {
    assert_ptr_equal(end, (uint8_t *)chunk + i * PAGE);
    assert_true(hwi_writer_extend(&end));
    memset(end - PAGE, 1, PAGE);
  }
  hwi_writer_close(&writer);
}

/* Returns the number of the file's pages in memory that the mapping of the first segment could show. */
static size_t pages_in_memory(void)
{
  static unsigned char is_there[SEEN_PAGES];
  size_t pages = 0;
  assert_int_equal(mincore(atomic_load(&writer.segments[0].start), (size_t)SEEN_PAGES * PAGE, is_there), 0);
  for (size_t i = 0; i < SEEN_PAGES; i++)
    pages += is_there[i] & 1;
  return pages;
}

/* A trace of a few events takes a few pages, however far the disk reads ahead: otherwise a process that lives for a
 * millisecond would spend more time on filling memory with zeros. */
static void test_holes_around_a_chunk_are_not_read(void **state)
{
  (void)state;
  struct hw_chunk_header like = {0};
  enum hw_trace_state reason = HW_STATE_RECORDING;
  uint8_t *end;
  open_writer();
  assert_true(writer.segment_bytes >= SEEN_PAGES * (uint64_t)PAGE);
  assert_non_null(hwi_writer_chunk(&writer, PAGE, &like, &end, &reason));
  assert_in_range(pages_in_memory(), 1, LARGEST_FOLIO_PAGES);
  hwi_writer_close(&writer);
}

/* Takes and retires chunks of 64 pages up to an offset of the file. Returns false if there are no more. */
static bool take_up_to(uint64_t off, enum hw_trace_state *reason)
{
  while (atomic_load(&writer.next_off) < off) {
    struct hw_chunk_header like = {0}, *chunk;
    uint8_t *end;
    if (!(chunk = hwi_writer_chunk(&writer, MOST_PAGES * PAGE, &like, &end, reason)))
      return false;
    hwi_writer_retire(&writer, chunk, MOST_PAGES * PAGE);
  }
  return true;
}

/* Returns how much address space this process has. */
static rlim_t address_space(void)
{
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_int_equal(fscanf(file, "%lu", &pages), 1);
  fclose(file);
  return (rlim_t)pages * PAGE;
}

/* From now on, or with false no longer, there is no more address space. */
static void limit_address_space(bool is_limited)
{
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
  limit.rlim_cur = is_limited ? address_space() : limit.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

static void test_the_window_is_filled_without_address_space(void **state)
{
  (void)state;
  enum hw_trace_state reason = HW_STATE_RECORDING;
  open_writer();
  limit_address_space(true);
  bool has_more = take_up_to(WINDOW_BYTES, &reason);
  limit_address_space(false);
  assert_false(has_more);
  assert_int_equal(reason, HW_STATE_STOPPED_LIMIT);
  assert_true(atomic_load(&writer.next_off) > WINDOW_BYTES - (2 * MOST_PAGES * PAGE));
  hwi_writer_close(&writer);
}

static pthread_barrier_t step;

/* A thread needs memory to begin. */
static void *fill_window_when_limited(void *argument)
{
  pthread_barrier_wait(&step); /* all have begun */
  pthread_barrier_wait(&step);
  return fill_window(argument);
}

/* A thread that does not run for a while may keep a segment, so that there is no room for the one after the next. */
static void test_threads_write_without_address_space(void **state)
{
  (void)state;
  pthread_t ids[THREADS];
  uintptr_t reasons[THREADS];
  open_writer();
  pthread_barrier_init(&step, NULL, THREADS + 1);
  for (uintptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&ids[i], NULL, fill_window_when_limited, (void *)i), 0);
  pthread_barrier_wait(&step);
  limit_address_space(true);
  pthread_barrier_wait(&step);
  for (int i = 0; i < THREADS; i++)
    pthread_join(ids[i], (void **)&reasons[i]);
  limit_address_space(false);
  for (int i = 0; i < THREADS; i++)
    assert_true(reasons[i] == HW_STATE_STOPPED_LIMIT || reasons[i] == HW_STATE_STOPPED_MEMORY);
  pthread_barrier_destroy(&step);
  check_file();
  hwi_writer_close(&writer);
  assert_int_equal(mapped_bytes(), 0);
}

/* An idle thread keeps the first segment. */
static void test_a_segment_that_stays_leaves_a_spare_range(void **state)
{
  (void)state;
  enum hw_trace_state reason = HW_STATE_RECORDING;
  struct hw_chunk_header like = {0};
  uint8_t *end;
  rlim_t before = address_space();
  open_writer();
  assert_non_null(hwi_writer_chunk(&writer, PAGE, &like, &end, &reason));
  assert_true(take_up_to(HW_CHUNKS_OFF + writer.segment_bytes / 2 * 3, &reason));
  limit_address_space(true);
  bool has_more = take_up_to(HW_CHUNKS_OFF + writer.segment_bytes / 2 * 5, &reason);
  limit_address_space(false);
  assert_true(has_more);
  hwi_writer_close(&writer);
  assert_int_equal(mapped_bytes(), 0);
  assert_true(address_space() < before + SMALLEST_SEGMENT_BYTES); /* the spare range has no name */
}

static void test_a_taken_name_is_refused(void **state)
{
  (void)state;
  struct hw_trace_header header = {.pid = 1};
  open_writer();
  struct hwi_writer second = {0};
  assert_int_equal(hwi_writer_open(&second, path, WINDOW_BYTES, &header), -EEXIST);
  hwi_writer_close(&writer);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_threads_fill_the_window, make_path, remove_path),
      cmocka_unit_test_setup_teardown(test_a_chunk_takes_its_pages_one_by_one, make_path, remove_path),
      cmocka_unit_test_setup_teardown(test_holes_around_a_chunk_are_not_read, make_path, remove_path),
      cmocka_unit_test_setup_teardown(test_the_window_is_filled_without_address_space, make_path, remove_path),
      cmocka_unit_test_setup_teardown(test_threads_write_without_address_space, make_path, remove_path),
      cmocka_unit_test_setup_teardown(test_a_segment_that_stays_leaves_a_spare_range, make_path, remove_path),
      cmocka_unit_test_setup_teardown(test_a_taken_name_is_refused, make_path, remove_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
