/* test_mapping.c - which mapping belongs to a trace
 *
 * Breaks if, where the name of an open trace cannot be read, each mapping without a name counts as one of it. Then a
 * trace counts as being written though its process has left it.
 */
#include "platform/linux/tools/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct hwi_os_mapping parse(const char *text)
{
  static char line[128];
  struct hwi_os_mapping mapping;
  snprintf(line, sizeof line, "%s", text);
  assert_true(hwi_proc_parse_mapping(line, &mapping));
  return mapping;
}

static void test_a_file_is_known_by_its_inode_or_name(void **state)
{
  (void)state;
  const struct hwi_os_mapping mapping = parse("1000-2000 rw-s 00000000 08:01 77    /tmp/a.hwt\n");
  assert_true(hwi_os_mapping_is_of(&mapping, &(struct hwi_os_file){"/elsewhere/b.hwt", 77}));
  assert_true(hwi_os_mapping_is_of(&mapping, &(struct hwi_os_file){"", 77}));
  assert_true(hwi_os_mapping_is_of(&mapping, &(struct hwi_os_file){"/elsewhere/a.hwt", 78}));
  assert_false(hwi_os_mapping_is_of(&mapping, &(struct hwi_os_file){"/elsewhere/b.hwt", 78}));
  assert_false(hwi_os_mapping_is_of(&mapping, &(struct hwi_os_file){"", 78}));
}

static void test_memory_without_a_file_is_no_trace(void **state)
{
  (void)state;
  const struct hwi_os_mapping anonymous = parse("1000-2000 rw-p 00000000 00:00 0 \n");
  assert_false(hwi_os_mapping_is_of(&anonymous, &(struct hwi_os_file){"", 77}));
  assert_false(hwi_os_mapping_is_of(&anonymous, &(struct hwi_os_file){"", 0}));
  const struct hwi_os_mapping heap = parse("1000-2000 rw-p 00000000 00:00 0    [heap]\n");
  assert_false(hwi_os_mapping_is_of(&heap, &(struct hwi_os_file){"/tmp/[heap]", 77}));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_file_is_known_by_its_inode_or_name),
      cmocka_unit_test(test_memory_without_a_file_is_no_trace),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
