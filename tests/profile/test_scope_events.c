/* test_scope_events.c - the scopes that begin and end, as a replay passes them to a sink, on small recordings
 *
 * Breaks if a scope begins or ends for another thread, in another path or at another time; if scopes that are left open
 * are not ended; or if a sink that wants no more gets more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "profile/profile.h"

enum { EVENTS_MAX = 16 };

static char path[] = "/tmp/hw-test-scope-events-XXXXXX";
static const uint64_t T = 1000000;

struct taken {
  struct hwi_scope_event events[EVENTS_MAX];
  int count, wanted;
};

static bool take(void *unused, const struct hwi_block_event *event)
{
  (void)unused;
  (void)event;
  return true;
}

static bool take_scope(void *context, const struct hwi_scope_event *event)
{
  struct taken *taken = context;
  assert_true(taken->count < taken->wanted);
  taken->events[taken->count++] = *event;
  return taken->count < taken->wanted;
}

static int replay(struct taken *taken)
{
  const struct hwi_block_sink sink = {.take = take, .context = taken, .take_scope = take_scope};
  const struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST};
  struct hwi_error error = {0};
  return hwi_profile_events(path, &options, &sink, &error);
}

/* Two threads: on the first, two scopes end at once; the second ends within a scope. */
static void write_trace(void)
{
  struct enc enc = {0};
  enc_init(&enc, 1);
  int first = enc_chunk(&enc, 0, 0, 0, T), second = enc_chunk(&enc, 1, 0, 1, T);
  enc_main(&enc, first);
  enc_name(&enc, first, 1, "outer");
  enc_name(&enc, first, 2, "inner");
  enc_scope(&enc, first, T + 10, HW_SCOPE_BEGIN_NUMBER, 1, 1812);
  enc_scope(&enc, first, T + 20, HW_SCOPE_BEGIN, 2, 0);
  enc_alloc(&enc, first, T + 30, 2, 10, 0x10000);
  enc_scope(&enc, second, T + 40, HW_SCOPE_BEGIN, 2, 0);
  enc_scope(&enc, first, T + 50, HW_SCOPE_END, 2, 0);
  enc_free(&enc, second, T + 60, 0x10000);
  enc_heap(&enc, second, T + 65, &(struct enc_heap_event){HW_HEAP_ALLOC, 1, 1, 2, 8, 0x10000});
  enc_scope(&enc, first, T + 70, HW_SCOPE_END, 1, 0); /* of none */
  enc_scope(&enc, first, T + 75, HW_SCOPE_END, 0, 0); /* forged */
  enc_alloc(&enc, first, T + 80, 2, 10, 0x10000);
  enc_write(&enc, path);
  enc_release(&enc);
}

static void assert_event(const struct hwi_scope_event *event, uint64_t ns, uint32_t thread, uint32_t of_path,
                         uint32_t ended, uint32_t left)
{
  assert_int_equal(event->ns, ns);
  assert_int_equal(event->thread, thread);
  assert_int_equal(event->path, of_path);
  assert_int_equal(event->ended, ended);
  assert_int_equal(event->left, left);
}

static void test_begins_and_ends(void **state)
{
  (void)state;
  struct taken taken = {.wanted = EVENTS_MAX};
  assert_int_equal(replay(&taken), 0);
  assert_int_equal(taken.count, 5);
  assert_event(&taken.events[0], 10, 0, 1, 0, 0);
  assert_int_equal(taken.events[0].op, HW_SCOPE_BEGIN_NUMBER);
  assert_int_equal(taken.events[0].value, 1812);
  assert_event(&taken.events[1], 20, 0, 2, 0, 0);
  assert_event(&taken.events[2], 40, 1, 3, 0, 0);
  assert_event(&taken.events[3], 50, 0, 0, 2, 1);
  assert_event(&taken.events[4], 65, 1, 0, 1, 1); /* the thread's last event */
}

static void test_a_sink_that_wants_no_more(void **state)
{
  (void)state;
  for (int wanted = 1; wanted <= 5; wanted++) {
    struct taken taken = {.wanted = wanted};
    assert_int_equal(replay(&taken), HW_ERR_LIMIT);
    assert_int_equal(taken.count, wanted);
  }
}

int main(void)
{
  const int file = mkstemp(path);
  if (file < 0)
    return 1;
  close(file);
  write_trace();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_begins_and_ends),
      cmocka_unit_test(test_a_sink_that_wants_no_more),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  remove(path);
  return failed;
}
