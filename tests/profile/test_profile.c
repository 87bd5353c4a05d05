/* test_profile.c - which events count, on small recordings; and runs of several images
 *
 * Breaks if the meaning of temporary, unmatched, silent or missed changes; if stacks that should be merged are not; if
 * the peak of a run's sum is wrong; or if blocks and nodes that a fork inherits are.
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
#include "profile/profile.h"
#include "same_counts.c"

static struct enc enc;
static struct hwi_profile *profile;
static char dir[] = "/tmp/hw-test-profile-XXXXXX";
static const uint64_t T = 1000000;

static const char *in_dir(const char *name)
{
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

/* A new trace whose only chunk is 0, with two nodes: 1 without an entry point, 2 with one. */
static void begin_trace(uint8_t image)
{
  enc_release(&enc);
  enc_init(&enc, image);
  enc_chunk(&enc, 0, 0, 0, T);
  enc_main(&enc, 0);
}

static int make(const char *name, enum hwi_image_choice images, uint32_t pid)
{
  struct hwi_profile_options options = {.images = images, .pid = pid};
  struct hwi_error error = {.text = ""};
  hwi_profile_destroy(profile);
  int status = hwi_profile_create(&profile, in_dir(name), &options, &error);
  assert_true(status == 0 || error.text[0]);
  if (status == 0)
    assert_same_counts(profile);
  return status;
}

static void write_and_make(const char *name)
{
  enc_write(&enc, in_dir(name));
  assert_int_equal(make(name, HWI_IMAGES_LARGEST, 0), 0);
}

static void remove_run(const char *name)
{
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s/%s' '%s/%s.children'", dir, name, dir, name);
  assert_int_equal(system(command), 0);
}

/* --- which events count --- */

static void test_temporary(void **state)
{
  (void)state;
  begin_trace(1);
  int other = enc_chunk(&enc, 1, 0, 1, T);
  enc_alloc(&enc, 0, T + 1, 2, 10, 0x10000);
  enc_free(&enc, 0, T + 2, 0x10000); /* 1: at once */
  enc_alloc(&enc, 0, T + 3, 2, 10, 0x10000);
  enc_alloc(&enc, 0, T + 4, 2, 10, 0x20000);
  enc_free(&enc, 0, T + 5, 0x10000);                       /* not temporary: there was another allocation */
  enc_realloc(&enc, 0, T + 6, 1, 2, 0x20000, 20, 0x30000); /* 2: the realloc frees the latest block first */
  enc_alloc(&enc, other, T + 8, 2, 10, 0x40000);           /* another thread's allocation does not matter */
  enc_free(&enc, other, T + 9, 0x30000);                   /* 3: whichever thread frees it */
  enc_failed(&enc, other, T + 10, 2, 1, 0);
  enc_free(&enc, 0, T + 11, 0x40000); /* 4: a failed call allocated nothing */
  write_and_make("t");
  assert_int_equal(profile->totals.temporary_calls, 4);
  assert_int_equal(profile->totals.failed_calls, 1);
  assert_int_equal(profile->totals.allocation_calls, 5);
  assert_int_equal(profile->totals.free_calls, 5);
}

static void test_frees_without_a_block(void **state)
{
  (void)state;
  begin_trace(1);
  enc_alloc(&enc, 0, T + 10, 2, 10, 0x10000);
  enc_alloc(&enc, 0, T + 20, 2, 30, 0x10000); /* its free was missed */
  enc_free(&enc, 0, T + 30, 0x50000);         /* unmatched */
  enc_free(&enc, 0, T + 500, 0x60000);        /* may have been allocated in the pause */
  enc_free(&enc, 0, T + 510, 0x10000);
  enc_tool(&enc, HW_TOOL_PAUSED, T + 100, "", 0);
  enc_tool(&enc, HW_TOOL_RESUMED, T + 400, "", 0);
  write_and_make("t");
  assert_int_equal(profile->totals.missed_frees, 1);
  assert_int_equal(profile->totals.unmatched_frees, 1);
  assert_int_equal(profile->totals.frees_of_silent_blocks, 1);
  assert_int_equal(profile->totals.free_calls, 3);
  assert_int_equal(profile->totals.live_blocks_at_end, 0);
  assert_int_equal(profile->totals.peak_bytes, 30);
  assert_int_equal(profile->stacks[1].free_calls, 1);
}

