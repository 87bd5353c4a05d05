/* test_heaps.c - heaps that a program gives out itself, on random recordings, compared with a model
 *
 * Breaks if a block of one heap counts for another one, or for malloc; if a reset or the end of a heap leaves a block
 * behind; if blocks of several heaps at one address are confused; or if the figures of a part of the run are wrong.
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
#include "profile/blocks/heap_blocks.h"
#include "profile/profile.h"

enum { NAMES = 3, HEAPS = 7, ADDRESSES = 40, STEPS = 6000 };

static char path[] = "/tmp/hw-test-heaps-XXXXXX";
static const uint64_t T = 1000000;
static const char *const names[NAMES] = {"arena", "gpu memory", "slab [4]"};
static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

/* --- the model: sizes of live blocks, plus 1; and the sums of each name --- */

static uint64_t live[HEAPS][ADDRESSES];
static struct hwi_heap sums[NAMES];
static uint64_t malloc_calls;

static void end_block(struct hwi_heap *sum, uint64_t *block)
{
  sum->live_bytes -= *block - 1;
  sum->live_blocks--;
  *block = 0;
}

static void count(const struct enc_heap_event *event, uint64_t ns)
{
  struct hwi_heap *sum = &sums[event->name - 1];
  uint64_t *blocks = live[event->heap - 1], *block = &blocks[event->address / 16 % ADDRESSES];
  switch (event->op) {
  case HW_HEAP_CREATE:
    sum->created++;
    return;
  case HW_HEAP_ALLOC:
    sum->missed_frees += *block != 0;
    if (*block)
      end_block(sum, block);
    *block = event->size + 1;
    sum->allocation_calls++;
    sum->allocated_bytes += event->size;
    sum->live_blocks++;
    sum->live_bytes += event->size;
    if (sum->live_bytes <= sum->peak_bytes)
      return;
    sum->peak_bytes = sum->live_bytes;
    sum->peak_blocks = sum->live_blocks;
    sum->peak_ns = ns;
    return;
  case HW_HEAP_FREE:
    sum->free_calls++;
    sum->unmatched_frees += *block == 0;
    if (*block)
      end_block(sum, block);
    return;
  case HW_HEAP_FAILED:
    sum->failed_calls++;
    return;
  case HW_HEAP_RESET:
  case HW_HEAP_DESTROY:
    break;
  }
  sum->resets += event->op == HW_HEAP_RESET;
  sum->destroyed += event->op == HW_HEAP_DESTROY;
  for (int i = 0; i < ADDRESSES; i++) {
    if (!blocks[i])
      continue;
    sum->reset_blocks++;
    end_block(sum, &blocks[i]);
  }
}

/* The live blocks stay, and are the first peak. */
static void restart_model(uint64_t ns)
{
  for (int i = 0; i < NAMES; i++) {
    const struct hwi_heap before = sums[i];
    sums[i] = (struct hwi_heap){.live_blocks = before.live_blocks, .live_bytes = before.live_bytes};
    if (!before.live_bytes)
      continue;
    sums[i].peak_bytes = before.live_bytes;
    sums[i].peak_blocks = before.live_blocks;
    sums[i].peak_ns = ns;
  }
  malloc_calls = 0;
}

/* --- a recording --- */

static struct enc_heap_event random_event(void)
{
  static const enum hw_heap_op ops[] = {HW_HEAP_CREATE, HW_HEAP_ALLOC,  HW_HEAP_ALLOC, HW_HEAP_ALLOC,  HW_HEAP_ALLOC,
                                        HW_HEAP_ALLOC,  HW_HEAP_FREE,   HW_HEAP_FREE,  HW_HEAP_FREE,   HW_HEAP_FREE,
                                        HW_HEAP_FAILED, HW_HEAP_FAILED, HW_HEAP_RESET, HW_HEAP_DESTROY};
  struct enc_heap_event event = {.op = ops[below(sizeof ops / sizeof *ops)], .node = 2, .size = below(1000)};
  const bool is_rare = event.op == HW_HEAP_RESET || event.op == HW_HEAP_DESTROY;
  if (is_rare && below(5))
    event.op = HW_HEAP_ALLOC;
  event.heap = 1 + below(HEAPS);
  event.name = 1 + (event.heap - 1) % NAMES;
  event.address = 0x10000 + 16 * (uint64_t)below(ADDRESSES);
  return event;
}

