/* test_saved.c - a report saved as JSON is read back unchanged, or not at all when memory runs out
 *
 * Breaks if inlined frames become callers, if omitted frames get a name, or if a pause is taken for the end; if a
 * result of malloc is not checked; or if memory is not freed after an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/failing_malloc.h"
#include "report/content/evidence.h"
#include "report/json/saved.h"
#include "report/names/named_frames.h"
#include "saved_sample.h"

enum { CALLS_MOST = 5000 };
static char path[] = "/tmp/hw-test-saved-XXXXXX";

static void check_frames(const struct hwi_saved *saved)
{
  static const struct {
    const char *function, *module;
    uint32_t line;
    bool inlined;
  } expected[] = {{"make", "/a", 3, true}, {"load", "/a", 9, false}, {NULL, "", 0, false}, {"main", "/a", 20, false}};
  const struct hwi_report report = {.profile = &saved->profile, .names = saved->names};
  struct hwi_named_frames frames;
  assert_int_equal(hwi_named_frames_init(&frames, &report, NULL), 0);
  assert_int_equal(hwi_named_frames_load(&frames, 1, NULL), 0);
  assert_int_equal(frames.count, 4);
  for (uint32_t i = 0; i < frames.count; i++) {
    const struct hwi_symbol *symbol = frames.items[i].symbol;
    assert_string_equal(hwi_module_path(&saved->profile, frames.items[i].module), expected[i].module);
    if (symbol == NULL) {
      assert_null(expected[i].function);
      assert_int_equal(frames.items[i].address, 5);
      continue;
    }
    assert_string_equal(symbol->function, expected[i].function);
    assert_int_equal(symbol->line, expected[i].line);
    assert_int_equal(symbol->inlined, expected[i].inlined);
  }
  assert_int_equal(hwi_named_frames_load(&frames, 2, NULL), 0);
  assert_null(frames.items[0].symbol->function);
  assert_int_equal(frames.items[0].symbol->reason, HWI_SYMBOL_STRIPPED);
  assert_int_equal(frames.items[0].symbol->start, 64);
  hwi_named_frames_release(&frames);
}

static void count_silence(void *context, const struct hwi_silence *silence)
{
  *(uint64_t *)context += silence->from_ns * (silence->to_ns == UINT64_MAX ? 1000 : silence->to_ns);
}

static void check_run(const struct hwi_saved *saved)
{
  const struct hwi_profile *profile = &saved->profile;
  assert_int_equal(profile->totals.allocated_bytes, 1200);
  assert_int_equal(profile->totals.peak_bytes, 900);
  assert_int_equal(profile->image_count, 2);
  assert_int_equal(hwi_evidence_of(profile).lost_events, 2);
  uint64_t sum = 0;
  hwi_evidence_silences(profile->images[0].info, count_silence, &sum);
  assert_int_equal(sum, 5 * 9 + 50 * 1000);
  assert_memory_equal(profile->threads[1].name, "worker of a long", 16);
  assert_int_equal(profile->modules[1].build_id_bytes, 3);
  assert_memory_equal(profile->modules[1].build_id, "\0\xff\x10", 3);
  assert_int_equal(saved->stacks_left_out, 1);
  assert_int_equal(profile->stack_count, 4);
  assert_int_equal(saved->rest, 3);
  assert_int_equal(profile->stacks[3].calls, 1);
  assert_int_equal(profile->stacks[3].peak_bytes, 100);
  assert_int_equal(profile->stacks[3].failed_calls, 1);
  assert_int_equal(profile->stacks[3].frame, 0);
}

static void test_sample(void **state)
{
  (void)state;
  struct hwi_saved *saved;
  struct hwi_error error = {.text = ""};
  assert_true(hwi_saved_is(path));
  assert_int_equal(hwi_saved_create(&saved, path, NULL, &error), 0);
  check_run(saved);
  check_frames(saved);
  hwi_saved_destroy(saved);
}

/* Returns false if no call failed. */
static bool check_failing(uint64_t calls, uint64_t failures)
{
  struct hwi_error error = {.text = ""};
  struct hwi_saved *saved = NULL;
  failing_malloc_arm(calls, failures);
  int status = hwi_saved_create(&saved, path, NULL, &error);
  failing.failures = 0;
  bool has_failed = failing.failed;
  if (status == 0) {
    failing_malloc_disarm();
    check_run(saved);
    check_frames(saved);
    failing.armed = true;
  }
  hwi_saved_destroy(saved);
  failing_malloc_disarm();
  assert_int_equal(failing_malloc_leaks(), 0);
  if (status < 0 && (!has_failed || error.text[0] == '\0'))
    fail_msg("call %llu: status %d, %s", (unsigned long long)calls, status, error.text);
  return has_failed;
}

static void test_no_memory(void **state)
{
  (void)state;
  assert_false(check_failing(UINT64_MAX, 1));
  uint64_t calls = 0;
  for (; check_failing(calls, 1); calls++) {
    check_failing(calls, UINT64_MAX);
    assert_true(calls < CALLS_MOST);
  }
  assert_true(calls > 100);
}

int main(void)
{
  int fd = mkstemp(path);
  if (fd < 0 || write(fd, saved_sample, sizeof saved_sample - 1) != (ssize_t)sizeof saved_sample - 1)
    return 1;
  close(fd);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sample),
      cmocka_unit_test(test_no_memory),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
