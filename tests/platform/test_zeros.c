/* test_zeros.c - zeros by the kernel, in place of writes
 *
 * Breaks if memory that is not the kernel's to zero is taken for zeroed: a calloc of the recorder would give out what was there.
 */
#include "platform/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGES = 64, BYTES = PAGES * HWI_OS_PAGE_BYTES };

static char *map(int flags, int fd)
{
  char *start = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
  assert_ptr_not_equal(start, MAP_FAILED);
  memset(start, 7, BYTES);
  return start;
}

static void test_private_memory(void **state)
{
  (void)state;
  char *start = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  unsigned char present[PAGES];
  assert_true(hwi_os_map_zeros(start, BYTES));
  assert_int_equal(mincore(start, BYTES, present), 0);
  for (size_t i = 0; i < PAGES; i++)
    assert_int_equal(present[i] & 1, 0);
  for (size_t i = 0; i < BYTES; i++)
    assert_int_equal(start[i], 0);
  munmap(start, BYTES);
}

static void test_shared_memory(void **state)
{
  (void)state;
  char *start = map(MAP_SHARED | MAP_ANONYMOUS, -1);
  assert_false(hwi_os_map_zeros(start, BYTES));
  munmap(start, BYTES);
}

/* The kernel would bring back the file's contents. */
static void test_memory_of_a_file(void **state)
{
  (void)state;
  char path[] = "/tmp/test_zeros.XXXXXX", ones[BYTES];
  int fd = mkstemp(path);
  memset(ones, 1, BYTES);
  assert_int_equal(write(fd, ones, BYTES), BYTES);
  char *start = map(MAP_PRIVATE, fd);
  assert_false(hwi_os_map_zeros(start, BYTES));
  char *anonymous = mmap(start, BYTES / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  assert_ptr_equal(anonymous, start);
  assert_false(hwi_os_map_zeros(start, BYTES)); /* only a part is of the file */
  munmap(start, BYTES);
  close(fd);
  unlink(path);
}

static void test_locked_memory(void **state)
{
  (void)state;
  char *start = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  assert_int_equal(syscall(SYS_mlock, start, HWI_OS_PAGE_BYTES), 0); /* a sanitizer's mlock locks nothing */
  assert_false(hwi_os_map_zeros(start, BYTES));
  munmap(start, BYTES);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_private_memory),
      cmocka_unit_test(test_shared_memory),
      cmocka_unit_test(test_memory_of_a_file),
      cmocka_unit_test(test_locked_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
