/* same_lists.c - compares the lists of a profile that are not sums over cells with the naive model */
#include "same_lists.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct hwi_stack_resizes *resizes_of(const struct hwi_profile *p, uint32_t stack)
{
  for (uint32_t i = 0; i < p->resize_count; i++)
    if (p->resizes[i].stack == stack)
      return &p->resizes[i];
  return NULL;
}

static void check_resizes(const struct hwi_profile *p, const struct naive *naive, uint32_t stack, uint32_t node)
{
  struct naive_steps sum = naive_steps(naive, node);
  const struct hwi_stack_resizes *found = resizes_of(p, stack);
  assert_int_equal(found != NULL, sum.steps > 0);
  if (!found)
    return;
  assert_int_equal(found->steps.steps, sum.steps);
  assert_int_equal(found->steps.moved, sum.moved);
  assert_int_equal(found->steps.copied_bytes, sum.copied_bytes);
  assert_int_equal(found->steps.grown, sum.grown);
  assert_int_equal(found->steps.grown_copied_bytes, sum.grown_copied_bytes);
  assert_int_equal(found->final_blocks, sum.final_blocks);
  assert_int_equal(found->final_median, sum.final_median);
  assert_int_equal(found->final_largest, sum.final_largest);
}

static void check_together(const struct hwi_profile *p, const struct naive *naive, uint32_t stack, uint32_t node)
{
  struct naive_together sum = naive_together(naive, node), found = {0};
  for (uint32_t i = 0; i < p->together_count; i++)
    if (p->together[i].stack == stack)
      found = (struct naive_together){p->together[i].blocks, p->together[i].generations, p->together[i].largest_bytes};
  assert_int_equal(found.blocks, sum.blocks);
  assert_int_equal(found.generations, sum.generations);
  assert_int_equal(found.largest_bytes, sum.largest_bytes);
}

static void check_handovers(const struct hwi_profile *p, const struct naive *naive)
{
  uint64_t foreign = 0, handed = 0;
  for (uint32_t i = 0; i < p->thread_count; i++)
    foreign += p->threads[i].foreign_frees;
  for (uint32_t i = 0; i < p->handover_count; i++) {
    const struct hwi_handover *pair = &p->handovers[i];
    uint64_t blocks, bytes;
    naive_handed(naive, p->threads[pair->owner].number, p->threads[pair->freer].number, &blocks, &bytes);
    assert_true(blocks > 0 && pair->owner != pair->freer);
    assert_int_equal(pair->blocks, blocks);
    assert_int_equal(pair->bytes, bytes);
    handed += blocks;
  }
  assert_int_equal(handed, foreign);
}

/* A point is what was live immediately before it; the last point is what is live at the end. */
static void check_class_points(const struct hwi_profile *p, const struct naive *naive)
{
  assert_true(p->class_point_count <= HWI_CLASS_POINTS);
  assert_int_equal(p->class_point_count > 0, p->span.kind != HWI_SPAN_MOMENT);
  for (uint32_t i = 0; i < p->class_point_count; i++) {
    bool is_last = i + 1 == p->class_point_count;
    uint64_t ns = is_last ? UINT64_MAX : p->class_points[i].ns, least = 0;
    assert_true(i == 0 || p->class_points[i].ns > p->class_points[i - 1].ns);
    for (unsigned class = 0; class < HWI_SIZE_CLASSES; class ++) {
      uint64_t most = class + 1 == HWI_SIZE_CLASSES ? UINT64_MAX : UINT64_C(16) << class;
      assert_int_equal(p->class_points[i].live_bytes[class], naive_live_of_sizes(naive, ns, least, most));
      least = most + 1;
    }
  }
}

void assert_same_lists(const struct hwi_profile *profile, const struct naive *naive, const uint32_t *nodes)
{
  for (uint32_t stack = 1; stack < profile->stack_count; stack++) {
    check_resizes(profile, naive, stack, nodes[stack]);
    if (profile->span.kind == HWI_SPAN_RUN)
      check_together(profile, naive, stack, nodes[stack]);
    else
      assert_int_equal(profile->together_count, 0);
  }
  check_handovers(profile, naive);
  check_class_points(profile, naive);
}