static void test_begun_paused(void **state)
{
  (void)state;
  begin_trace(1);
  enc_free(&enc, 0, T + 30, 0x50000);
  enc_tool(&enc, HW_TOOL_RESUMED, T + 400, "", 0);
  write_and_make("t");
  assert_int_equal(profile->totals.unmatched_frees, 0);
  assert_int_equal(profile->totals.frees_of_silent_blocks, 1);
}

static void test_usable_sizes(void **state)
{
  (void)state;
  begin_trace(1);
  enc.header.fields = enc.chunks[0].header.fields = HW_FIELD_USABLE;
  enc_alloc_usable(&enc, 0, T + 1, 2, 10, 24, 0x10000);
  enc_alloc_usable(&enc, 0, T + 2, 2, 100, 4000, 0x20000);
  enc_free(&enc, 0, T + 3, 0x20000);
  write_and_make("t");
  assert_int_equal(profile->totals.usable_bytes, 4024);
  assert_int_equal(profile->totals.peak_usable_bytes, 4024);
  assert_int_equal(profile->stacks[1].usable, 4024);
  assert_int_equal(profile->totals.peak_bytes, 110);
}

/* --- stacks --- */

/* A library that is loaded twice, at two places, is one library; another build of it is not. */
static void test_loads_of_a_library_meet(void **state)
{
  (void)state;
  begin_trace(1);
  static const char *const build[] = {"one", "one", "two"};
  for (uint32_t i = 0; i < 3; i++) {
    uint64_t start = 0x7f0000000000 + i * 0x100000;
    enc_module(&enc, 0, 2 + i, start, 0x1000, start, build[i], "/lib/plug.so");
    enc_node(&enc, 0, 3 + i, 1, 2 + i, HW_ENTRY_MALLOC, start + 0x500);
    enc_alloc(&enc, 0, T + 1 + i, 3 + i, 100, 0x10000 + i * 0x1000);
  }
  write_and_make("t");
  assert_int_equal(profile->stack_count, 3);
  assert_int_equal(profile->stacks[1].calls, 2);
  assert_int_equal(profile->stacks[1].own_peak_bytes, 200);
  assert_int_equal(profile->stacks[2].calls, 1);
  const struct hwi_frame *frame = &profile->frames[profile->stacks[1].frame];
  assert_string_equal(profile->modules[frame->module].path, "/lib/plug.so");
  assert_int_equal(frame->address - profile->modules[frame->module].bias, 0x500);
  assert_int_equal(profile->frames[frame->caller].address, 0x400100);
  assert_int_equal(hwi_profile_depth(profile, 1), 2);
}

/* One thread uses a node before the thread that made it has written the definitions of the node and of its module. */
static void test_a_node_that_is_defined_later(void **state)
{
  (void)state;
  begin_trace(1);
  int other = enc_chunk(&enc, 1, 0, 1, T + 5000);
  enc_alloc(&enc, 0, T + 1, 3, 8, 0x10000);
  for (uint64_t i = 0; i < 2000; i++) /* so that the definition is not read by chance, one batch ahead */
    enc_failed(&enc, 0, T + 2 + i, 2, 1, 0);
  enc_alloc(&enc, other, T + 6000, 3, 8, 0x20000);
  enc_module(&enc, other, 2, 0x7f0000000000, 0x1000, 0x7f0000000000, "late", "/lib/late.so");
  enc_node(&enc, other, 3, 1, 2, HW_ENTRY_CALLOC, 0x7f0000000100);
  write_and_make("t");
  assert_int_equal(profile->stack_count, 3);
  const struct hwi_stack *s = &profile->stacks[1];
  assert_int_equal(s->calls, 2);
  assert_int_equal(s->own_peak_bytes, 16);
  assert_int_equal(s->entry, HW_ENTRY_CALLOC);
  assert_string_equal(profile->modules[profile->frames[s->frame].module].path, "/lib/late.so");
}

