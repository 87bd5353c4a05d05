/* test_random.c - the profile of random recordings, compared with the naive model
 *
 * Breaks if any figure of a stack, size, thread or pair is wrong; also steps of growth, blocks freed together,
 * handovers; the merge of streams; halves of a realloc that are far apart; ties; a replay for the totals alone, or one
 * that reports its events; the contents of a summary; intervals and moments; runs of several images. A failing case
 * prints its seed; HW_TEST_SEED runs that case alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/encoder.c"
#include "naive.c"
#include "profile/profile.h"
#include "same_counts.c"
#include "same_events.c"
#include "same_lists.c"
#include "same_parts.c"
#include "same_restored.c"

/* Sanitizers make each case several times slower, and look for other faults than wrong figures: fewer cases are enough. */
#ifdef HW_SANITIZED
enum { CASES = 200, RUNS = 40 };
#else
enum { CASES = 700, RUNS = 150 };
#endif
enum {
  MOST_CHILDREN = 3,
  MOST_EVENTS = 260,
  MOST_THREADS = 5,
  SLOTS = 24, /* addresses of the simulated heap */
  INNER_NODES = 6,
  LEAF_NODES = 7,
  CHUNK_EVENTS = 40,
  REPORTED_EACH = 5, /* reports take a long time */
  MOST_EPOCH_EVENTS = 70,
};
static const uint64_t START = 1000000, MODULE_START = 0x400000, FIRST_ADDRESS = 0x100000;

static struct enc enc;
static struct naive naive;
static bool has_usable; /* the recording has usable sizes */
static char path[] = "/tmp/hw-test-random-XXXXXX";

/* --- a random recording --- */

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % limit;
}

/* A thread's unfinished event: the new block of a realloc is to come. */
struct thread {
  int chunk, sequence, events;
  uint64_t tick; /* of its last event */
  bool moving;
  uint64_t move_tick, old, size;
  uint32_t node;
  int move_event; /* in the naive model: the end of the old block */
};

struct heap {
  struct thread threads[MOST_THREADS];
  bool live[SLOTS];
  uint64_t now; /* exact time; a tick is `coarse` of these */
  uint64_t coarse;
  bool faulty; /* frees of unknown blocks and missed frees occur */
};

static uint64_t address_of(uint32_t slot)
{
  return FIRST_ADDRESS + slot * 48;
}

/* With ties, it can be unknowable which of two blocks is at an address: then an address has one size and one stack. */
static uint64_t size_for(const struct heap *heap, uint32_t slot)
{
  return heap->coarse > 1 ? 10 + slot : below(6) * 40;
}

static uint32_t node_for(const struct heap *heap, uint32_t slot)
{
  return INNER_NODES + 1 + (heap->coarse > 1 ? slot % LEAF_NODES : below(LEAF_NODES));
}

/* Every other leaf is an operator new. */
static uint8_t entry_of(uint32_t node)
{
  return node <= INNER_NODES ? HW_ENTRY_NONE : node % 2 ? HW_ENTRY_MALLOC : HW_ENTRY_NEW;
}

static void define_nodes(int chunk)
{
  enc_module(&enc, chunk, 1, MODULE_START, 0x1000, MODULE_START, "build", "/bin/thing");
  for (uint32_t n = 1; n <= INNER_NODES + LEAF_NODES; n++)
    enc_node(&enc, chunk, n, n == 1 ? 0 : 1 + below(n - 1 < INNER_NODES ? n - 1 : INNER_NODES), 1, entry_of(n),
             MODULE_START + n * 16);
}

/* Sometimes a new chunk, packed, raw or both. */
static int chunk_for(struct heap *heap, uint32_t number)
{
  struct thread *t = &heap->threads[number];
  if (t->chunk < 0 || t->events >= CHUNK_EVENTS) {
    t->chunk = enc_chunk(&enc, number, (uint32_t)t->sequence++, number, t->tick);
    t->events = 0;
    uint32_t where = below(4);
    enc.chunks[t->chunk].header.fields = has_usable ? HW_FIELD_USABLE : 0;
    enc.chunks[t->chunk].in_raw = where != 0;
    enc.chunks[t->chunk].in_packed = where < 2;
    if (t->sequence == 1)
      enc_thread(&enc, t->chunk, number, 1000 + number, "worker");
  }
  t->events++;
  return t->chunk;
}

/* All events the same way in turn: a block can live and die within one tick, on two threads. */
static uint64_t stamp(const struct heap *heap, const struct thread *t)
{
  uint64_t tick = heap->now / heap->coarse;
  return tick > t->tick ? tick : t->tick;
}

