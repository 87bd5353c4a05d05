/* test_program.c - breaks if a program of the recorder's own kind is refused, or one of another kind is not
 *
 * The program is this test: its first bytes are copied and changed.
 */
#include "launch/target/program.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { HEAD_BYTES = 4096, OTHER_CLASS = sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64, MACHINE_AT = 18 };

/* Returns what is said of a program that begins as this one, but for one byte. */
static enum hwi_obstacle obstacle_with(size_t at, int change)
{
  char path[64];
  uint8_t head[HEAD_BYTES];
  FILE *own = fopen("/proc/self/exe", "r");
  assert_non_null(own);
  assert_int_equal(fread(head, 1, sizeof head, own), sizeof head);
  fclose(own);
  head[at] = (uint8_t)change;
  snprintf(path, sizeof path, "/tmp/heapwright-test-program-%d", (int)getpid());
  FILE *copy = fopen(path, "w");
  assert_non_null(copy);
  assert_int_equal(fwrite(head, 1, sizeof head, copy), sizeof head);
  assert_int_equal(fclose(copy), 0);
  const enum hwi_obstacle obstacle = hwi_program_obstacle(path);
  unlink(path);
  return obstacle;
}

#if defined HW_SANITIZED_ADDRESS || defined HW_SANITIZED_THREAD
enum { OWN_OBSTACLE = HWI_OBSTACLE_SANITIZER };
#else
enum { OWN_OBSTACLE = HWI_OBSTACLE_NONE };
#endif

static void test_one_of_this_kind(void **state)
{
  (void)state;
  assert_int_equal(hwi_program_obstacle("/proc/self/exe"), OWN_OBSTACLE);
}

static void test_one_of_another_size_of_words(void **state)
{
  (void)state;
  assert_int_equal(obstacle_with(EI_CLASS, OTHER_CLASS),
                   OTHER_CLASS == ELFCLASS32 ? HWI_OBSTACLE_32_BIT : HWI_OBSTACLE_MACHINE);
}

static void test_one_of_another_cpu(void **state)
{
  (void)state;
  assert_int_equal(obstacle_with(MACHINE_AT, EM_SPARC), HWI_OBSTACLE_MACHINE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_of_this_kind),
      cmocka_unit_test(test_one_of_another_size_of_words),
      cmocka_unit_test(test_one_of_another_cpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
