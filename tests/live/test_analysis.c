/* test_analysis.c - how long an analyst counts for an answer
 *
 * Breaks if an analyst whose viewer has gone goes on counting for it, if a complete answer comes before all is counted, or if a run
 * of several processes is over with the figures of clocks that were less exact.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "live/analysis.h"

enum { CHUNKS = 50, EVENTS_A_CHUNK = 2000, BASE_TICK = 1000000 };

static char path[] = "/tmp/hw-test-analysis-XXXXXX";

/* Many more events than an analyst reads in a look at one. */
static int write_trace(void **state)
{
  static struct enc enc;
  const int fd = mkstemp(path);
  (void)state;
  enc_init(&enc, 1);
  uint64_t tick = BASE_TICK;
  for (uint32_t i = 0; i < CHUNKS; i++) {
    const int chunk = enc_chunk(&enc, 0, i, 0, tick);
    for (int k = 0; k < EVENTS_A_CHUNK; k += 2) {
      enc_alloc(&enc, chunk, ++tick, 0, 100, 0x10000);
      enc_free(&enc, chunk, ++tick, 0x10000);
    }
  }
  enc_write(&enc, path);
  enc_release(&enc);
  return fd >= 0 && close(fd) == 0 ? 0 : -1;
}

static int remove_trace(void **state)
{
  (void)state;
  return unlink(path);
}

/* A viewer asks for all, and then waits for the answer, or is gone at once. Returns the state of the analyst at its end. */
static int count_for_viewer(bool waits)
{
  const struct hwi_live_run run = {.path = path, .options = {.images = HWI_IMAGES_ALL}, .name = "a run"};
  struct hwi_analysis work;
  int sockets[2], status;
  assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  const pid_t viewer = fork();
  if (viewer == 0) {
    struct hwi_live_reply reply;
    int document;
    close(sockets[1]);
    const bool is_asked =
        hwi_live_send_ask(sockets[0], &(struct hwi_live_ask){.form = HWI_LIVE_STATE, .complete = true});
    const bool is_answered = is_asked && waits && hwi_live_take_reply(sockets[0], &reply, &document);
    _exit(is_answered && reply.state == HWI_FOLLOW_OVER ? 1 : 0);
  }
  close(sockets[0]);
  if (!waits)
    assert_int_equal(waitpid(viewer, &status, 0), viewer);
  hwi_analysis_begin(&work, &run);
  work.events_a_look = 1;
  hwi_analysis_serve(&work, sockets[1]);
  if (waits)
    assert_int_equal(waitpid(viewer, &status, 0), viewer);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), waits);
  hwi_follow_destroy(work.fresh);
  hwi_follow_destroy(work.follow);
  close(sockets[1]);
  return work.state;
}

static void counts_all_for_a_viewer_that_waits(void **state)
{
  (void)state;
  assert_int_equal(count_for_viewer(true), HWI_FOLLOW_OVER);
}

static void stops_for_a_viewer_that_has_gone(void **state)
{
  (void)state;
  assert_int_equal(count_for_viewer(false), HWI_FOLLOW_MORE);
}

/* --- clocks that become more exact --- */

enum { UNITS_A_MS = 1000000, PARENT_PAIRS = 4000 };

/* The parent's block lives from 100 to 200 million units of its clock, the child's from 150 to 160 ms. */
static void write_parent(const char *name)
{
  static struct enc enc;
  enc_init(&enc, 1);
  enc.header.clock = HW_CLOCK_TSC;
  enc.header.last = (struct hw_anchor){1000000 + 1000 * UNITS_A_MS, 1000000 + UINT64_C(1000000000)};
  uint64_t tick = 1000000 + 100 * UNITS_A_MS;
  const int chunk = enc_chunk(&enc, 0, 0, 0, tick);
  enc_alloc(&enc, chunk, tick, 0, 1000, 0x10000);
  enc_free(&enc, chunk, tick += 100 * UNITS_A_MS, 0x10000);
  for (int i = 0; i < PARENT_PAIRS; i++) {
    enc_alloc(&enc, chunk, ++tick, 0, 1, 0x20000);
    enc_free(&enc, chunk, ++tick, 0x20000);
  }
  enc_write(&enc, name);
  enc_release(&enc);
}

static void write_child(const char *name)
{
  static struct enc enc;
  enc_init(&enc, 2);
  enc.header.pid = 101;
  const int chunk = enc_chunk(&enc, 0, 0, 0, 1000000 + 150 * UNITS_A_MS);
  enc_alloc(&enc, chunk, 1000000 + 150 * UNITS_A_MS, 0, 1000, 0x10000);
  enc_free(&enc, chunk, 1000000 + 160 * UNITS_A_MS, 0x10000);
  enc_write(&enc, name);
  enc_release(&enc);
}

static uint64_t peak_of(struct hwi_analysis *work)
{
  struct hwi_error error;
  const struct hwi_profile *profile;
  assert_int_equal(hwi_follow_profile(work->follow, &profile, &error), 0);
  assert_int_equal(profile->image_count, 2);
  return profile->totals.peak_bytes;
}

/* The parent's clock turns out to be twice as fast: its block was gone when the child's began. */
static void counts_again_at_the_end_when_clocks_became_more_exact(void **state)
{
  char folder[] = "/tmp/hw-test-analysis-XXXXXX", parent[64], children[80], child[100];
  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(parent, sizeof parent, "%s/run.hwt", folder);
  snprintf(children, sizeof children, "%s.children", parent);
  snprintf(child, sizeof child, "%s/101.hwt", children);
  assert_int_equal(mkdir(children, 0700), 0);
  write_parent(parent);
  write_child(child);
  const struct hwi_live_run run = {.path = parent, .options = {.images = HWI_IMAGES_ALL}, .name = "a run"};
  struct hwi_analysis work;
  hwi_analysis_begin(&work, &run);
  work.events_a_look = 1000;
  for (int i = 0; i < 4; i++)
    hwi_analysis_look(&work);
  assert_int_equal(work.state, HWI_FOLLOW_MORE); /* both blocks are counted, but not all pairs */
  const struct hw_anchor exact = {1000000 + 2000 * UNITS_A_MS, 1000000 + UINT64_C(1000000000)};
  const int fd = open(parent, O_WRONLY);
  assert_int_equal(pwrite(fd, &exact, sizeof exact, offsetof(struct hw_trace_header, last)), sizeof exact);
  close(fd);
  while (work.state != HWI_FOLLOW_OVER)
    hwi_analysis_look(&work);
  assert_int_equal(work.recounts, 1);
  assert_int_equal(peak_of(&work), 1000);
  hwi_follow_destroy(work.follow);
  unlink(child);
  rmdir(children);
  unlink(parent);
  rmdir(folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_all_for_a_viewer_that_waits),
      cmocka_unit_test(stops_for_a_viewer_that_has_gone),
      cmocka_unit_test(counts_again_at_the_end_when_clocks_became_more_exact),
  };
  return cmocka_run_group_tests(tests, write_trace, remove_trace);
}