static struct naive_event *note(enum naive_kind kind, uint32_t thread, uint32_t node, uint64_t tick, uint64_t address,
                                uint64_t size)
{
  naive_add(&naive, (struct naive_event){.kind = kind,
                                         .thread = thread,
                                         .node = node,
                                         .ns = tick - START,
                                         .address = address,
                                         .size = size,
                                         .moved_from = NAIVE_NONE,
                                         .is_new = kind == NAIVE_ALLOC && entry_of(node) == HW_ENTRY_NEW});
  return &naive.events[naive.count - 1];
}

static int find_slot(const struct heap *heap, bool live)
{
  uint32_t start = below(SLOTS);
  for (uint32_t i = 0; i < SLOTS; i++) {
    uint32_t slot = (start + i) % SLOTS;
    if (heap->live[slot] == live)
      return (int)slot;
  }
  return -1;
}

static int count_free(const struct heap *heap)
{
  int count = 0;
  for (int i = 0; i < SLOTS; i++)
    count += !heap->live[i];
  return count;
}

static void finish_move(struct heap *heap, uint32_t number)
{
  struct thread *t = &heap->threads[number];
  int slot = find_slot(heap, false);
  if (slot < 0)
    return;
  uint64_t tick = stamp(heap, t);
  t->size = size_for(heap, (uint32_t)slot);
  t->node = node_for(heap, (uint32_t)slot);
  enc_realloc(&enc, chunk_for(heap, number), t->move_tick, tick - t->move_tick, t->node, t->old, t->size,
              address_of((uint32_t)slot));
  struct naive_event *event = note(NAIVE_ALLOC, number, t->node, tick, address_of((uint32_t)slot), t->size);
  event->moved_from = t->move_event;
  event->usable = has_usable ? usual_usable(t->size) : 0;
  heap->live[slot] = true;
  t->tick = tick;
  t->moving = false;
}

static void allocate(struct heap *heap, uint32_t number)
{
  struct thread *t = &heap->threads[number];
  bool onto_live = heap->faulty && below(20) == 0;
  int slot = find_slot(heap, onto_live);
  if (slot < 0 || count_free(heap) <= MOST_THREADS) /* each thread may have a move to finish */
    return;
  uint64_t size = size_for(heap, (uint32_t)slot), tick = stamp(heap, t);
  uint32_t node = node_for(heap, (uint32_t)slot);
  uint64_t usable = usual_usable(size) + (heap->coarse > 1 ? 0 : below(2) * 16);
  enc_alloc_usable(&enc, chunk_for(heap, number), tick, node, size, usable, address_of((uint32_t)slot));
  note(NAIVE_ALLOC, number, node, tick, address_of((uint32_t)slot), size)->usable = has_usable ? usable : 0;
  heap->live[slot] = true;
  t->tick = tick;
}

static void release(struct heap *heap, uint32_t number, bool move)
{
  struct thread *t = &heap->threads[number];
  bool unknown = heap->faulty && !move && below(20) == 0;
  int slot = find_slot(heap, !unknown);
  if (slot < 0)
    return;
  uint64_t tick = stamp(heap, t), address = address_of((uint32_t)slot);
  bool is_delete = !move && below(2) == 0;
  if (move) {
    t->moving = true;
    t->move_tick = tick;
    t->old = address;
  } else if (is_delete) {
    enc_delete(&enc, chunk_for(heap, number), tick, address);
  } else {
    enc_free(&enc, chunk_for(heap, number), tick, address);
  }
  struct naive_event *event = note(NAIVE_FREE, number, 0, tick, address, 0);
  event->is_delete = is_delete;
  event->is_moving = move;
  t->move_event = naive.count - 1;
  heap->live[slot] = false;
  t->tick = tick;
}

static void fail_call(struct heap *heap, uint32_t number)
{
  struct thread *t = &heap->threads[number];
  uint64_t tick = stamp(heap, t);
  uint32_t node = node_for(heap, 0);
  enc_failed(&enc, chunk_for(heap, number), tick, node, 1 << 30, 0);
  note(NAIVE_FAILED, number, node, tick, 0, 1 << 30);
  t->tick = tick;
}

