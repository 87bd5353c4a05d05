/* test_memory.c - what smaps shows of a process that grows while it is read
 *
 * Breaks if a heap that grows while smaps is read counts twice: RSS would be twice what the process ever had.
 */
#include "platform/os_tools.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEP_BYTES = 256 << 10, STEPS = 256, HEAP_BYTES = STEPS * STEP_BYTES, LOOKS = 1000 };

/* Grows as libc's arenas do, within reserved address space. */
static void grow_and_shrink(void)
{
  char *heap = mmap(NULL, HEAP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  while (heap != MAP_FAILED) {
    for (char *step = heap; step < heap + HEAP_BYTES; step += STEP_BYTES) {
      mprotect(step, STEP_BYTES, PROT_READ | PROT_WRITE);
      memset(step, 1, STEP_BYTES);
    }
    madvise(heap, HEAP_BYTES, MADV_DONTNEED);
    mprotect(heap, HEAP_BYTES, PROT_NONE);
  }
  _exit(1);
}

static void test_what_grows_is_counted_once(void **state)
{
  (void)state;
  struct hwi_os_file trace = {"none.hwt", 0};
  struct hwi_os_memory_use at_first = {0}, use = {0};
  assert_true(hwi_os_process_memory_use((uint32_t)getpid(), &trace, "none.so", &at_first));
  pid_t pid = fork();
  if (pid == 0)
    grow_and_shrink();
  uint64_t most = 0;
  for (int i = 0; i < LOOKS || most < at_first.heap + HEAP_BYTES / 2; i++) { /* it may not have run yet */
    assert_true(hwi_os_process_memory_use((uint32_t)pid, &trace, "none.so", &use));
    most = use.heap > most ? use.heap : most;
  }
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  assert_in_range(most, at_first.heap, at_first.heap + HEAP_BYTES + HEAP_BYTES / 4);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_grows_is_counted_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
