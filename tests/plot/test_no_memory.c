/* test_no_memory.c - charts for which there is no memory are not written, whichever call of malloc it is that fails
 *
 * What would break: a result of malloc that is not checked; a script that lacks what there was no memory for, a name above
 * all; what is not freed on the way out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "../trace/failing_malloc.h"
#include "plot/plot.h"

enum { CALLS_MOST = 5000, SCRIPT_MOST = 1 << 18, BLOCKS = 100 };

static char path[64], expected[SCRIPT_MOST];
static struct hwi_profile *shown;

static void make_trace(void)
{
  static struct enc enc;
  const uint64_t start = 1000000;
  enc_init(&enc, 1);
  enc_chunk(&enc, 0, 0, 0, start);
  enc_thread(&enc, 0, 0, 500, "main");
  enc_thread(&enc, 0, 1, 501, "other");
  enc_main(&enc, 0);
  enc_tool(&enc, HW_TOOL_MARK, enc.header.start.monotonic_ns + 50, "half", 4);
  for (uint64_t i = 0; i < BLOCKS; i++)
    enc_alloc(&enc, 0, start + i, 2, 100 + i % 3, 0x10000 + 64 * i);
  for (uint64_t i = 0; i < BLOCKS - 1; i++)
    enc_free(&enc, 0, start + 200 + i, 0x10000 + 64 * i);
  enc_write(&enc, path);
  enc_release(&enc);
}

static const struct hwi_symbol nameless = {.reason = HWI_SYMBOL_NO_FILE};

static uint32_t find_nothing(void *context, const struct hwi_symbol_module *module, uint64_t address,
                             bool is_return_address, const struct hwi_symbol **frames)
{
  (void)context, (void)module, (void)address, (void)is_return_address;
  *frames = &nameless;
  return 1;
}

static const char *no_allocator(const struct hwi_symbol_module *program)
{
  (void)program;
  return NULL;
}

static int replay(void *context, const struct hwi_block_sink *sink, struct hwi_error *error)
{
  (void)context;
  return hwi_profile_events(path, &(struct hwi_profile_options){0}, sink, error);
}

/* Writes the script of all charts to `to`. False: no call failed. */
static bool check_failing(uint64_t calls, uint64_t failures, char *to)
{
  static char buffer[BUFSIZ];
  const struct hwi_plot_request request = {
      .report = {.profile = shown, .names = {find_nothing, NULL, no_allocator}, .replayer = {replay, NULL}},
      .form = HWI_PLOT_SCRIPT,
      .charts = {HWI_CHART_LIVE, HWI_CHART_LIVE_BY_STACK, HWI_CHART_LIVE_BY_SIZE, HWI_CHART_LIVE_BY_THREAD,
                 HWI_CHART_SIZES, HWI_CHART_LIFETIMES, HWI_CHART_THREADS},
      .chart_count = 7};
  struct hwi_error error = {.text = ""};
  memset(to, 0, SCRIPT_MOST);
  FILE *out = fmemopen(to, SCRIPT_MOST, "w");
  assert_non_null(out);
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  failing_malloc_arm(calls, failures);
  int status = hwi_plot_write(&request, out, &error);
  bool has_failed = failing_malloc_disarm();
  fclose(out);
  if (status == 0 && calls != UINT64_MAX && strcmp(to, expected) != 0)
    fail_msg("call %llu: another script, and no error", (unsigned long long)calls);
  if (failing_malloc_leaks())
    fail_msg("call %llu: %ld blocks are left", (unsigned long long)calls, failing_malloc_leaks());
  if (status < 0 && (!has_failed || strstr(error.text, "memory") == NULL))
    fail_msg("call %llu: status %d, %s", (unsigned long long)calls, status, error.text);
  return has_failed;
}

static void test_every_chart(void **state)
{
  (void)state;
  static char text[SCRIPT_MOST];
  assert_false(check_failing(UINT64_MAX, 1, expected));
  assert_non_null(strstr(expected, "\"half\""));
  assert_non_null(strstr(expected, "unset output"));
  uint64_t calls = 0;
  for (; check_failing(calls, 1, text); calls++) {
    check_failing(calls, UINT64_MAX, text);
    assert_true(calls < CALLS_MOST);
  }
  assert_true(calls > 1);
}

int main(void)
{
  snprintf(path, sizeof path, "/tmp/hw-test-plot-memory-%d.hwt", (int)getpid());
  make_trace();
  if (hwi_profile_create(&shown, path, &(struct hwi_profile_options){0}, NULL) < 0)
    return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_chart)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  hwi_profile_destroy(shown);
  unlink(path);
  return failed;
}