static void make_recording(struct heap *heap, uint64_t seed)
{
  random_state = seed * 7919 + 1;
  enc_init(&enc, 1);
  has_usable = seed % 3 == 0;
  enc.header.fields = has_usable ? HW_FIELD_USABLE : 0;
  enc.chunks_a_section = 1 + (int)below(4);
  naive.count = naive.first = 0;
  *heap = (struct heap){.now = START, .coarse = 1, .faulty = below(4) == 0};
  uint32_t threads = 1 + below(MOST_THREADS);
  if (seed % 2 == 0) {
    heap->coarse = 1 + below(60);
    heap->faulty = heap->faulty && heap->coarse == 1;
  }
  heap->now *= heap->coarse;
  for (uint32_t i = 0; i < threads; i++)
    heap->threads[i] = (struct thread){.chunk = -1, .tick = START};
  define_nodes(chunk_for(heap, below(threads)));
  for (uint32_t i = below(MOST_EVENTS); i > 0; i--) {
    heap->now += 1 + below(heap->coarse > 1 ? 12 : 30);
    uint32_t number = below(threads);
    uint32_t what = below(heap->threads[number].moving ? 1 : 100);
    if (heap->threads[number].moving)
      finish_move(heap, number);
    else if (what < 50)
      allocate(heap, number);
    else if (what < 80)
      release(heap, number, false);
    else if (what < 95)
      release(heap, number, true);
    else
      fail_call(heap, number);
  }
  for (uint32_t i = 0; i < threads; i++) { /* a move that never ended would not be an event */
    heap->now += heap->coarse;
    if (heap->threads[i].moving)
      finish_move(heap, i);
  }
  if (below(2)) /* according to the header, the run took some time more or less than it did */
    enc.header.last = (struct hw_anchor){enc.header.start.clock + heap->now / heap->coarse - START + below(50),
                                         enc.header.start.monotonic_ns + heap->now / heap->coarse - START + below(50)};
  naive_solve(&naive);
}

/* --- comparison --- */

static struct naive_filter of(uint64_t thread, uint64_t node, uint64_t size)
{
  return (struct naive_filter){thread, node, size, NAIVE_ANY};
}

static uint64_t node_of(const struct hwi_profile *p, uint32_t stack)
{
  return (p->frames[p->stacks[stack].frame].address - MODULE_START) / 16;
}

static void check_totals(const struct hwi_profile *p, bool exact)
{
  struct naive_sum all = naive_sum(&naive, of(NAIVE_ANY, NAIVE_ANY, NAIVE_ANY));
  uint64_t frees = 0, unmatched = 0;
  for (int i = naive.first; i < naive.count; i++) {
    frees += naive.events[i].kind == NAIVE_FREE;
    unmatched += naive.events[i].kind == NAIVE_FREE && naive.events[i].birth == NAIVE_NONE;
  }
  assert_int_equal(p->totals.allocation_calls, all.calls);
  assert_int_equal(p->totals.allocated_bytes, all.bytes);
  assert_int_equal(p->totals.free_calls, frees);
  assert_int_equal(p->totals.failed_calls, all.failed);
  assert_int_equal(p->totals.live_blocks_at_end, all.live_blocks);
  assert_int_equal(p->totals.live_bytes_at_end, all.live_bytes);
  assert_int_equal(p->totals.unmatched_frees, unmatched);
  assert_int_equal(p->totals.missed_frees, all.missed);
  if (!exact)
    return;
  assert_int_equal(p->totals.temporary_calls, all.temporary);
  assert_int_equal(p->totals.peak_bytes, naive.peak_bytes);
  assert_int_equal(p->totals.peak_blocks, all.peak_blocks);
  uint64_t peak_ns = naive.peak >= naive.first ? naive.events[naive.peak].ns : p->span.from_ns;
  assert_int_equal(p->totals.peak_time_ns, peak_ns);
  assert_int_equal(p->totals.live_blocks_at_start, all.start_blocks);
  assert_int_equal(p->totals.live_bytes_at_start, all.start_bytes);
}

