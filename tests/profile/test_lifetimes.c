/* test_lifetimes.c - lifetimes of blocks, at the very limits of the steps
 *
 * Breaks if a block of exactly 1 ms, 1 s or 1 min is counted in the wrong step; if temporary blocks are counted by
 * their time; if the old block of a realloc is forgotten; or if a missed free is taken for a lifetime.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "profile/profile.h"

static struct enc enc;
static char path[] = "/tmp/hw-test-lifetimes-XXXXXX";
static const uint64_t T = 1000000, MS = 1000000, SECOND = 1000000000, MINUTE = 60000000000;

static void begin_trace(void)
{
  enc_init(&enc, 1);
  enc_chunk(&enc, 0, 0, 0, T);
  enc_main(&enc, 0);
}

static void assert_lifetimes(const uint64_t expected[HWI_LIFETIMES])
{
  struct hwi_profile *profile;
  struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST};
  struct hwi_error error = {.text = ""};
  enc_write(&enc, path);
  assert_int_equal(hwi_profile_create(&profile, path, &options, &error), 0);
  assert_int_equal(profile->stack_count, 2);
  for (int i = 0; i < HWI_LIFETIMES; i++)
    assert_int_equal(profile->stacks[1].lifetimes[i], expected[i]);
  hwi_profile_destroy(profile);
  enc_release(&enc);
}

static void test_limits(void **state)
{
  (void)state;
  static const uint64_t lives[] = {1, MS - 1, MS, SECOND - 1, SECOND, MINUTE - 1, MINUTE, 2 * MINUTE};
  enum { BLOCKS = sizeof lives / sizeof *lives };
  begin_trace();
  for (uint64_t i = 0; i <= BLOCKS;
       i++) /* all at one moment; the last one is not freed, so the others are not temporary */
    enc_alloc(&enc, 0, T + 10, 2, 10, 0x10000 + i * 64);
  for (uint64_t i = 0; i < BLOCKS; i++)
    enc_free(&enc, 0, T + 10 + lives[i], 0x10000 + i * 64);
  assert_lifetimes((const uint64_t[HWI_LIFETIMES]){0, 2, 2, 2, 2, 1});
}

static void test_temporary_however_late(void **state)
{
  (void)state;
  begin_trace();
  enc_alloc(&enc, 0, T + 1, 2, 10, 0x10000);
  enc_free(&enc, 0, T + 1 + 2 * MINUTE, 0x10000);
  assert_lifetimes((const uint64_t[HWI_LIFETIMES]){1});
}

static void test_realloc_and_missed_free(void **state)
{
  (void)state;
  begin_trace();
  enc_alloc(&enc, 0, T + 1, 2, 10, 0x10000);
  enc_alloc(&enc, 0, T + 2, 2, 10, 0x20000);
  enc_realloc(&enc, 0, T + 1 + MS, 1, 2, 0x10000, 20, 0x10000); /* ends the first block, begins another */
  enc_alloc(&enc, 0, T + 2 * MS, 2, 10, 0x20000);               /* the free of the second was missed */
  assert_lifetimes((const uint64_t[HWI_LIFETIMES]){0, 0, 1, 0, 0, 2});
}

int main(void)
{
  int file = mkstemp(path);
  if (file < 0)
    return 1;
  close(file);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_temporary_however_late),
      cmocka_unit_test(test_realloc_and_missed_free),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
