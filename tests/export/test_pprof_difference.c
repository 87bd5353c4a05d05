/* test_pprof_difference.c - what changed from one profile to another, and bytes that are no profile
 *
 * Breaks if a sample of one profile is taken for another one of the other, or if damaged bytes are read beyond their end.
 */
#include "export/pprof/pprof_difference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/pprof/pprof_fields.h"
#include "export/pprof/protobuf.h"

enum { VALUES = 4 };

/* A profile of one sample, whose function is the last of `names`, and is number `id`. */
static void make(struct hwi_protobuf_message *whole, const char *const *names, uint32_t count, uint64_t id,
                 uint64_t bytes)
{
  struct hwi_protobuf_message part = {0}, inner = {0};
  hwi_protobuf_item(whole, PROFILE_STRING, "");
  for (uint32_t i = 0; i < count; i++)
    hwi_protobuf_item(whole, PROFILE_STRING, names[i]);
  hwi_protobuf_number(&part, FUNCTION_ID, id);
  hwi_protobuf_number(&part, FUNCTION_NAME, count);
  hwi_protobuf_nested(whole, PROFILE_FUNCTION, &part);
  hwi_protobuf_number(&part, LOCATION_ID, id + 7);
  hwi_protobuf_number(&part, LOCATION_ADDRESS, 4096);
  hwi_protobuf_number(&inner, LINE_FUNCTION, id);
  hwi_protobuf_nested(&part, LOCATION_LINE, &inner);
  hwi_protobuf_nested(whole, PROFILE_LOCATION, &part);
  hwi_protobuf_packed(&inner, id + 7);
  hwi_protobuf_nested(&part, SAMPLE_LOCATIONS, &inner);
  for (int i = 0; i < VALUES; i++)
    hwi_protobuf_packed(&inner, bytes);
  hwi_protobuf_nested(&part, SAMPLE_VALUES, &inner);
  hwi_protobuf_nested(whole, PROFILE_SAMPLE, &part);
  hwi_protobuf_number(whole, PROFILE_TIME_NS, 1000);
  hwi_protobuf_number(whole, PROFILE_DURATION_NS, 500 + bytes);
  hwi_protobuf_release(&part);
  hwi_protobuf_release(&inner);
}

/* Returns the status, and with `size` the bytes of the result. */
static int compare(const struct hwi_protobuf_message *earlier, const struct hwi_protobuf_message *later, size_t *size)
{
  char *text = NULL;
  struct hwi_error error = {0};
  FILE *one = fmemopen(earlier->bytes, earlier->count, "r"), *other = fmemopen(later->bytes, later->count, "r");
  FILE *out = open_memstream(&text, size);
  assert_true(one && other && out);
  const int status = hwi_pprof_difference(one, other, out, &error);
  fclose(one);
  fclose(other);
  fclose(out);
  free(text);
  return status;
}

static void other_numbers_are_the_same_sample(void **state)
{
  static const char *const first[] = {"a", "f"}, *const second[] = {"x", "y", "z", "f"};
  struct hwi_protobuf_message earlier = {0}, same = {0}, other = {0};
  size_t size_of_same, size_of_other;
  (void)state;
  make(&earlier, first, 2, 1, 100);
  make(&same, second, 4, 3, 100);  /* no sample is left */
  make(&other, second, 4, 3, 200); /* one is */
  assert_int_equal(compare(&earlier, &same, &size_of_same), 0);
  assert_int_equal(compare(&earlier, &other, &size_of_other), 0);
  assert_true(size_of_same < size_of_other);
  hwi_protobuf_release(&earlier);
  hwi_protobuf_release(&same);
  hwi_protobuf_release(&other);
}

/* Each byte of a profile in turn is changed, and the profile is cut at each byte. */
static void damaged_bytes_harm_nothing(void **state)
{
  static const char *const names[] = {"a", "f"};
  struct hwi_protobuf_message whole = {0}, damaged = {0};
  size_t size;
  (void)state;
  make(&whole, names, 2, 1, 100);
  for (size_t i = 0; i < whole.count; i++) {
    for (unsigned bit = 0; bit < 8; bit++) {
      hwi_protobuf_append(&damaged, whole.bytes, whole.count);
      damaged.bytes[i] ^= (uint8_t)(1U << bit);
      (void)compare(&whole, &damaged, &size);
      damaged.count = 0;
    }
    if (i > 0) {
      hwi_protobuf_append(&damaged, whole.bytes, i);
      (void)compare(&damaged, &whole, &size);
      damaged.count = 0;
    }
  }
  hwi_protobuf_release(&whole);
  hwi_protobuf_release(&damaged);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_numbers_are_the_same_sample),
      cmocka_unit_test(damaged_bytes_harm_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