static void check_stacks(const struct hwi_profile *p)
{
  uint64_t peak = 0;
  for (uint32_t i = 1; i < p->stack_count; i++) {
    const struct hwi_stack *s = &p->stacks[i];
    struct naive_sum sum = naive_sum(&naive, of(NAIVE_ANY, node_of(p, i), NAIVE_ANY));
    assert_int_equal(s->calls, sum.calls);
    assert_int_equal(s->bytes, sum.bytes);
    assert_int_equal(s->free_calls, sum.frees);
    assert_int_equal(s->temporary_calls, sum.temporary);
    assert_int_equal(s->failed_calls, sum.failed);
    assert_int_equal(s->start_blocks, sum.start_blocks);
    assert_int_equal(s->start_bytes, sum.start_bytes);
    assert_int_equal(s->live_blocks, sum.live_blocks);
    assert_int_equal(s->live_bytes, sum.live_bytes);
    assert_int_equal(s->peak_blocks, sum.peak_blocks);
    assert_int_equal(s->peak_bytes, sum.peak_bytes);
    assert_int_equal(s->own_peak_bytes, sum.own_peak_bytes);
    assert_int_equal(s->first_ns, sum.first_ns);
    assert_int_equal(s->last_ns, sum.last_ns);
    assert_int_equal(s->smallest, sum.smallest);
    assert_int_equal(s->largest, sum.largest);
    assert_memory_equal(s->lifetimes, sum.lifetimes, sizeof s->lifetimes);
    assert_int_equal(s->usable, sum.usable);
    assert_int_equal(s->peak_usable, sum.peak_usable);
    assert_int_equal(s->entry, entry_of((uint32_t)node_of(p, i)));
    peak += s->peak_bytes;
  }
  assert_int_equal(peak, p->totals.peak_bytes);
}

static void check_sizes(const struct hwi_profile *p)
{
  for (uint32_t i = 0; i < p->size_count; i++) {
    const struct hwi_size *s = &p->sizes[i];
    struct naive_sum sum = naive_sum(&naive, of(NAIVE_ANY, NAIVE_ANY, s->size));
    assert_int_equal(s->calls, sum.calls);
    assert_int_equal(s->live_blocks, sum.live_blocks);
    assert_int_equal(s->peak_blocks, sum.peak_blocks);
    assert_int_equal(s->own_peak_blocks, sum.own_peak_blocks);
    assert_int_equal(s->temporary_calls, sum.temporary);
    assert_int_equal(s->peak_usable, sum.peak_usable);
    assert_true(i == 0 || s->size > s[-1].size);
  }
}

static void check_threads(const struct hwi_profile *p)
{
  for (uint32_t i = 0; i < p->thread_count; i++) {
    const struct hwi_profile_thread *t = &p->threads[i];
    struct naive_sum sum = naive_sum(&naive, of(t->number, NAIVE_ANY, NAIVE_ANY));
    uint64_t frees = 0, foreign = 0;
    for (int k = naive.first; k < naive.count; k++) {
      const struct naive_event *e = &naive.events[k];
      frees += e->kind == NAIVE_FREE && e->thread == t->number;
      foreign += e->kind == NAIVE_FREE && e->thread == t->number && e->birth != NAIVE_NONE &&
                 naive.events[e->birth].thread != t->number;
    }
    assert_int_equal(t->tid, 1000 + t->number);
    assert_string_equal(t->name, "worker");
    assert_int_equal(t->allocation_calls, sum.calls);
    assert_int_equal(t->allocated_bytes, sum.bytes);
    assert_int_equal(t->temporary_calls, sum.temporary);
    assert_int_equal(t->failed_calls, sum.failed);
    assert_int_equal(t->free_calls, frees);
    assert_int_equal(t->foreign_frees, foreign);
    assert_int_equal(t->live_bytes, sum.live_bytes);
    assert_int_equal(t->live_blocks, sum.live_blocks);
    assert_int_equal(t->peak_bytes, sum.peak_bytes);
    assert_int_equal(t->own_peak_bytes, sum.own_peak_bytes);
  }
}

static void check_cells(const struct hwi_profile *p)
{
  uint64_t calls = 0;
  for (uint32_t i = 0; i < p->cell_count; i++) {
    const struct hwi_profile_cell *s = &p->cells[i];
    struct naive_filter filter = of(p->threads[s->thread].number, node_of(p, s->stack), p->sizes[s->size].size);
    filter.usable = s->usable;
    struct naive_sum sum = naive_sum(&naive, filter);
    assert_true(i == 0 || s->stack >= p->cells[i - 1].stack);
    assert_int_equal(s->calls, sum.calls);
    assert_int_equal(s->temporary_calls, sum.temporary);
    assert_int_equal(s->peak_blocks, sum.peak_blocks);
    assert_int_equal(s->live_blocks, sum.live_blocks);
    calls += s->calls;
  }
  assert_int_equal(calls, p->totals.allocation_calls);
}

