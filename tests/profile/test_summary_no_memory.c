/* test_summary_no_memory.c - a report that runs out of memory while it reads or writes a summary is correct or reports
 * the error
 *
 * Breaks if a result of malloc is not checked; if a summary counts as read although it was not; if a part of a summary
 * or a temporary file is left; if memory is not freed after an error; or if a lack of memory is taken for damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "../trace/failing_malloc.h"
#include "profile/replay/span_replay.h"
#include "same_restored.c"
#include "words_of_program.c"

enum { CALLS_MOST = 3000 };
static const uint64_t T = 1000000;
static struct enc enc;
static char dir[] = "/tmp/hw-test-summary-memory-XXXXXX";
static const char trace[] = "a.hwt", summary[] = "a.hwt.sum";
static char *expected, *expected_part, *wanted;
static struct hwi_profile_options asked;
static const struct hwi_profile_options whole = {.summaries = true, .epoch_events = 15},
                                        part = {.summaries = true,
                                                .span = {.kind = HWI_SPAN_INTERVAL, .from_ns = 20, .to_ns = 270}};

static int make(struct hwi_profile **profile, struct hwi_error *error)
{
  return hwi_profile_create(profile, trace, &asked, error);
}

static void ask(struct hwi_profile_options options, char *text)
{
  asked = options;
  wanted = text;
}

/* Returns false if no call failed. */
static bool check_failing(uint64_t calls, uint64_t failures)
{
  struct hwi_error error = {.text = ""};
  struct hwi_profile *profile = NULL;
  failing_malloc_arm(calls, failures);
  int status = make(&profile, &error);
  failing.failures = 0;
  bool has_failed = failing.failed;
  if (status == 0) {
    failing_malloc_disarm();
    char *text = report_of(profile, true);
    assert_string_equal(text, wanted);
    free(text);
    failing.armed = true;
  }
  hwi_profile_destroy(profile);
  failing_malloc_disarm();
  if (failing_malloc_leaks())
    fail_msg("call %llu: %ld blocks are left", (unsigned long long)calls, failing_malloc_leaks());
  if (status < 0 && (!has_failed || !error.text[0]))
    fail_msg("call %llu: status %d, %s", (unsigned long long)calls, status, error.text);
  return has_failed;
}

static void remove_summary(void)
{
  unlink(summary);
  assert_int_equal(system("test -z \"$(ls | grep sum)\""), 0);
}

static void test_while_it_is_kept(void **state)
{
  (void)state;
  uint64_t calls = 0;
  ask(whole, expected);
  for (bool failed = true; failed; calls++) {
    failed = check_failing(calls, 1);
    remove_summary();
    check_failing(calls, UINT64_MAX);
    remove_summary();
    assert_true(calls < CALLS_MOST);
  }
  assert_true(calls > 1);
}

static void check_reading(struct hwi_profile_options options, char *text)
{
  ask(whole, expected);
  assert_false(check_failing(UINT64_MAX, 1));
  ask(options, text);
  uint64_t calls = 0;
  for (; check_failing(calls, 1); calls++) {
    check_failing(calls, UINT64_MAX);
    assert_int_equal(access(summary, F_OK), 0);
    assert_true(calls < CALLS_MOST);
  }
  assert_true(calls > 1);
  remove_summary();
}

static void test_while_it_is_read(void **state)
{
  (void)state;
  check_reading(whole, expected);
}

static void test_while_a_part_is_read(void **state)
{
  (void)state;
  check_reading(part, expected_part);
}

/* Replays the part from its epochs while the n-th call fails. Returns the status. */
static int replay_part(uint64_t calls)
{
  struct hwi_summary stored;
  struct hwi_epoch_file epochs = {0};
  struct hwi_run_replay run = {.options = &part, .summary = &stored};
  assert_int_equal(hwi_run_replay_begin(&run, trace), 0);
  hwi_summary_init(&stored, trace, &run.run, &part);
  assert_true(hwi_summary_load_epochs(&stored, run.result, run.images, &epochs));
  failing_malloc_arm(calls, 1);
  int status = hwi_span_replay(&run, &epochs);
  failing_malloc_disarm();
  hwi_epoch_file_release(&epochs);
  hwi_run_replay_end(&run);
  hwi_summary_release(&stored);
  hwi_run_release(&run.run);
  hwi_profile_destroy(&run.result->profile);
  return status;
}

/* Before, a replay without memory was taken for a damaged summary. */
static void test_the_cause_is_kept(void **state)
{
  (void)state;
  uint64_t calls = 0, errors = 0;
  ask(whole, expected);
  assert_false(check_failing(UINT64_MAX, 1));
  failing.failed = true;
  for (; failing.failed; calls++) {
    const int status = replay_part(calls);
    errors += status < 0;
    assert_true(status == 0 || (failing.failed && status == HW_ERR_MEMORY));
    assert_true(calls < CALLS_MOST);
  }
  assert_true(errors > 1);
  remove_summary();
}

static char *report_on(struct hwi_span span)
{
  struct hwi_profile *profile;
  const struct hwi_profile_options options = {.span = span};
  if (hwi_profile_create(&profile, trace, &options, NULL) < 0)
    return NULL;
  char *text = report_of(profile, true);
  hwi_profile_destroy(profile);
  return text;
}

static void write_trace(bool with_words)
{
  enc_init(&enc, 1);
  enc_chunk(&enc, 0, 0, 0, T);
  enc_thread(&enc, 0, 0, 500, "main");
  enc_main(&enc, 0);
  enc_tool(&enc, HW_TOOL_MARK, enc.header.start.monotonic_ns + 50, "half", 4);
  for (uint64_t i = 0; i < 100; i++)
    enc_alloc(&enc, 0, T + i, 2, 100 + i % 3, 0x10000 + 64 * i);
  for (uint64_t i = 0; i < 90; i++)
    enc_free(&enc, 0, T + 200 + i, 0x10000 + 64 * i);
  if (with_words)
    enc_words(&enc, 0, T + 300);
  enc_write(&enc, trace);
  enc_release(&enc);
}

/* Scopes, breaches, marks, counters and heaps have lists of their own. */
static void test_with_words_of_the_program(void **state)
{
  char *plain = expected;
  write_trace(true);
  expected = report_on(whole.span);
  assert_non_null(expected);
  test_while_it_is_kept(state);
  test_while_it_is_read(state);
  free(expected);
  expected = plain;
}

static int make_trace(void **state)
{
  (void)state;
  write_trace(false);
  expected = report_on(whole.span);
  expected_part = report_on(part.span);
  return expected && expected_part ? 0 : -1;
}

int main(void)
{
  if (!mkdtemp(dir) || chdir(dir) < 0)
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_while_it_is_kept),          cmocka_unit_test(test_while_it_is_read),
      cmocka_unit_test(test_while_a_part_is_read),      cmocka_unit_test(test_the_cause_is_kept),
      cmocka_unit_test(test_with_words_of_the_program), /* the last one: it changes the trace */
  };
  int failed = cmocka_run_group_tests(tests, make_trace, NULL);
  free(expected);
  free(expected_part);
  unlink(trace);
  unlink(summary);
  return failed | rmdir(dir);
}