/* Writes a recording, whose model is of the part [from_ns, to_ns). */
static void write_trace(uint64_t from_ns, uint64_t to_ns)
{
  struct enc enc = {0};
  enc_init(&enc, 1);
  memset(live, 0, sizeof live);
  memset(sums, 0, sizeof sums);
  malloc_calls = 0;
  bool has_begun = from_ns == 0;
  int chunk = enc_chunk(&enc, 0, 0, 0, T);
  enc_main(&enc, chunk);
  for (uint8_t i = 0; i < NAMES; i++)
    enc_name(&enc, chunk, (uint8_t)(i + 1), names[i]);
  for (int i = 1; i <= STEPS; i++) {
    const uint64_t ns = 10 * (uint64_t)i;
    const struct enc_heap_event event = random_event();
    if (!has_begun && ns >= from_ns) {
      restart_model(from_ns);
      has_begun = true;
    }
    if (below(4)) {
      enc_heap(&enc, chunk, T + ns, &event);
      if (ns < to_ns)
        count(&event, ns);
    } else { /* malloc uses the same addresses */
      enc_alloc(&enc, chunk, T + ns, 2, 1 << 20, event.address);
      enc_free(&enc, chunk, T + ns, event.address);
      malloc_calls += ns < to_ns;
    }
  }
  enc_write(&enc, path);
  enc_release(&enc);
}

static struct hwi_profile *profile_of(const char *heap, const struct hwi_span *span)
{
  struct hwi_profile *profile;
  struct hwi_error error = {0};
  const struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST, .heap = heap, .span = *span};
  assert_int_equal(hwi_profile_create(&profile, path, &options, &error), 0);
  return profile;
}

static void assert_heap(const struct hwi_heap *heap, const struct hwi_heap *model)
{
  struct hwi_heap wanted = *model;
  wanted.name = heap->name;
  assert_memory_equal(heap, &wanted, sizeof wanted);
}

/* --- tests --- */

static void check_heaps(const struct hwi_span *span)
{
  struct hwi_profile *profile = profile_of(NULL, span);
  assert_int_equal(profile->totals.allocation_calls, malloc_calls);
  assert_int_equal(profile->totals.free_calls, malloc_calls);
  assert_int_equal(profile->totals.live_blocks_at_end, 0);
  assert_int_equal(profile->heap_count, NAMES);
  for (uint32_t i = 0; i < NAMES; i++)
    for (int k = 0; k < NAMES; k++)
      if (strcmp(profile->heaps[i].name, names[k]) == 0)
        assert_heap(&profile->heaps[i], &sums[k]);
  hwi_profile_destroy(profile);
}

/* The heap in the form of malloc. */
static void check_view(const char *heap, const struct hwi_heap *model, const struct hwi_span *span)
{
  struct hwi_profile *profile = profile_of(heap, span);
  const struct hwi_totals *totals = &profile->totals;
  assert_int_equal(profile->heap_count, 0);
  assert_int_equal(totals->allocation_calls, model->allocation_calls);
  assert_int_equal(totals->allocated_bytes, model->allocated_bytes);
  assert_int_equal(totals->free_calls, model->free_calls + model->reset_blocks);
  assert_int_equal(totals->failed_calls, model->failed_calls);
  assert_int_equal(totals->unmatched_frees, model->unmatched_frees);
  assert_int_equal(totals->missed_frees, model->missed_frees);
  assert_int_equal(totals->live_blocks_at_end, model->live_blocks);
  assert_int_equal(totals->live_bytes_at_end, model->live_bytes);
  assert_int_equal(totals->peak_bytes, model->peak_bytes);
  hwi_profile_destroy(profile);
}

static void test_whole_runs(void **state)
{
  (void)state;
  const struct hwi_span run = {0};
  for (random_state = 1; random_state < 9; random_state++) {
    const uint64_t seed = random_state;
    write_trace(0, UINT64_MAX);
    check_heaps(&run);
    for (int i = 0; i < NAMES; i++)
      check_view(names[i], &sums[i], &run);
    random_state = seed;
  }
}

