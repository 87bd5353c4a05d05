/* test_analysis.c - how long an analyst counts for an answer
 *
 * Breaks if an analyst whose viewer has gone goes on counting for it, or if a complete answer comes before all is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_all_for_a_viewer_that_waits),
      cmocka_unit_test(stops_for_a_viewer_that_has_gone),
  };
  return cmocka_run_group_tests(tests, write_trace, remove_trace);
}