/* Nodes that name each other as callers, and callers without a definition, end in a frame that reports it. */
static void test_forged_nodes_end(void **state)
{
  (void)state;
  begin_trace(1);
  enc_node(&enc, 0, 10, 11, 1, HW_ENTRY_MALLOC, 0x400300);
  enc_node(&enc, 0, 11, 10, 1, HW_ENTRY_MALLOC, 0x400400);
  enc_node(&enc, 0, 12, 99, 1, HW_ENTRY_MALLOC, 0x400500);
  enc_alloc(&enc, 0, T + 1, 10, 1, 0x10000);
  enc_alloc(&enc, 0, T + 2, 11, 1, 0x20000);
  enc_alloc(&enc, 0, T + 3, 12, 1, 0x30000);
  enc_alloc(&enc, 0, T + 4, 98, 1, 0x40000);
  write_and_make("t");
  assert_int_equal(profile->stack_count, 5);
  for (uint32_t i = 1; i < 4; i++) {
    uint32_t f = profile->stacks[i].frame;
    while (profile->frames[f].caller)
      f = profile->frames[f].caller;
    assert_true(profile->frames[f].cut);
  }
  assert_int_equal(profile->stacks[4].frame, 0); /* it is unknown */
  assert_int_equal(profile->stacks[4].calls, 1);
}

/* --- runs --- */

static void child_of(uint8_t image, uint8_t parent, uint32_t pid, uint64_t start)
{
  enc.header.pid = pid;
  memset(enc.header.image_id, image, HW_ID_BYTES);
  memset(enc.header.parent_image_id, parent, HW_ID_BYTES);
  enc.header.start = enc.header.last = (struct hw_anchor){start, start};
}

/* Two processes: 100 bytes from 10 to 200, and 60 from 120 to 150, then 500 from 300 to the end, when the first has
 * ended. */
static void make_run(void)
{
  begin_trace(1);
  enc_alloc(&enc, 0, T + 10, 2, 100, 0x10000);
  enc_free(&enc, 0, T + 200, 0x10000);
  enc_alloc(&enc, 0, T + 210, 2, 70, 0x10000);
  enc_tool(&enc, HW_TOOL_EXIT, T + 250, &(struct hw_exit_status){.code = 0}, sizeof(struct hw_exit_status));
  enc_write(&enc, in_dir("r"));
  assert_int_equal(mkdir(in_dir("r.children"), 0700), 0);
  begin_trace(2);
  child_of(2, 1, 101, T + 100);
  enc_alloc(&enc, 0, T + 120, 2, 60, 0x10000);
  enc_free(&enc, 0, T + 150, 0x10000);
  enc_alloc(&enc, 0, T + 300, 2, 500, 0x10000);
  enc_write(&enc, in_dir("r.children/child.101.hwt"));
}

static void test_the_largest_image_is_shown(void **state)
{
  (void)state;
  make_run();
  assert_int_equal(make("r", HWI_IMAGES_LARGEST, 0), 0);
  assert_int_equal(profile->image_count, 2);
  assert_false(profile->images[0].counted);
  assert_int_equal(profile->images[0].totals.allocated_bytes, 170);
  assert_int_equal(profile->images[0].info->header.pid, 100);
  assert_true(profile->images[1].counted);
  assert_int_equal(profile->totals.allocated_bytes, 560);
  assert_int_equal(profile->totals.peak_bytes, 500);
  assert_int_equal(profile->totals.peak_time_ns, 200);
  assert_int_equal(profile->threads[0].image, 1);
  assert_int_equal(make("r", HWI_IMAGES_PID, 100), 0);
  assert_int_equal(profile->totals.allocated_bytes, 170);
  assert_int_equal(make("r", HWI_IMAGES_PID, 7), HW_ERR_USAGE);
  assert_int_equal(make("r.children/child.101.hwt", HWI_IMAGES_ALL, 0), 0);
  assert_int_equal(profile->image_count, 1);
  remove_run("r");
}

