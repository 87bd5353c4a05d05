/* same_events.c - compares the events that a replay reports with the profile that it makes */
#include "same_events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STACKS_MAX = 512, THREADS_MAX = 64 };

struct sums {
  uint64_t allocations, bytes, frees, unknown, missed, failed, level, peak, left_bytes, last_ns;
  uint64_t calls_of_stack[STACKS_MAX], live_of_stack[STACKS_MAX], left_of_stack[STACKS_MAX];
  uint64_t frees_of_thread[THREADS_MAX], foreign_of_thread[THREADS_MAX];
  uint64_t wanted; /* events until it stops */
  struct hwi_span span;
  bool begun; /* the span */
};

static void add_free(struct sums *sums, const struct hwi_block_event *event)
{
  sums->level -= event->size;
  assert_true(sums->live_of_stack[event->stack] >= event->size);
  sums->live_of_stack[event->stack] -= event->size;
}

/* Forgets the counts so far; live blocks stay. */
static void restart_sums(struct sums *sums)
{
  struct sums old = *sums;
  *sums = (struct sums){.begun = true,
                        .span = old.span,
                        .wanted = old.wanted,
                        .last_ns = old.last_ns,
                        .level = old.level,
                        .peak = old.level,
                        .left_bytes = old.left_bytes};
  memcpy(sums->live_of_stack, old.live_of_stack, sizeof old.live_of_stack);
  memcpy(sums->left_of_stack, old.left_of_stack, sizeof old.left_of_stack);
}

static bool take(void *context, const struct hwi_block_event *event)
{
  struct sums *sums = context;
  assert_true(event->stack < STACKS_MAX && event->thread < THREADS_MAX && event->ns >= sums->last_ns);
  sums->last_ns = event->ns;
  if (sums->span.kind == HWI_SPAN_INTERVAL) {
    if (event->ns >= sums->span.to_ns)
      return true;
    if (event->ns >= sums->span.from_ns && !sums->begun)
      restart_sums(sums);
  }
  switch ((enum hwi_block_event_kind)event->kind) {
  case HWI_BLOCK_ALLOC:
    sums->allocations++;
    sums->bytes += event->size;
    sums->calls_of_stack[event->stack]++;
    sums->live_of_stack[event->stack] += event->size;
    sums->level += event->size;
    sums->peak = sums->level > sums->peak ? sums->level : sums->peak;
    break;
  case HWI_BLOCK_FREE:
    sums->foreign_of_thread[event->thread] += event->thread != event->owner;
    add_free(sums, event);
    sums->frees++;
    sums->frees_of_thread[event->thread]++;
    break;
  case HWI_BLOCK_FREE_UNKNOWN:
    sums->frees++;
    sums->unknown++;
    sums->frees_of_thread[event->thread]++;
    break;
  case HWI_BLOCK_FREE_MISSED:
    sums->missed++;
    add_free(sums, event);
    break;
  case HWI_BLOCK_LEFT:
    sums->left_bytes += event->size;
    sums->left_of_stack[event->stack] += event->size;
    add_free(sums, event);
    break;
  case HWI_BLOCK_FAILED:
    sums->failed++;
    break;
  }
  return --sums->wanted > 0;
}

static void assert_equals(const struct sums *sums, const struct hwi_profile *full)
{
  const struct hwi_totals *totals = &full->totals;
  assert_int_equal(sums->allocations, totals->allocation_calls);
  assert_int_equal(sums->bytes, totals->allocated_bytes);
  assert_int_equal(sums->frees, totals->free_calls);
  assert_int_equal(sums->failed, totals->failed_calls);
  assert_int_equal(sums->missed, totals->missed_frees);
  assert_int_equal(sums->unknown, totals->unmatched_frees + totals->frees_of_silent_blocks + totals->inherited_frees);
  assert_int_equal(sums->peak, totals->peak_bytes);
  assert_int_equal(sums->level + sums->left_bytes, totals->live_bytes_at_end);
  for (uint32_t i = 1; i < full->stack_count; i++) {
    assert_int_equal(sums->calls_of_stack[i], full->stacks[i].calls);
    assert_int_equal(sums->live_of_stack[i] + sums->left_of_stack[i], full->stacks[i].live_bytes);
  }
  for (uint32_t i = 0; i < full->thread_count; i++) {
    assert_int_equal(sums->frees_of_thread[i], full->threads[i].free_calls);
    assert_int_equal(sums->foreign_of_thread[i], full->threads[i].foreign_frees);
  }
}

void assert_same_events(const struct hwi_profile *full, const char *path, struct hwi_profile_options options)
{
  struct sums *sums = calloc(1, sizeof *sums);
  assert_non_null(sums);
  sums->wanted = UINT64_MAX;
  sums->span = options.span;
  const struct hwi_block_sink sink = {.take = take, .context = sums};
  struct hwi_error error = {0};
  assert_int_equal(hwi_profile_events(path, &options, &sink, &error), 0);
  if (sums->span.kind == HWI_SPAN_INTERVAL && !sums->begun)
    restart_sums(sums);
  assert_equals(sums, full);
  if (full->span.kind == HWI_SPAN_RUN && full->totals.allocation_calls > 1) {
    *sums = (struct sums){.wanted = 1};
    assert_int_equal(hwi_profile_events(path, &options, &sink, &error), HW_ERR_LIMIT);
    assert_int_equal(sums->allocations + sums->frees + sums->failed, 1);
  }
  free(sums);
}
