/* test_smaps.c - memory in smaps is counted once and with the correct kind
 *
 * Breaks if a mapping that grew or was merged with others while smaps was read counts twice, so that a process seems to
 * have had more resident memory than it ever had; or if such a heap is taken for a stack or is left out, because the
 * memory below it was listed before.
 */
#include "platform/linux/tools/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

enum { KB = 1024, JOINED = 12 };

static struct hwi_os_memory_use read_text(const char *text)
{
  struct hwi_os_memory_use use;
  struct hwi_os_file trace = {"/tmp/a.hwt", 77};
  FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
  assert_non_null(file);
  hwi_proc_read_smaps(file, &trace, "librec.so", &use);
  fclose(file);
  return use;
}

#define FLAGS "VmFlags: rd wr mr mw me ac sd\n"
#define ANONYMOUS(range, rights, kb) range " " rights " 00000000 00:00 0 \nRss:      " kb " kB\nPss: 0 kB\n" FLAGS
#define FILE_OF(range, rights, inode, name, kb) \
  range " " rights " 00000000 08:01 " inode "    " name "\nRss: " kb " kB\n" FLAGS

static void test_each_use(void **state)
{
  (void)state;
  struct hwi_os_memory_use use =
      read_text(FILE_OF("400000-500000", "r-xp", "5", "/bin/a", "100")
                    ANONYMOUS("500000-510000", "rw-p", "8") /* its zeroed data */
                FILE_OF("600000-700000", "rw-s", "77", "/tmp/a.hwt", "16")
                    FILE_OF("700000-800000", "r-xp", "6", "/lib/librec.so",
                            "32") "900000-a00000 rw-p 00000000 00:00 0    [heap]\nRss: 64 kB\n" FLAGS
                        ANONYMOUS("7f0000001000-7f0000002000", "---p", "0") /* a guard */
                ANONYMOUS("7f0000002000-7f0000802000", "rw-p", "24")
                    ANONYMOUS("7f0001000000-7f0001100000", "rw-p",
                              "256") "7ffc00000000-7ffc00100000 rw-p 00000000 00:00 0    [stack]\nRss: 40 kB\n" FLAGS);
  assert_int_equal(use.mapped, (100 + 8 + 16 + 32 + 64 + 24 + 256 + 40) * KB);
  assert_int_equal(use.files, (100 + 8) * KB);
  assert_int_equal(use.recorder, (16 + 32) * KB);
  assert_int_equal(use.stacks, (24 + 40) * KB);
  assert_int_equal(use.heap, (64 + 256) * KB);
  assert_int_equal(use.large, 256 * KB);
  assert_int_equal(use.untouched, (1024 - 256) * KB);
}

/* An arena, whose address space gets its access rights piece by piece. */
static void test_one_that_grows_is_told_twice(void **state)
{
  (void)state;
  struct hwi_os_memory_use use = read_text(
      ANONYMOUS("7f0000000000-7f0000100000", "rw-p", "1000") ANONYMOUS("7f0000000000-7f0000200000", "rw-p", "2000")
          ANONYMOUS("7f0000000000-7f0000300000", "rw-p", "3000") ANONYMOUS("7f0000300000-7f0004000000", "---p", "0"));
  assert_int_equal(use.mapped, 3000 * KB);
  assert_int_equal(use.heap, 3000 * KB);
}

/* The memory after it was listed with its state of that time. */
static void test_one_that_joins_what_was_told(void **state)
{
  (void)state;
  struct hwi_os_memory_use use = read_text(
      FILE_OF("400000-500000", "r-xp", "5", "/bin/a", "100") ANONYMOUS("7f0000000000-7f0000100000", "rw-p", "1000")
          ANONYMOUS("7f0000100000-7f0000200000", "---p", "0") ANONYMOUS("7f0000000000-7f0000300000", "rw-p", "3000"));
  assert_int_equal(use.mapped, 3100 * KB);
  assert_int_equal(use.heap, 3000 * KB);
  assert_int_equal(use.files, 100 * KB);
}

/* Blocks that libc maps side by side; their untouched parts also count once. */
static void test_one_that_joins_many(void **state)
{
  (void)state;
  char text[JOINED * 200] = "";
  for (int i = 0; i < JOINED; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "7f00001%02x000-7f00001%02x000 rw-p 00000000 00:00 0 \nRss: 4 kB\n" FLAGS, i * 2, i * 2 + 1);
  snprintf(text + strlen(text), sizeof text - strlen(text), ANONYMOUS("7f0000100000-7f0000200000", "rw-p", "200"));
  struct hwi_os_memory_use use = read_text(text);
  assert_int_equal(use.mapped, 200 * KB);
  assert_int_equal(use.large, 200 * KB);
  assert_int_equal(use.untouched, (1024 - 200) * KB);
}

/* A thread's stack is still one when it is listed again; the same holds for the data of a file. */
static void test_what_it_is_for_is_told_by_what_lies_below(void **state)
{
  (void)state;
  struct hwi_os_memory_use use =
      read_text(FILE_OF("400000-500000", "rw-p", "5", "/bin/a", "100") ANONYMOUS("500000-510000", "rw-p", "8")
                    ANONYMOUS("500000-520000", "rw-p", "16") ANONYMOUS("7f0000001000-7f0000002000", "---p", "0")
                        ANONYMOUS("7f0000002000-7f0000402000", "rw-p", "24")
                            ANONYMOUS("7f0000002000-7f0000802000", "rw-p", "48"));
  assert_int_equal(use.mapped, (100 + 16 + 48) * KB);
  assert_int_equal(use.files, (100 + 16) * KB);
  assert_int_equal(use.stacks, 48 * KB);
  assert_int_equal(use.heap, 0);
}

/* The mapping below has gone since: it is not counted twice, and the memory before it is not left out. */
static void test_one_that_begins_within_what_was_told(void **state)
{
  (void)state;
  struct hwi_os_memory_use use = read_text(ANONYMOUS("600000-610000", "rw-p", "64") ANONYMOUS(
      "610000-620000", "r--p", "64") ANONYMOUS("618000-640000", "rw-p", "128"));
  assert_int_equal(use.mapped, (64 + 128) * KB);
  assert_int_equal(use.heap, (64 + 128) * KB);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_use),
      cmocka_unit_test(test_one_that_grows_is_told_twice),
      cmocka_unit_test(test_one_that_joins_what_was_told),
      cmocka_unit_test(test_one_that_joins_many),
      cmocka_unit_test(test_what_it_is_for_is_told_by_what_lies_below),
      cmocka_unit_test(test_one_that_begins_within_what_was_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