/* The bytes live after event i; the live bytes at the start of a slice count for it. */
static void check_timeline(const struct hwi_profile *p)
{
  struct naive_sum all = naive_sum(&naive, of(NAIVE_ANY, NAIVE_ANY, NAIVE_ANY));
  uint64_t level = all.start_bytes, blocks = all.start_blocks;
  int i = naive.first;
  assert_true(p->timeline_count >= 1 && p->timeline_count <= 2000);
  for (uint32_t k = 0; k < p->timeline_count; k++) {
    const struct hwi_time_point *point = &p->timeline[k];
    uint64_t most = level, calls = 0, frees = 0, bytes = 0;
    for (; i < naive.count && naive.events[i].ns < point->ns; i++) {
      const struct naive_event *e = &naive.events[i];
      calls += e->kind == NAIVE_ALLOC;
      bytes += e->kind == NAIVE_ALLOC ? e->size : 0;
      frees += e->kind == NAIVE_FREE;
      for (int b = 0; b < i; b++) {
        if (naive.events[b].kind == NAIVE_ALLOC && naive.events[b].death == i) {
          level -= naive.events[b].size;
          blocks--;
        }
      }
      level += e->kind == NAIVE_ALLOC ? e->size : 0;
      blocks += e->kind == NAIVE_ALLOC;
      most = level > most ? level : most;
    }
    assert_int_equal(point->max_bytes, most);
    assert_int_equal(point->live_bytes, level);
    assert_int_equal(point->live_blocks, blocks);
    assert_int_equal(point->allocation_calls, calls);
    assert_int_equal(point->allocated_bytes, bytes);
    assert_int_equal(point->free_calls, frees);
  }
  assert_int_equal(i, naive.count);
}

static void check_lists(const struct hwi_profile *p)
{
  uint32_t nodes[INNER_NODES + LEAF_NODES + 2] = {0};
  for (uint32_t i = 1; i < p->stack_count; i++)
    nodes[i] = (uint32_t)node_of(p, i);
  assert_same_lists(p, &naive, nodes);
}

static uint64_t current_seed;

/* Returns the first event that is not before `ns`. */
static int find_event(uint64_t ns)
{
  int i = 0;
  while (i < naive.count && naive.events[i].ns < ns)
    i++;
  return i;
}

static void check_part(const struct hwi_span *span, int first, int end)
{
  struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST, .span = *span};
  struct hwi_profile *profile;
  struct hwi_error error;
  if (hwi_profile_create(&profile, path, &options, &error) < 0)
    fail_msg("seed %llu: %s", (unsigned long long)current_seed, error.text);
  int all = naive.count;
  naive.first = first;
  naive.count = end;
  naive_solve(&naive);
  check_totals(profile, true);
  check_stacks(profile);
  check_sizes(profile);
  check_threads(profile);
  check_cells(profile);
  check_lists(profile);
  if (span->kind == HWI_SPAN_INTERVAL)
    check_timeline(profile);
  else
    assert_int_equal(profile->timeline_count, 0);
  naive.first = 0;
  naive.count = all;
  naive_solve(&naive);
  hwi_profile_destroy(profile);
}

/* For the whole run, whose duration and peak are known. */
static void check_parts(uint64_t duration_ns, uint64_t peak_ns, uint64_t peak_bytes)
{
  uint64_t a = below((uint32_t)duration_ns + 20), b = below((uint32_t)duration_ns + 20);
  struct hwi_span span = {.kind = HWI_SPAN_INTERVAL, .from_ns = a < b ? a : b, .to_ns = a < b ? b : a};
  check_part(&span, find_event(span.from_ns), find_event(span.to_ns));
  span.to_ns = UINT64_MAX;
  check_part(&span, find_event(span.from_ns), naive.count);
  span = (struct hwi_span){.kind = HWI_SPAN_MOMENT, .from_ns = a};
  check_part(&span, find_event(a + 1), find_event(a + 1));
  span = (struct hwi_span){.kind = HWI_SPAN_MOMENT, .from_ns = peak_ns, .bytes = peak_bytes};
  if (peak_bytes)
    check_part(&span, naive.peak + 1, naive.peak + 1);
}

