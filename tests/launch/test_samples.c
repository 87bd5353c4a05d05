/* test_samples.c - how often the resident set of a process is sampled, and to which image a sample belongs
 *
 * Breaks if a run of less than a second has no curve of its resident set; if the curve of a run of a day fills its
 * trace; or if an image is reported to have held the memory of the program that replaced it by an exec.
 */
#include "launch/follow/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/os_tools.h"

static const uint64_t ms = 1000000u, second = 1000000000u;
enum { LOOK_MS = 5, SAMPLE_BYTES = sizeof(struct hw_tool_record) + sizeof(struct hw_rss_sample) };

/* A trace of this very process. */
struct sampled {
  FILE *file;
  struct hwi_drain drain;
  struct hwi_samples samples;
};

static void begin(struct sampled *sampled)
{
  *sampled = (struct sampled){.file = tmpfile()};
  assert_non_null(sampled->file);
  int fd = fileno(sampled->file);
  assert_int_equal(ftruncate(fd, HW_CHUNKS_OFF), 0);
  sampled->drain = (struct hwi_drain){.fd = fd, .log = {.fd = fd}, .pid = (uint32_t)getpid()};
  sampled->samples.rss.next_maps_ns = UINT64_MAX; /* the cost of reading them does not matter here */
}

static void end(struct sampled *sampled)
{
  hwi_samples_release(&sampled->samples);
  fclose(sampled->file);
}

static uint64_t sample_count(const struct sampled *sampled)
{
  return sampled->drain.log.at ? (sampled->drain.log.at - HW_TOOL_AREA_OFF) / SAMPLE_BYTES : 0;
}

/* Samples as often as the launcher might, and more often. Returns the number of samples taken. */
static uint64_t look_until(struct sampled *sampled, uint64_t *now_ns, uint64_t until_ns)
{
  uint64_t before = sample_count(sampled);
  for (; *now_ns < until_ns; *now_ns += LOOK_MS * ms)
    hwi_samples_take(&sampled->samples, &sampled->drain, 0, *now_ns);
  return sample_count(sampled) - before;
}

static void test_often_at_first_then_every_second(void **state)
{
  (void)state;
  struct sampled sampled;
  uint64_t begin_ns = 1000 * second, now_ns = begin_ns;
  begin(&sampled);
  uint64_t of_first_tenth = look_until(&sampled, &now_ns, begin_ns + second / 10);
  assert_in_range(of_first_tenth, 5, 7);
  uint64_t of_first_second = of_first_tenth + look_until(&sampled, &now_ns, begin_ns + second);
  assert_in_range(of_first_second, 40, 52);
  uint64_t of_first_minute = of_first_second + look_until(&sampled, &now_ns, begin_ns + 60 * second);
  assert_in_range(of_first_minute, 200, 265);
  assert_in_range(look_until(&sampled, &now_ns, begin_ns + 120 * second), 59, 63);
  end(&sampled);
}

static void test_of_this_image_alone(void **state)
{
  (void)state;
  struct sampled sampled;
  begin(&sampled);
  uint64_t stack_start = hwi_os_process_stack_start((uint32_t)getpid()), peak_bytes = 0;
  assert_int_not_equal(stack_start, 0);
  hwi_samples_take(&sampled.samples, &sampled.drain, stack_start + 16, second);
  assert_int_equal(sample_count(&sampled), 0);
  size_t at = offsetof(struct hw_trace_header, rss_peak_bytes);
  assert_int_equal(pread(sampled.drain.fd, &peak_bytes, sizeof peak_bytes, (off_t)at), sizeof peak_bytes);
  assert_int_equal(peak_bytes, 0);
  hwi_samples_take(&sampled.samples, &sampled.drain, stack_start, second);
  assert_int_equal(sample_count(&sampled), 1);
  assert_int_equal(pread(sampled.drain.fd, &peak_bytes, sizeof peak_bytes, (off_t)at), sizeof peak_bytes);
  assert_int_not_equal(peak_bytes, 0);
  end(&sampled);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_often_at_first_then_every_second),
      cmocka_unit_test(test_of_this_image_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
