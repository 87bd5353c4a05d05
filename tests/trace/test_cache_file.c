/* test_cache_file.c - a file next to a trace appears whole or not at all
 *
 * Breaks if half of a file appears after a kill, or when two are written at once; if the old file is lost because a new
 * one failed; if files are left; or if another user's file is replaced.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/cache_file.h"

enum { TEXT_BYTES = 16 };
static const uint8_t magic[HWI_CACHE_MAGIC_BYTES] = {'m', 'a', 'g', 'i', 'c', '1', '2', '3'};
static bool nameless;                        /* the file system supports files without names */
static bool linkless, is_empty_while_linked; /* links are refused; there was no file at `path` when one was made */
static char dir[] = "/tmp/hw-test-cache-XXXXXX", path[64];

/* Replaces libc's open, to simulate a file system without files that have no name. */
int open(const char *file, int flags, ...)
{
  if ((flags & O_TMPFILE) == O_TMPFILE && !nameless) {
    errno = EOPNOTSUPP;
    return -1;
  }
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
  va_end(more);
  return (int)syscall(SYS_openat, AT_FDCWD, file, flags, mode);
}

/* Simulates a system without /proc, through which such a file gets its name, or a sandbox that refuses links. */
int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
  is_empty_while_linked |= access(path, F_OK) != 0;
  if (linkless) {
    errno = ENOENT;
    return -1;
  }
  return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

static int empty_dir(void)
{
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'/*", dir);
  return system(command);
}

static int begin(bool may_be_nameless, bool may_not_link)
{
  nameless = may_be_nameless;
  linkless = may_not_link;
  return empty_dir();
}

static int begin_named(void **state)
{
  (void)state;
  return begin(false, false);
}

static int begin_nameless(void **state)
{
  (void)state;
  return begin(true, false);
}

static int begin_linkless(void **state)
{
  (void)state;
  return begin(true, true);
}

static int make_dir(void **state)
{
  (void)state;
  if (!mkdtemp(dir))
    return -1;
  snprintf(path, sizeof path, "%s/a", dir);
  return 0;
}

static int remove_dir(void **state)
{
  (void)state;
  empty_dir();
  return rmdir(dir);
}

static int file_count(void)
{
  char command[128];
  int count = -1;
  snprintf(command, sizeof command, "ls '%s' | wc -l", dir);
  FILE *out = popen(command, "r");
  assert_int_equal(fscanf(out, "%d", &count), 1);
  pclose(out);
  return count;
}

static void put(struct hwi_cache_file *file, const char *text)
{
  assert_int_equal(write(file->fd, magic, sizeof magic), sizeof magic);
  assert_int_equal(write(file->fd, text, strlen(text)), strlen(text));
}

static void keep(const char *text)
{
  struct hwi_cache_file file;
  assert_true(hwi_cache_file_begin(&file, path, magic));
  put(&file, text);
  assert_true(hwi_cache_file_commit(&file, path));
}

static void assert_text(const char *expected)
{
  char text[TEXT_BYTES] = "";
  int fd = hwi_cache_file_open(path);
  assert_true(fd >= 0);
  assert_int_equal(lseek(fd, sizeof magic, SEEK_SET), sizeof magic);
  assert_int_equal(read(fd, text, sizeof text - 1), strlen(expected));
  assert_string_equal(text, expected);
  close(fd);
}

static void the_last_of_two_at_once_stays_whole(void **state)
{
  (void)state;
  struct hwi_cache_file one, two;
  assert_true(hwi_cache_file_begin(&one, path, magic));
  assert_true(hwi_cache_file_begin(&two, path, magic));
  put(&one, "on");
  put(&two, "tw");
  assert_int_equal(write(one.fd, "e", 1), 1);
  assert_true(hwi_cache_file_commit(&one, path));
  assert_int_equal(write(two.fd, "o", 1), 1);
  assert_true(hwi_cache_file_commit(&two, path));
  assert_text("two");
  assert_int_equal(file_count(), 1);
}

static void one_that_is_dropped_leaves_what_was(void **state)
{
  (void)state;
  struct hwi_cache_file file;
  keep("before");
  assert_true(hwi_cache_file_begin(&file, path, magic));
  put(&file, "half");
  hwi_cache_file_discard(&file);
  hwi_cache_file_discard(&file); /* does nothing */
  assert_text("before");
  assert_int_equal(file_count(), 1);
}

/* Begins such a file, kills its writer, and writes another one. Returns the number of files. */
static int files_after_a_kill(void)
{
  int status;
  keep("before");
  pid_t child = fork();
  if (child == 0) {
    struct hwi_cache_file file;
    if (hwi_cache_file_begin(&file, path, magic) && write(file.fd, magic, sizeof magic) > 0)
      raise(SIGKILL);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_text("before");
  keep("after");
  assert_text("after");
  return file_count();
}

static void a_kill_leaves_what_was(void **state)
{
  (void)state;
  assert_int_equal(files_after_a_kill(), 2); /* the killed one's file stays: it is unknown whether it has a writer */
}

static void a_kill_leaves_nothing_without_a_name(void **state)
{
  (void)state;
  int fd = open(dir, O_TMPFILE | O_RDWR, 0600);
  if (fd < 0)
    skip();
  close(fd);
  assert_int_equal(files_after_a_kill(), 1);
}

/* A reader in between found no file, and a kill left none. */
static void one_is_replaced_at_one_stroke(void **state)
{
  (void)state;
  keep("before");
  is_empty_while_linked = false;
  keep("after");
  assert_text("after");
  assert_false(is_empty_while_linked);
  assert_int_equal(file_count(), 1);
}

static void what_is_not_ours_stays(void **state)
{
  (void)state;
  struct hwi_cache_file file;
  struct stat about;
  FILE *other = fopen(path, "w");
  assert_true(fputs("no magic", other) > 0);
  fclose(other);
  assert_false(hwi_cache_file_begin(&file, path, magic));
  hwi_cache_file_remove(path, magic);
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(file_count(), 1);
  assert_int_equal(unlink(path), 0);
  keep("ours");
  hwi_cache_file_remove(path, magic);
  assert_int_equal(file_count(), 0);
}

static void a_folder_that_is_gone_has_none(void **state)
{
  (void)state;
  struct hwi_cache_file file;
  assert_false(hwi_cache_file_begin(&file, "/no/such/folder/a", magic));
  assert_int_equal(hwi_cache_file_open("/no/such/folder/a"), -1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_last_of_two_at_once_stays_whole, begin_named),
      cmocka_unit_test_setup(the_last_of_two_at_once_stays_whole, begin_nameless),
      cmocka_unit_test_setup(the_last_of_two_at_once_stays_whole, begin_linkless),
      cmocka_unit_test_setup(one_that_is_dropped_leaves_what_was, begin_named),
      cmocka_unit_test_setup(one_that_is_dropped_leaves_what_was, begin_nameless),
      cmocka_unit_test_setup(a_kill_leaves_what_was, begin_named),
      cmocka_unit_test_setup(a_kill_leaves_nothing_without_a_name, begin_nameless),
      cmocka_unit_test_setup(one_is_replaced_at_one_stroke, begin_nameless),
      cmocka_unit_test_setup(one_is_replaced_at_one_stroke, begin_linkless),
      cmocka_unit_test_setup(what_is_not_ours_stays, begin_named),
      cmocka_unit_test_setup(what_is_not_ours_stays, begin_nameless),
      cmocka_unit_test_setup(a_folder_that_is_gone_has_none, begin_nameless),
  };
  return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