static void test_the_peak_of_the_sum(void **state)
{
  (void)state;
  make_run();
  assert_int_equal(make("r.children", HWI_IMAGES_ALL, 0), 0);
  const struct hwi_totals *t = &profile->totals;
  assert_int_equal(t->allocation_calls, 4);
  assert_int_equal(t->allocated_bytes, 730);
  assert_int_equal(t->peak_bytes, 500); /* the first process has ended: its 70 bytes are freed */
  assert_int_equal(t->peak_time_ns, 300);
  assert_int_equal(t->live_bytes_at_end, 570);
  assert_int_equal(t->live_blocks_at_end, 2);
  assert_int_equal(profile->stack_count, 2); /* both came from the same frames */
  const struct hwi_stack *s = &profile->stacks[1];
  assert_int_equal(s->calls, 4);
  assert_int_equal(s->live_bytes, 570);
  assert_int_equal(s->peak_bytes, 500);
  assert_int_equal(s->own_peak_bytes, 500);
  assert_int_equal(s->free_calls, 2);
  assert_int_equal(profile->images[0].totals.peak_bytes, 100);
  assert_int_equal(profile->images[1].totals.peak_time_ns, 200); /* since its own start */
  assert_int_equal(profile->thread_count, 2);
  uint64_t most = 0;
  for (uint32_t i = 0; i < profile->timeline_count; i++)
    if (profile->timeline[i].ns > 100 && profile->timeline[i].ns <= 200 && profile->timeline[i].max_bytes > most)
      most = profile->timeline[i].max_bytes;
  assert_int_equal(most, 160); /* both together */
  remove_run("r");
}

/* A child, and the child's child: their stacks are the parent's, and so are the blocks that they free. */
static void make_forked_run(void)
{
  begin_trace(1);
  enc_alloc(&enc, 0, T + 10, 2, 100, 0x10000);
  enc_alloc(&enc, 0, T + 20, 2, 200, 0x20000);
  enc_write(&enc, in_dir("f"));
  assert_int_equal(mkdir(in_dir("f.children"), 0700), 0);
  for (uint8_t i = 0; i < 2; i++) {
    enc_release(&enc);
    enc_init(&enc, 1);
    child_of((uint8_t)(2 + i), (uint8_t)(1 + i), 101 + i, T + 100 + i * 100u);
    enc.header.origin = HW_ORIGIN_FORK;
    enc.header.inherited_nodes = 3 + i;
    enc.header.inherited_modules = 2;
    int c = enc_chunk(&enc, 0, 0, 0, enc.header.start.clock);
    uint64_t t = enc.header.start.clock;
    enc_node(&enc, c, 3 + i, 1, 1, HW_ENTRY_CALLOC, 0x400300 + i);
    enc_free(&enc, c, t + 1, 0x10000);
    enc_alloc(&enc, c, t + 2, 2, 5, 0x10000);
    enc_free(&enc, c, t + 3, 0x10000);
    enc_free(&enc, c, t + 4, 0x10000); /* belongs to no image */
    enc_alloc(&enc, c, t + 5, 3, 1000 + i, 0x30000);
    enc_write(&enc, in_dir(i ? "f.children/b.hwt" : "f.children/a.hwt"));
  }
}

