/* test_save_rules.c - limits of a process's memory: how they are written, and when they are crossed
 *
 * Breaks if a limit is taken for another one, if one crossing is saved again and again, or if what a program sets up at its
 * start counts as growth.
 */
#include "launch/follow/save_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t second = 1000000000u, MIB = 1 << 20;

static struct hwi_save_rule rule_of(const char *text)
{
  struct hwi_save_rule rule;
  struct hwi_error error = {0};
  assert_int_equal(hwi_save_rule_parse(&rule, text, &error), 0);
  return rule;
}

static void rules_are_read(void **state)
{
  (void)state;
  struct hwi_save_rule rule = rule_of("rss>2G");
  assert_int_equal(rule.figure, HWI_SAVE_RSS);
  assert_int_equal(rule.limit_bytes, UINT64_C(2) << 30);
  rule = rule_of("live>500MB");
  assert_int_equal(rule.figure, HWI_SAVE_LIVE);
  assert_int_equal(rule.limit_bytes, 500000000);
  rule = rule_of("growth>10M/min");
  assert_int_equal(rule.figure, HWI_SAVE_GROWTH);
  assert_int_equal(rule.window_ns, 60 * second);
  assert_int_equal(rule_of("growth>1/s").window_ns, second);
  assert_int_equal(rule_of("growth>1/h").window_ns, 3600 * second);
}

static void wrong_rules_are_refused(void **state)
{
  static const char *const wrong[] = {"",        "rss",      ">",       "rss>",      "rss>0",        "rss>x",
                                      "rss>2G ", "rss>-1",   "rss=2G",  "rss<2G",    "rss>=2G",      "Rss>2G",
                                      "rss>1/s", "live>1/h", "growth>", "growth>1",  "growth>1/",    "growth>1/m",
                                      "live>>1", "rss >1",   "rssx>1",  "growth>/s", "growth>1/s/s", "rss>1\n"};
  static char large[4096];
  (void)state;
  memset(large, '1', sizeof large - 1);
  memcpy(large, "rss>", 4);
  for (size_t i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
    const char *text = i < sizeof wrong / sizeof *wrong ? wrong[i] : large;
    struct hwi_save_rule rule;
    struct hwi_error error = {0};
    assert_int_equal(hwi_save_rule_parse(&rule, text, &error), HW_ERR_USAGE);
    assert_non_null(strstr(error.text, "is no limit: "));
  }
}

static bool is_crossed(const struct hwi_save_rule *rule, struct hwi_save_watch *watch, uint64_t ns, uint64_t bytes)
{
  uint64_t found;
  const struct hwi_save_figures figures = {.now_ns = ns, .rss_bytes = bytes, .live_bytes = bytes, .has_live = true};
  return hwi_save_rule_is_crossed(rule, watch, &figures, &found);
}

static void a_crossing_counts_once(void **state)
{
  const struct hwi_save_rule rule = rule_of("live>100");
  struct hwi_save_watch watch = {0};
  (void)state;
  assert_false(is_crossed(&rule, &watch, 1, 100));
  assert_true(is_crossed(&rule, &watch, 2, 101));
  assert_false(is_crossed(&rule, &watch, 3, 1000));
  assert_false(is_crossed(&rule, &watch, 4, 76)); /* more than three quarters */
  assert_false(is_crossed(&rule, &watch, 5, 101));
  assert_false(is_crossed(&rule, &watch, 6, 75));
  assert_true(is_crossed(&rule, &watch, 7, 101));
}

static void unknown_live_bytes_cross_nothing(void **state)
{
  const struct hwi_save_rule live = rule_of("live>1"), rss = rule_of("rss>1");
  const struct hwi_save_figures figures = {.now_ns = 1, .rss_bytes = 100, .live_bytes = 100};
  struct hwi_save_watch watch = {0}, other = {0};
  uint64_t bytes;
  (void)state;
  assert_false(hwi_save_rule_is_crossed(&live, &watch, &figures, &bytes));
  assert_true(hwi_save_rule_is_crossed(&rss, &other, &figures, &bytes));
  assert_int_equal(bytes, 100);
}

/* The first second in which live bytes that grow as `bytes_at` says cross the rule; 0: none within an hour. */
static uint64_t first_crossing(const char *text, uint64_t (*bytes_at)(uint64_t s))
{
  const struct hwi_save_rule rule = rule_of(text);
  struct hwi_save_watch watch = {0};
  for (uint64_t s = 1; s <= 3600; s++)
    if (is_crossed(&rule, &watch, s * second, bytes_at(s)))
      return s;
  return 0;
}

static uint64_t steady(uint64_t s)
{
  return s * MIB;
}

static uint64_t large_start(uint64_t s)
{
  return 1000 * MIB + (s < 50 ? s * 100 * MIB : 5000 * MIB);
}

static uint64_t late(uint64_t s)
{
  return s < 1000 ? 7 * MIB : 7 * MIB + (s - 1000) * MIB;
}

static uint64_t shrinking(uint64_t s)
{
  return 4000 * MIB - s * MIB;
}

static void growth_is_that_of_the_window(void **state)
{
  (void)state;
  assert_in_range(first_crossing("growth>30M/min", steady), 61, 125); /* 60 MiB per minute, after the first minute */
  assert_int_equal(first_crossing("growth>70M/min", steady), 0);
  assert_int_equal(first_crossing("growth>1M/min", large_start), 0);
  assert_in_range(first_crossing("growth>30M/min", late), 1030, 1036);
  assert_int_equal(first_crossing("growth>1/min", shrinking), 0);
}

/* A look that comes late, since the machine was busy, is no growth. */
static void a_pause_between_looks_is_no_growth(void **state)
{
  const struct hwi_save_rule rule = rule_of("growth>90M/min");
  struct hwi_save_watch watch = {0};
  (void)state;
  for (uint64_t s = 1; s < 3600; s += s % 500 == 0 ? 200 : 1)
    assert_false(is_crossed(&rule, &watch, s * second, s * MIB));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_are_read),
      cmocka_unit_test(wrong_rules_are_refused),
      cmocka_unit_test(a_crossing_counts_once),
      cmocka_unit_test(unknown_live_bytes_cross_nothing),
      cmocka_unit_test(growth_is_that_of_the_window),
      cmocka_unit_test(a_pause_between_looks_is_no_growth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
