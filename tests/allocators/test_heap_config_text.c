/* test_heap_config_text.c - the fields of a general heap's config as text: what is printed can be read, and garbage changes nothing
 *
 * Breaks if a value is read as another one, if text that is no value is accepted or changes the config, or if the check accepts
 * what a heap cannot have.
 */
#include "allocators/heap/config.h"
#include "allocators/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 88172645463325252u;

static size_t any(size_t below)
{
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (size_t)(seed % below);
}

static const char *text_of(const struct hw_heap_config *config, const struct hwi_heap_field *field)
{
  static struct hwi_message line;
  line.bytes = 0;
  hwi_heap_field_print(&line, config, field);
  line.text[line.bytes] = 0;
  return line.text;
}

static void fields_are_found_by_both_names(void **state)
{
  (void)state;
  for (size_t i = 0; i < HWI_HEAP_FIELDS; i++) {
    const struct hwi_heap_field *field = &hwi_heap_fields[i];
    assert_ptr_equal(hwi_heap_field_find(field->name), field);
    assert_ptr_equal(hwi_heap_field_find(field->variable), field);
    assert_non_null(field->rule);
    assert_int_equal(field->kind == HWI_FIELD_LIST, i < HWI_HEAP_LISTS);
    if (strcmp(field->variable, "HEAPWRIGHT_CHECK") != 0) /* which the pool has, too */
      assert_int_equal(strlen(field->variable), strlen("HEAPWRIGHT_HEAP_") + strlen(field->name));
  }
  assert_null(hwi_heap_field_find(""));
  assert_null(hwi_heap_field_find("class_byte"));
}

static void values_are_read(void **state)
{
  (void)state;
  static const struct {
    const char *name, *text, *printed; /* NULL: refused */
  } cases[] = {
      {"class_bytes", "16", "16"},
      {"class_bytes", " 16,\t32  ,1K", "16,32,1024"},
      {"class_bytes", "16 32,64 ", "16,32,64"},
      {"class_bytes", "", NULL},
      {"class_bytes", ",", NULL},
      {"class_bytes", ",16", NULL},
      {"class_bytes", "16,,32", NULL},
      {"class_bytes", "16, ,32", NULL},
      {"class_bytes", "16, ", NULL},
      {"class_bytes", "16;32", NULL},
      {"class_bytes", "16,x", NULL},
      {"arena_bytes", "8M", "8388608"},
      {"arena_bytes", "8M ", NULL},
      {"arena_bytes", "", NULL},
      {"arena_bytes", "-4M", NULL},
      {"arena_bytes", "16E", NULL},
      {"arena_align_bytes", "1G", "1073741824"},
      {"arena_growth_percent", "0", "0"},
      {"arena_growth_percent", "100", "100"},
      {"arena_growth_percent", "default", "0"},
      {"arena_growth_percent", "-1", NULL},
      {"threads", "central", "central"},
      {"threads", "Central", NULL},
      {"lock", "none", "none"},
      {"threads", "", NULL},
      {"touch", "1", "1"},
      {"touch", "01", NULL},
      {"numa_node", "0", "0"},
      {"numa_node", "7", "7"},
      {"numa_node", "default", "default"},
      {"numa_node", "any", "default"},
      {"arena_bytes", "any", NULL},
      {"numa_node", "18446744073709551615", NULL},
      {"keep_free_bytes", "0", NULL},
      {"returns", "at-once", "at-once"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hwi_heap_settings settings = {0};
    const struct hwi_heap_field *field = hwi_heap_field_find(cases[i].name);
    bool is_read = hwi_heap_field_read(&settings, field, cases[i].text);
    assert_int_equal(is_read, cases[i].printed != NULL);
    if (is_read)
      assert_string_equal(text_of(&settings.config, field), cases[i].printed);
  }
}

/* Whatever is accepted is printed as text that gives the same. */
static void garbage_changes_nothing(void **state)
{
  (void)state;
  enum { TIMES = 200000, BYTES = 24 };
  static const char letters[] = "0123456789KMGiB, \t.-defaultcnrsigzo\x01\xff";
  static struct hwi_heap_settings settings, before, again;
  int accepted = 0;
  for (int i = 0; i < TIMES; i++) {
    const struct hwi_heap_field *field = &hwi_heap_fields[any(HWI_HEAP_FIELDS)];
    char text[BYTES + 1] = "";
    size_t bytes = any(BYTES);
    for (size_t k = 0; k < bytes; k++)
      text[k] = letters[any(any(2) ? 12 : sizeof letters - 1)];
    before = settings;
    if (!hwi_heap_field_read(&settings, field, text)) {
      assert_memory_equal(&settings, &before, sizeof settings);
      continue;
    }
    accepted++;
    char printed[sizeof((struct hwi_message *)0)->text];
    snprintf(printed, sizeof printed, "%s", text_of(&settings.config, field));
    again = before;
    assert_true(hwi_heap_field_read(&again, field, printed));
    assert_string_equal(text_of(&again.config, field), printed);
    hwi_heap_config_check(&settings.config, NULL);
    if (any(4) == 0)
      hwi_heap_field_clear(&settings, field);
  }
  assert_true(accepted > TIMES / 100);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_are_found_by_both_names),
      cmocka_unit_test(values_are_read),
      cmocka_unit_test(garbage_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