static void test_what_comes_with_a_fork(void **state)
{
  (void)state;
  make_forked_run();
  assert_int_equal(make("f", HWI_IMAGES_ALL, 0), 0);
  assert_int_equal(profile->image_count, 3);
  assert_int_equal(profile->stack_count, 3); /* malloc at 0x400200, calloc at 0x400300 */
  assert_int_equal(profile->stacks[1].calls, 4);
  assert_int_equal(profile->stacks[2].calls, 2);
  assert_int_equal(profile->stacks[2].entry, HW_ENTRY_CALLOC);
  assert_int_equal(profile->frames[profile->frames[profile->stacks[2].frame].caller].address, 0x400100);
  assert_int_equal(profile->totals.inherited_frees, 2);
  assert_int_equal(profile->totals.unmatched_frees, 2);
  assert_int_equal(profile->totals.free_calls, 6);
  assert_int_equal(profile->images[1].totals.peak_bytes, 1000); /* inherited bytes are its parent's */
  /* Also for a single image: the parents are found next to its file. */
  assert_int_equal(make("f.children/b.hwt", HWI_IMAGES_LARGEST, 0), 0);
  assert_int_equal(profile->image_count, 1);
  assert_false(profile->images[0].info->parent_missing);
  assert_int_equal(profile->stacks[2].entry, HW_ENTRY_CALLOC);
  remove_run("f");
}

static void test_a_parent_that_is_gone(void **state)
{
  (void)state;
  make_forked_run();
  unlink(in_dir("f"));
  assert_int_equal(make("f.children/a.hwt", HWI_IMAGES_LARGEST, 0), 0);
  assert_true(profile->images[0].info->parent_missing);
  assert_int_equal(profile->totals.allocation_calls, 2);
  assert_int_equal(profile->stacks[1].frame, 0);     /* an inherited node */
  assert_int_not_equal(profile->stacks[2].frame, 0); /* its own, below an inherited one */
  assert_true(profile->frames[profile->frames[profile->stacks[2].frame].caller].cut);
  remove_run("f");
}

/* Two forged images that name each other as parent. */
static void test_parents_in_a_ring(void **state)
{
  (void)state;
  make_forked_run();
  enc_release(&enc);
  for (uint8_t i = 0; i < 2; i++) {
    enc_init(&enc, 1);
    child_of((uint8_t)(8 + i), (uint8_t)(9 - i), 200, T);
    enc.header.origin = HW_ORIGIN_FORK;
    enc.header.inherited_nodes = 100;
    enc_chunk(&enc, 0, 0, 0, T);
    enc_alloc(&enc, 0, T + 1, 50, 1, 0x10000);
    enc_write(&enc, in_dir(i ? "f.children/y.hwt" : "f.children/x.hwt"));
    enc_release(&enc);
  }
  assert_int_equal(make("f", HWI_IMAGES_ALL, 0), 0);
  assert_int_equal(profile->image_count, 5);
  remove_run("f");
}

static void test_files_that_do_not_belong(void **state)
{
  (void)state;
  make_run();
  FILE *note = fopen(in_dir("r.children/note.hwt"), "w");
  assert_non_null(note);
  fputs("not a trace", note);
  fclose(note);
  begin_trace(9);
  memset(enc.header.run_id, 99, HW_ID_BYTES);
  enc_write(&enc, in_dir("r.children/stranger.hwt"));
  assert_int_equal(make("r", HWI_IMAGES_ALL, 0), 0);
  assert_int_equal(profile->image_count, 2);
  assert_int_equal(profile->unreadable_images, 2);
  remove_run("r");
}

static int clean(void **state)
{
  (void)state;
  hwi_profile_destroy(profile);
  enc_release(&enc);
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command);
}

int main(void)
{
  if (!mkdtemp(dir))
    return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_temporary),
      cmocka_unit_test(test_frees_without_a_block),
      cmocka_unit_test(test_begun_paused),
      cmocka_unit_test(test_usable_sizes),
      cmocka_unit_test(test_loads_of_a_library_meet),
      cmocka_unit_test(test_a_node_that_is_defined_later),
      cmocka_unit_test(test_forged_nodes_end),
      cmocka_unit_test(test_the_largest_image_is_shown),
      cmocka_unit_test(test_the_peak_of_the_sum),
      cmocka_unit_test(test_what_comes_with_a_fork),
      cmocka_unit_test(test_a_parent_that_is_gone),
      cmocka_unit_test(test_parents_in_a_ring),
      cmocka_unit_test(test_files_that_do_not_belong),
  };
  return cmocka_run_group_tests(tests, NULL, clean);
}
