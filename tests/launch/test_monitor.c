/* test_monitor.c - which traces are followed, and since when
 *
 * Breaks if a file stays open at each round in which memory is short, or if a child is followed only at the end of the
 * run.
 */
#include "launch/follow/monitor.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/failing_malloc.h"

enum { CALLS_MOST = 100, FILES_MOST = 100, WINDOW_BYTES = HW_CHUNKS_OFF + (1 << 20) };

/* Queried without malloc. */
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
  struct hwi_monitor_options options = {.name = path, .pid = (uint32_t)getpid()};
  int before = open_files();
  bool is_refused_once = false, has_failed = true;
  for (uint64_t calls = 0; has_failed && calls < CALLS_MOST; calls++) {
    struct hwi_monitor monitor;
    failing_malloc_arm(calls, 1);
    if (hwi_monitor_init(&monitor, &options) == 0)
      for (int round = 0; round < 2; round++) {
        monitor.next_find_ns = 0;
        hwi_monitor_poll(&monitor, not_interrupted);
        assert_int_equal(open_files() - before, monitor.count);
        is_refused_once |= monitor.count == 0;
      }
    has_failed = failing.failed;
    assert_true(has_failed || monitor.count == 1);
    hwi_monitor_release(&monitor);
    failing_malloc_disarm();
    assert_int_equal(open_files(), before);
    assert_int_equal(failing_malloc_leaks(), 0);
  }
  assert_true(is_refused_once);
  assert_false(has_failed);
  unlink(path);
}

static void write_child(const char *folder, const char *name)
{
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  assert_true(fd >= 0);
  write_empty_trace(fd);
  close(fd);
}

/* File systems give the same time stamp to changes within a tick of some milliseconds. */
static void test_a_second_child_at_the_same_moment(void **state)
{
  (void)state;
  static const char *const names[] = {"a.1.hwt", "b.2.hwt"};
  char path[] = "/tmp/hw-test-watch-XXXXXX", folder[64];
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  write_empty_trace(fd);
  close(fd);
  snprintf(folder, sizeof folder, "%s.children", path);
  assert_int_equal(mkdir(folder, 0700), 0);
  struct hwi_monitor_options options = {.name = path, .pid = (uint32_t)getpid()};
  struct hwi_monitor monitor;
  struct timespec moment[2];
  assert_int_equal(hwi_monitor_init(&monitor, &options), 0);
  clock_gettime(CLOCK_REALTIME, &moment[0]);
  moment[0].tv_sec += 3600; /* however long this test takes */
  moment[1] = moment[0];
  for (size_t i = 0; i < 2; i++) {
    write_child(folder, names[i]);
    assert_int_equal(utimensat(AT_FDCWD, folder, moment, 0), 0);
    monitor.next_find_ns = 0; /* as after a round's time */
    hwi_monitor_poll(&monitor, not_interrupted);
    assert_int_equal(monitor.outcome.trace_count, 2 + i);
  }
  hwi_monitor_release(&monitor);
  for (size_t i = 0; i < 2; i++) {
    char child[128];
    snprintf(child, sizeof child, "%s/%s", folder, names[i]);
    unlink(child);
  }
  rmdir(folder);
  unlink(path);
}

static void set_control(const char *path, uint32_t control)
{
  int fd = open(path, O_WRONLY);
  assert_int_equal(pwrite(fd, &control, sizeof control, offsetof(struct hw_trace_header, control)), sizeof control);
  close(fd);
}

static uint32_t control_of(const char *path)
{
  uint32_t control;
  int fd = open(path, O_RDONLY);
  assert_int_equal(pread(fd, &control, sizeof control, offsetof(struct hw_trace_header, control)), sizeof control);
  close(fd);
  return control;
}

/* `heapwright control CHILD off --only-this` used to be undone if the launcher had not found the child yet. */
static void test_a_child_follows_the_run_unless_it_was_switched(void **state)
{
  (void)state;
  for (int was_switched = 0; was_switched < 2; was_switched++) {
    char path[] = "/tmp/hw-test-watch-XXXXXX", folder[64], child[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    write_empty_trace(fd);
    close(fd);
    snprintf(folder, sizeof folder, "%s.children", path);
    snprintf(child, sizeof child, "%s/a.1.hwt", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_child(folder, "a.1.hwt");
    set_control(was_switched ? child : path, HW_CONTROL_PAUSE);
    struct hwi_monitor_options options = {.name = path, .pid = (uint32_t)getpid()};
    struct hwi_monitor monitor;
    assert_int_equal(hwi_monitor_init(&monitor, &options), 0);
    hwi_monitor_poll(&monitor, not_interrupted);
    assert_int_equal(monitor.outcome.trace_count, 2);
    assert_int_equal(control_of(child), HW_CONTROL_PAUSE);
    assert_int_equal(control_of(path), was_switched ? HW_CONTROL_RECORD : HW_CONTROL_PAUSE);
    hwi_monitor_release(&monitor);
    unlink(child);
    rmdir(folder);
    unlink(path);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_memory_leaves_nothing_open),
      cmocka_unit_test(test_a_second_child_at_the_same_moment),
      cmocka_unit_test(test_a_child_follows_the_run_unless_it_was_switched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
