/* test_config_file.c - a config file with any contents does not harm the process that reads it at its start
 *
 * Breaks if a file of garbage makes a program crash, or sets a field to what the file does not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocators/process_heap/config_file.c"

enum { TEXT_BYTES = 400, ROUNDS = 1000 };

static char path[64];
static struct hwi_heap_settings settings;
static struct hwi_config_lines lines;

static void read_text(const char *text, size_t bytes)
{
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, bytes, file), bytes);
  assert_int_equal(fclose(file), 0);
  memset(&settings, 0, sizeof settings);
  hwi_config_file_read(&settings, &lines, path);
}

/* The messages are tested in tests/tune/test_classes.py. */
static int silence(void **state)
{
  (void)state;
  int nothing = open("/dev/null", O_WRONLY);
  snprintf(path, sizeof path, "/tmp/hw-test-config-file-%d.conf", (int)getpid());
  return nothing < 0 || dup2(nothing, STDERR_FILENO) < 0;
}

static int clean(void **state)
{
  (void)state;
  return unlink(path);
}

static unsigned random_below(unsigned limit)
{
  static uint64_t state = 20220607;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (unsigned)((state >> 33) % limit);
}

static void test_what_is_read(void **state)
{
  (void)state;
  static const char text[] =
      "# classes\nclass_bytes 16 4K,32K\n\n  threads\tcentral # no caches\r\nkeep_free_bytes=64M\ncheck_all_frees = 1";
  read_text(text, sizeof text - 1);
  assert_int_equal(settings.config.class_count, 3);
  assert_int_equal(settings.config.class_bytes[1], 4096);
  assert_int_equal(settings.config.threads, HW_HEAP_CENTRAL);
  assert_int_equal(settings.config.keep_free_bytes, 64 << 20);
  unsigned sum = 0;
  for (size_t i = 0; i < HWI_HEAP_FIELDS; i++)
    sum += lines.of[i];
  assert_true(settings.config.check_all_frees);
  assert_int_equal(sum, 2 + 4 + 5 + 6);
  assert_true(hwi_heap_config_check(&settings.config, NULL));
}

/* Parts of right files in any order, with bytes changed. */
static size_t garble(char text[TEXT_BYTES])
{
  static const char *const parts[] = {"class_bytes",
                                      "page_bytes",
                                      "threads",
                                      "lock",
                                      "16",
                                      "64K",
                                      "32768",
                                      ",",
                                      " ",
                                      "\t",
                                      "\n",
                                      "\n",
                                      "\n",
                                      "#",
                                      "default",
                                      "central",
                                      "99999999999999999999",
                                      "-1",
                                      "0",
                                      "=",
                                      "returns",
                                      "\r"};
  size_t bytes = 0;
  for (unsigned left = random_below(40); left > 0; left--) {
    const char *part = parts[random_below(sizeof parts / sizeof *parts)];
    if (bytes + strlen(part) + 1 >= TEXT_BYTES)
      break;
    bytes += (size_t)snprintf(text + bytes, TEXT_BYTES - bytes, "%s%s", part, random_below(3) ? " " : "");
  }
  for (unsigned left = random_below(3); left > 0 && bytes > 0; left--)
    text[random_below((unsigned)bytes)] = (char)random_below(256);
  return bytes;
}

static void test_garbage(void **state)
{
  (void)state;
  char text[TEXT_BYTES];
  int with_fields = 0;
  for (int round = 0; round < ROUNDS; round++) {
    read_text(text, garble(text));
    bool has_any = false;
    for (size_t i = 0; i < HWI_HEAP_FIELDS; i++) {
      const struct hwi_heap_field *field = &hwi_heap_fields[i];
      const size_t value = field->kind == HWI_FIELD_LIST ? hwi_heap_field_count(&settings.config, field)
                                                         : hwi_heap_field_value(&settings.config, field);
      assert_true(lines.of[i] || value == 0);
      assert_true(field->kind != HWI_FIELD_LIST || value <= HW_HEAP_MOST_CLASSES);
      has_any |= lines.of[i] != 0;
    }
    with_fields += has_any;
    struct hw_heap_error error = {.field = "none"};
    if (!hwi_heap_config_check(&settings.config, &error))
      assert_non_null(error.rule);
  }
  assert_true(with_fields > ROUNDS / 100); /* the files are not all refused at once */
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_read), cmocka_unit_test(test_garbage)};
  return cmocka_run_group_tests(tests, silence, clean);
}