static void test_parts_of_runs(void **state)
{
  (void)state;
  const struct hwi_span part = {HWI_SPAN_INTERVAL, 20000, 45000, 0};
  random_state = 77;
  write_trace(part.from_ns, part.to_ns);
  check_heaps(&part);
  for (int i = 0; i < NAMES; i++)
    check_view(names[i], &sums[i], &part);
}

/* All heaps together: only figures that are sums over heaps. */
static void test_a_pattern(void **state)
{
  (void)state;
  const struct hwi_span run = {0};
  random_state = 5;
  write_trace(0, UINT64_MAX);
  struct hwi_profile *profile = profile_of("*", &run);
  uint64_t calls = 0, bytes = 0, blocks = 0;
  for (int i = 0; i < NAMES; i++) {
    calls += sums[i].allocation_calls;
    bytes += sums[i].live_bytes;
    blocks += sums[i].live_blocks;
  }
  assert_int_equal(profile->totals.allocation_calls, calls);
  assert_int_equal(profile->totals.live_bytes_at_end, bytes);
  assert_int_equal(profile->totals.live_blocks_at_end, blocks);
  hwi_profile_destroy(profile);
}

/* Begins a recording of one thread. Returns its chunk. */
static int begin_small(struct enc *enc)
{
  *enc = (struct enc){0};
  enc_init(enc, 1);
  const int chunk = enc_chunk(enc, 0, 0, 0, T);
  enc_main(enc, chunk);
  enc_name(enc, chunk, 1, names[0]);
  enc_name(enc, chunk, 2, names[1]);
  return chunk;
}

/* More heaps than an address has unused bits. */
static void test_many_heaps_at_one_address(void **state)
{
  enum { MANY = 1000, FREED = 300 };
  (void)state;
  const struct hwi_span run = {0};
  struct enc enc;
  const int chunk = begin_small(&enc);
  for (uint32_t i = 1; i <= MANY; i++)
    enc_heap(&enc, chunk, T + i, &(struct enc_heap_event){HW_HEAP_ALLOC, i, 1, 2, i, 0x10000});
  for (uint32_t i = 1; i <= FREED; i++)
    enc_heap(&enc, chunk, T + MANY + i, &(struct enc_heap_event){HW_HEAP_FREE, i, 1, 0, 0, 0x10000});
  enc_write(&enc, path);
  enc_release(&enc);
  struct hwi_profile *profile = profile_of(names[0], &run);
  assert_int_equal(profile->totals.live_blocks_at_end, MANY - FREED);
  assert_int_equal(profile->totals.live_bytes_at_end, MANY * (MANY + 1) / 2 - FREED * (FREED + 1) / 2);
  assert_int_equal(profile->totals.unmatched_frees + profile->totals.missed_frees, 0);
  hwi_profile_destroy(profile);
}

static struct hwi_profile *end_small(struct enc *enc)
{
  enc_write(enc, path);
  enc_release(enc);
  return profile_of(NULL, &(struct hwi_span){0});
}

static void test_ended_heaps_take_no_memory(void **state)
{
  (void)state;
  struct hwi_heap_blocks heaps = {0};
  const uint32_t first = hwi_heap_blocks_heap(&heaps, UINT32_MAX);
  assert_int_not_equal(hwi_heap_blocks_add(&heaps, first, 16, 5), 0);
  for (uint32_t number = 1; number <= 100000; number++) {
    const uint32_t heap = hwi_heap_blocks_heap(&heaps, number);
    assert_int_not_equal(heap, 0);
    assert_int_equal(hwi_heap_blocks_find(&heaps, heap, 16), 0);
    assert_int_not_equal(hwi_heap_blocks_add(&heaps, heap, 16, number), 0);
    hwi_heap_blocks_end_heap(&heaps, heap);
  }
  assert_int_equal(heaps.heap_count, 2);
  assert_int_equal(heaps.block_count, 2);
  assert_int_equal(hwi_heap_blocks_heap(&heaps, UINT32_MAX), first);
  assert_int_not_equal(hwi_heap_blocks_find(&heaps, first, 16), 0);
  hwi_heap_blocks_release(&heaps);
}