static void run_case(uint64_t seed)
{
  current_seed = seed;
  struct heap heap;
  make_recording(&heap, seed);
  enc_write(&enc, path);
  struct hwi_profile_options options = {.images = HWI_IMAGES_LARGEST};
  struct hwi_profile *profile;
  struct hwi_error error;
  if (hwi_profile_create(&profile, path, &options, &error) < 0)
    fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
  assert_int_equal(profile->images[0].info->damaged_chunks, 0);
  assert_int_equal(profile->images[0].info->missing_chunks, 0);
  check_totals(profile, heap.coarse == 1);
  if (heap.coarse == 1) {
    check_stacks(profile);
    check_sizes(profile);
    check_threads(profile);
    check_cells(profile);
    check_lists(profile);
    check_timeline(profile);
  }
  assert_same_counts(profile);
  assert_same_events(profile, path, options);
  if (seed % REPORTED_EACH == 0) {
    assert_same_restored(profile, path, options);
    int parts = assert_same_parts(path, options, 1 + below(MOST_EPOCH_EVENTS), below);
    assert_int_equal(parts, profile->cell_count + profile->totals.free_calls ? PARTS : 0);
  }
  if (heap.coarse == 1)
    check_parts(profile->duration_ns, profile->totals.peak_time_ns, profile->totals.peak_bytes);
  hwi_profile_destroy(profile);
  enc_release(&enc);
}

/* --- runs --- */

/* Makes the recording an image of the run: the first one, or a child that began some time later, by a fork or not. */
static void make_image(uint32_t number)
{
  uint64_t start = START + (number ? below(4000) : 0);
  enc.header.pid += number;
  memset(enc.header.image_id, (int)number + 1, HW_ID_BYTES);
  memset(enc.header.parent_image_id, number ? 1 : 0, HW_ID_BYTES);
  enc.header.start = enc.header.last = (struct hw_anchor){START, start}; /* events carry ticks from START on */
  if (number && below(2))
    enc.header.origin = HW_ORIGIN_FORK;
  if (below(4) == 0)
    enc_tool(&enc, HW_TOOL_PAUSED, start + below(2000), "", 0);
}

static void check_run(const char *name)
{
  struct hwi_profile *profile;
  struct hwi_error error;
  for (int images = HWI_IMAGES_LARGEST; images <= HWI_IMAGES_ALL; images++) {
    struct hwi_profile_options options = {.images = (enum hwi_image_choice)images};
    if (hwi_profile_create(&profile, name, &options, &error) < 0)
      fail_msg("seed %llu: %s", (unsigned long long)current_seed, error.text);
    assert_same_counts(profile);
    assert_same_events(profile, name, options);
    if (current_seed % REPORTED_EACH == 0) {
      assert_same_restored(profile, name, options);
      assert_same_parts(name, options, 1 + below(MOST_EPOCH_EVENTS), below);
    }
    uint64_t a = below((uint32_t)profile->duration_ns + 20), b = below((uint32_t)profile->duration_ns + 20);
    hwi_profile_destroy(profile);
    options.span = (struct hwi_span){.kind = HWI_SPAN_INTERVAL, .from_ns = a < b ? a : b, .to_ns = a < b ? b : a};
    assert_int_equal(hwi_profile_create(&profile, name, &options, &error), 0);
    assert_same_events(profile, name, options);
    hwi_profile_destroy(profile);
  }
}

/* The naive model knows only one image; so full and brief replays are compared with each other. */
static void run_several(uint64_t seed)
{
  char children[sizeof path + sizeof ".children"], name[sizeof children + 16];
  snprintf(children, sizeof children, "%s.children", path);
  assert_int_equal(mkdir(children, 0700), 0);
  current_seed = seed;
  uint32_t count = 2 + (uint32_t)(seed % MOST_CHILDREN);
  for (uint32_t i = 0; i < count; i++) {
    struct heap heap;
    make_recording(&heap, seed * MOST_CHILDREN * 2 + i);
    make_image(i);
    snprintf(name, sizeof name, "%s/%u.hwt", children, i);
    enc_write(&enc, i ? name : path);
    enc_release(&enc);
  }
  check_run(path);
  for (uint32_t i = 1; i < count; i++) {
    snprintf(name, sizeof name, "%s/%u.hwt", children, i);
    unlink(name);
  }
  rmdir(children);
}

static void test_random_recordings(void **state)
{
  (void)state;
  const char *seed = getenv("HW_TEST_SEED");
  if (seed) {
    run_case(strtoull(seed, NULL, 10));
    return;
  }
  for (uint64_t i = 0; i < CASES; i++)
    run_case(i);
}

static void test_random_runs(void **state)
{
  (void)state;
  for (uint64_t i = 0; i < RUNS; i++)
    run_several(i);
}

/* After a failure: the case that failed. */
static int print_seed(void **state)
{
  (void)state;
  print_message("last seed: %llu\n", (unsigned long long)current_seed);
  return 0;
}

int main(void)
{
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_random_recordings, print_seed),
      cmocka_unit_test_teardown(test_random_runs, print_seed),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(path);
  return failed;
}
