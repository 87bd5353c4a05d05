/* test_nvtx_texts.c - numbers in the calls of NVTX. Breaks if what is no number of an instance gets into the trace. */
#include "record/collectors/nvtx_texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_a_payload_that_is_no_number_changes_nothing(void **state)
{
  static const struct hwi_nvtx_event events[] = {
      {.payload_type = HWI_NVTX_PAYLOAD_I64, .payload.i64 = -1},
      {.payload_type = HWI_NVTX_PAYLOAD_I32, .payload.i32 = -1},
      {.payload_type = HWI_NVTX_PAYLOAD_DOUBLE, .payload.whole = 7.5},
      {.payload_type = HWI_NVTX_PAYLOAD_FLOAT, .payload.single = -7},
      {.payload_type = 0, .payload.u64 = 7},
  };
  (void)state;
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
    uint64_t number = 0;
    assert_false(hwi_nvtx_payload(&events[i], &number));
    assert_int_equal(number, 0);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_payload_that_is_no_number_changes_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
