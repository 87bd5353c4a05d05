/* test_unseen_processes.c - a process counts as unseen if it stays without the recorder, not if one look finds it
 * loading
 *
 * Breaks if a child that has just called exec, or that loads slowly, is taken for one that cannot be recorded.
 */
#include "launch/follow/unseen_processes.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/target/preload.h"
#include "platform/os_tools.h"

enum { MAPPED_BYTES = 4096 };

static char library[64];
static int orders[2], answers[2];

static int begin(void **state)
{
  (void)state;
  char folder[] = "/tmp/heapwright-test-unseen-XXXXXX";
  assert_non_null(mkdtemp(folder));
  snprintf(library, sizeof library, "%s/%s", folder, HWI_RECORDER_NAME);
  int fd = open(library, O_RDWR | O_CREAT, 0600);
  assert_int_equal(ftruncate(fd, MAPPED_BYTES), 0);
  close(fd);
  return pipe(orders) | pipe(answers);
}

/* A process that maps a file with the recorder's name, or unmaps it, on command: 'm' or 'u'. */
static void obey(void)
{
  char order;
  void *at = MAP_FAILED;
  int fd = open(library, O_RDONLY);
  close(orders[1]);
  while (read(orders[0], &order, 1) == 1) {
    if (order == 'm')
      at = mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
    else if (at != MAP_FAILED)
      munmap(at, MAPPED_BYTES);
    (void)!write(answers[1], &order, 1);
  }
  _exit(0);
}

static uint32_t look_when(struct hwi_unseen *unseen, char order)
{
  char answer;
  assert_int_equal(write(orders[1], &order, 1), 1);
  assert_int_equal(read(answers[0], &answer, 1), 1);
  hwi_unseen_look(unseen, &(struct hwi_unseen_run){.pid = (uint32_t)getpid()});
  return unseen->unseen;
}

static void one_look_proves_nothing(void **state)
{
  (void)state;
  struct hwi_unseen unseen = {0};
  pid_t child = fork();
  if (child == 0)
    obey();
  static const struct {
    char order;
    uint32_t count;
  } looks[] = {{'u', 0}, {'m', 0}, {'u', 0}, {'m', 0}, {'u', 0}, {'u', 1}, {'u', 1}, {'m', 1}, {'u', 1}, {'u', 1}};
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
    assert_int_equal(look_when(&unseen, looks[i].order), looks[i].count);
  hwi_unseen_release(&unseen);
  close(orders[1]);
  waitpid(child, NULL, 0);
}

/* The program "sleep" with this environment, stopped before its loader has begun. */
static pid_t start_loading(const char *preload)
{
  char *environment[] = {(char *)preload, NULL}, *words[] = {"sleep", "100", NULL};
  int status;
  pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO); /* the loader complains */
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execve("/usr/bin/sleep", words, environment);
    _exit(1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSTOPPED(status));
  return child;
}

static bool find_heap(void *found, const struct hwi_os_mapping *mapping)
{
  return *(bool *)found = mapping->is_brk_heap;
}

static void load(pid_t pid)
{
  bool has_heap = false;
  ptrace(PTRACE_DETACH, pid, 0, 0);
  while (hwi_os_each_mapping((uint32_t)pid, find_heap, &has_heap) && !has_heap)
    usleep(1000);
}

/* Returns how often a process counts as unseen in three looks. */
static uint32_t count_looks(const struct hwi_unseen_run *run)
{
  enum { LOOKS = 3 };
  struct hwi_unseen unseen = {0};
  for (int i = 0; i < LOOKS; i++)
    hwi_unseen_look(&unseen, run);
  uint32_t count = unseen.unseen;
  hwi_unseen_release(&unseen);
  return count;
}

/* A program that loads slowly, as on a busy machine, does not count as running without the recorder. A program that
 * could not load the recorder, such as one that cannot read a library in another user's folder, does. */
static void what_will_be_loaded_is_not_missed(void **state)
{
  (void)state;
  static const struct {
    const char *preload;
    uint32_t loading, loaded;
  } cases[] = {{"LD_PRELOAD=/nowhere/" HWI_RECORDER_NAME, 0, 1}, {"LD_PRELOAD=/nowhere/another.so", 1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hwi_unseen_run all = {.pid = (uint32_t)getpid()};
    pid_t child = start_loading(cases[i].preload);
    assert_int_equal(count_looks(&all), cases[i].loading);
    load(child);
    assert_int_equal(count_looks(&all), cases[i].loaded);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
}

static int end(void **state)
{
  (void)state;
  return unlink(library);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_look_proves_nothing),
                                     cmocka_unit_test(what_will_be_loaded_is_not_missed)};
  return cmocka_run_group_tests(tests, begin, end);
}