/* A forged recording, whose blocks of two heaps are one in the table of live blocks (heap_blocks.c). */
static void test_blocks_with_one_key(void **state)
{
  (void)state;
  const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15), low = 0xffff;
  const uint64_t one = UINT64_C(1) << 63, two = one + (golden & ~low) - (2 * golden & ~low);
  struct enc enc;
  const int chunk = begin_small(&enc);
  enc_heap(&enc, chunk, T + 1, &(struct enc_heap_event){HW_HEAP_ALLOC, 1, 1, 2, 10, one});
  enc_heap(&enc, chunk, T + 2, &(struct enc_heap_event){HW_HEAP_FREE, 2, 2, 2, 0, two});
  enc_heap(&enc, chunk, T + 3, &(struct enc_heap_event){HW_HEAP_ALLOC, 2, 2, 2, 7, two});
  enc_heap(&enc, chunk, T + 4, &(struct enc_heap_event){HW_HEAP_FREE, 1, 1, 2, 0, one});
  enc_heap(&enc, chunk, T + 5, &(struct enc_heap_event){HW_HEAP_RESET, 2, 2, 0, 0, 0});
  struct hwi_profile *profile = end_small(&enc);
  assert_int_equal(profile->heaps[1].unmatched_frees, 1);
  assert_int_equal(profile->heaps[1].missed_frees, 0);
  assert_int_equal(profile->heaps[1].peak_bytes, 7);
  assert_int_equal(profile->heaps[1].live_bytes, 0);
  hwi_profile_destroy(profile);
  hwi_profile_destroy(profile_of("*", &(struct hwi_span){0}));
}

/* Blocks that were allocated during a pause are freed later. */
static void test_a_pause(void **state)
{
  (void)state;
  struct enc enc;
  const int chunk = begin_small(&enc);
  for (uint64_t ns = 50; ns <= 500; ns += 150)
    enc_heap(&enc, chunk, T + ns, &(struct enc_heap_event){HW_HEAP_FREE, 1, 1, 0, 0, 0x10000});
  enc_tool(&enc, HW_TOOL_PAUSED, T + 100, "", 0);
  enc_tool(&enc, HW_TOOL_RESUMED, T + 150, "", 0);
  struct hwi_profile *profile = end_small(&enc);
  assert_int_equal(profile->heaps[0].free_calls, 4);
  assert_int_equal(profile->heaps[0].unmatched_frees, 1);
  hwi_profile_destroy(profile);
}

/* A scope without an end ends with its thread's last event, which may be of a heap. */
static void test_the_last_event_in_a_scope(void **state)
{
  (void)state;
  struct enc enc;
  const int chunk = begin_small(&enc);
  enc_scope(&enc, chunk, T + 100, HW_SCOPE_BEGIN, 2, 0);
  enc_heap(&enc, chunk, T + 900, &(struct enc_heap_event){HW_HEAP_ALLOC, 1, 1, 2, 8, 0x10000});
  struct hwi_profile *profile = end_small(&enc);
  assert_int_equal(profile->scopes[profile->scope_count - 1].left_open, 1);
  assert_int_equal(profile->scopes[profile->scope_count - 1].duration_ns, 800);
  hwi_profile_destroy(profile);
}

static void test_a_heap_that_is_not_there(void **state)
{
  (void)state;
  struct hwi_profile *profile;
  struct hwi_error error = {0};
  const struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST, .heap = "aren"};
  random_state = 3;
  write_trace(0, UINT64_MAX);
  assert_int_equal(hwi_profile_create(&profile, path, &options, &error), HW_ERR_USAGE);
  assert_non_null(strstr(error.text, "no heap is named 'aren'; the recording has "));
  for (int i = 0; i < NAMES; i++)
    assert_non_null(strstr(error.text, names[i]));
}

static int set_up(void **state)
{
  (void)state;
  int fd = mkstemp(path);
  if (fd >= 0)
    close(fd);
  return fd < 0;
}

static int tear_down(void **state)
{
  (void)state;
  return unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_runs),
      cmocka_unit_test(test_parts_of_runs),
      cmocka_unit_test(test_a_pattern),
      cmocka_unit_test(test_many_heaps_at_one_address),
      cmocka_unit_test(test_ended_heaps_take_no_memory),
      cmocka_unit_test(test_blocks_with_one_key),
      cmocka_unit_test(test_a_pause),
      cmocka_unit_test(test_the_last_event_in_a_scope),
      cmocka_unit_test(test_a_heap_that_is_not_there),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
