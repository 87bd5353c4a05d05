/* test_json.c - the JSON report: its fields are an interface on which scripts and CI depend */
#include <jansson.h>
#include <stdlib.h>

#include "sample_selection.h"

static json_t *document;

static int end(void **state)
{
  (void)state;
  json_decref(document);
  document = NULL;
  return 0;
}

static void load(void)
{
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  assert_non_null(out);
  assert_int_equal(hwi_report_json(&report, out, NULL), 0);
  fclose(out);
  json_error_t error;
  json_decref(document);
  document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (document == NULL)
    fail_msg("%s at %d:%d", error.text, error.line, error.column);
  free(text);
}

static json_int_t number(const json_t *object, const char *key)
{
  const json_t *value = json_object_get(object, key);
  if (!json_is_integer(value))
    fail_msg("%s is not an integer", key);
  return json_integer_value(value);
}

static const char *text(const json_t *object, const char *key)
{
  const json_t *value = json_object_get(object, key);
  if (!json_is_string(value))
    fail_msg("%s is not a string", key);
  return json_string_value(value);
}

static void the_promised_fields_are_there(void **state)
{
  static const char *const numbers[] = {"pid",          "duration_ns",        "threads",           "allocation_calls",
                                        "free_calls",   "failed_calls",       "allocated_bytes",   "peak_bytes",
                                        "peak_time_ns", "live_blocks_at_end", "live_bytes_at_end", "temporary_calls",
                                        "lost_events",  "truncated_stacks"};
  static const char *const lists[] = {"top", "sizes", "timeline", "by_thread", "images", "modules"};
  (void)state;
  load();
  assert_string_equal(text(document, "schema"), "heapwright-report/1");
  assert_string_equal(text(document, "command"), sample.info.command);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    number(document, numbers[i]);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    if (!json_is_array(json_object_get(document, lists[i])) ||
        json_array_size(json_object_get(document, lists[i])) == 0)
      fail_msg("%s is not a list, or it is empty", lists[i]);
  }
  assert_int_equal(number(document, "allocation_calls"), 12481903);
  assert_int_equal(number(document, "peak_time_ns"), 431200000000);
  assert_int_equal(number(document, "threads"), 3);
}

static void top_is_complete_and_never_folded(void **state)
{
  static const char *const numbers[] = {"calls", "bytes", "peak_bytes", "own_peak_bytes", "live_bytes"};
  (void)state;
  load();
  const json_t *top = json_object_get(document, "top");
  assert_int_equal(json_array_size(top), SAMPLE_STACKS - 1);
  json_int_t peak = 0;
  for (size_t i = 0; i < json_array_size(top); i++) {
    const json_t *row = json_array_get(top, i);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
      number(row, numbers[k]);
    peak += number(row, "peak_bytes");
  }
  assert_int_equal(peak, number(document, "peak_bytes")); /* the parts add up to it */
  const json_t *stack = json_object_get(json_array_get(top, 2), "stack");
  const json_t *wrapper = json_array_get(stack, 0), *caller = json_array_get(stack, 1);
  assert_string_equal(text(wrapper, "function"), "std::__new_allocator<float>::allocate(unsigned long, void const*)");
  assert_true(json_is_true(json_object_get(wrapper, "inlined")));
  assert_int_equal(number(wrapper, "line"), 137);
  assert_string_equal(text(caller, "file"), "/home/ana/ws/src/perception/src/voxel.cpp");
  assert_string_equal(text(caller, "module"), "/home/ana/ws/install/lib/libperception.so");
  assert_int_equal(number(caller, "address"), 0x20030);
  const json_t *outermost = json_array_get(stack, json_array_size(stack) - 1);
  assert_string_equal(text(outermost, "function"), "_start");
}

static void unknown_is_null_with_a_reason(void **state)
{
  (void)state;
  load();
  const json_t *stack = json_object_get(json_array_get(json_object_get(document, "top"), 3), "stack");
  const json_t *frame = json_array_get(stack, 1);
  assert_true(json_is_null(json_object_get(frame, "function")));
  assert_true(json_is_null(json_object_get(frame, "file")));
  assert_true(json_is_null(json_object_get(frame, "line")));
  assert_string_equal(text(frame, "reason"), hwi_symbol_reason_text(HWI_SYMBOL_STRIPPED));
}

static void what_is_asked_for_is_what_comes(void **state)
{
  (void)state;
  report.options.top = 2;
  report.options.cost = HWI_COST_CALLS;
  report.options.by = HWI_BY_FUNCTION;
  load();
  assert_string_equal(text(document, "cost"), "calls");
  assert_int_equal(json_array_size(json_object_get(document, "top")), 2);
  assert_int_equal(number(json_array_get(json_object_get(document, "top"), 0), "calls"), 12405161);
  const json_t *group = json_array_get(json_object_get(document, "by_function"), 0);
  assert_int_equal(number(json_object_get(group, "self"), "calls"), 12405161);
  assert_int_equal(number(document, "stacks"), SAMPLE_STACKS - 1);
}

static void leaks_leave_the_runtime_out(void **state)
{
  (void)state;
  report.options.leaks = true;
  load();
  assert_int_equal(json_array_size(json_object_get(document, "top")), 3);
  assert_int_equal(number(json_object_get(document, "runtime_blocks"), "live_bytes"), 72704);
  assert_int_equal(number(document, "live_blocks_at_end"), 61132);
}

/* A name may be any bytes: the document stays JSON in UTF-8. */
static void garbage_stays_json(void **state)
{
  (void)state;
  sample.info.command = "\xff\xfe \"quoted\" \\ \033[31m\n\x01";
  memcpy(sample.threads[0].name, "\xc3\x28 sixteen bytes", sizeof sample.threads[0].name);
  load();
  assert_string_equal(text(document, "command"), "\xef\xbf\xbd\xef\xbf\xbd \"quoted\" \\ \033[31m\n\x01");
}

static void frames_left_out_are_said(void **state)
{
  (void)state;
  uint32_t cut = sample.stacks[6].frame;
  sample.frames[cut] = (struct hwi_frame){.address = 98976, .cut = true, .caller = sample.frames[cut].caller};
  report.options.cost = HWI_COST_CALLS;
  load();
  const json_t *row = json_array_get(json_object_get(document, "top"), 3);
  assert_int_equal(number(row, "calls"), 73);
  assert_int_equal(number(json_array_get(json_object_get(row, "stack"), 0), "frames_left_out"), 98976);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_promised_fields_are_there, begin, end),
      cmocka_unit_test_setup_teardown(top_is_complete_and_never_folded, begin, end),
      cmocka_unit_test_setup_teardown(unknown_is_null_with_a_reason, begin, end),
      cmocka_unit_test_setup_teardown(what_is_asked_for_is_what_comes, begin, end),
      cmocka_unit_test_setup_teardown(leaks_leave_the_runtime_out, begin, end),
      cmocka_unit_test_setup_teardown(garbage_stays_json, begin, end),
      cmocka_unit_test_setup_teardown(frames_left_out_are_said, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
