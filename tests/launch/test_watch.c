/* test_watch.c - a trace that there is no memory to follow is let go of whole, and taken once there is some
 *
 * What would break: a file left open at each round in which memory is short.
 */
#include "launch/watch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/failing_malloc.h"

enum { CALLS_MOST = 100, FILES_MOST = 100, WINDOW_BYTES = HW_CHUNKS_OFF + (1 << 20) };

/* Asked without malloc. */
static int open_files(void)
{
  int count = 0;
  for (int fd = 0; fd < FILES_MOST; fd++)
    count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static bool not_interrupted(void)
{
  return false;
}

static void write_empty_trace(int fd)
{
  struct hw_trace_header header = {.version = HW_TRACE_VERSION, .kind = HW_TRACE_RAW, .window_bytes = WINDOW_BYTES};
  memcpy(header.magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES);
  assert_int_equal(pwrite(fd, &header, sizeof header, 0), sizeof header);
  assert_int_equal(ftruncate(fd, WINDOW_BYTES), 0);
}

static void test_no_memory_leaves_nothing_open(void **state)
{
  (void)state;
  char path[] = "/tmp/hw-test-watch-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  write_empty_trace(fd);
  close(fd);
  struct hwi_watch_options options = {.name = path, .pid = (uint32_t)getpid()};
  int before = open_files();
  bool is_refused_once = false, has_failed = true;
  for (uint64_t calls = 0; has_failed && calls < CALLS_MOST; calls++) {
    struct hwi_watch watch;
    failing_malloc_arm(calls, 1);
    if (hwi_watch_init(&watch, &options) == 0)
      for (int round = 0; round < 2; round++) {
        hwi_watch_poll(&watch, not_interrupted);
        assert_int_equal(open_files() - before, watch.count);
        is_refused_once |= watch.count == 0;
      }
    has_failed = failing.failed;
    assert_true(has_failed || watch.count == 1);
    hwi_watch_release(&watch);
    failing_malloc_disarm();
    assert_int_equal(open_files(), before);
    assert_int_equal(failing_malloc_leaks(), 0);
  }
  assert_true(is_refused_once);
  assert_false(has_failed);
  unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory_leaves_nothing_open)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
