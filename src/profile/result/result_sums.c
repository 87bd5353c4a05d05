/* result_sums.c - sums over the cells of a profile: by stack, by size and by thread
 *
 * Cells are in the order of their stacks, so that one pass over them is also one pass over the stacks; sizes and
 * threads are few.
 */
#include "profile/result/result.h"

static void add_to_stack(struct hwi_stack *stack, const struct hwi_profile_cell *cell, uint64_t size)
{
  if (cell->calls) {
    if (!stack->calls || size < stack->smallest)
      stack->smallest = size;
    if (size > stack->largest)
      stack->largest = size;
  }
  stack->calls += cell->calls;
  stack->bytes += cell->calls * size;
  stack->usable += cell->calls * cell->usable;
  stack->temporary_calls += cell->temporary_calls;
  stack->live_blocks += cell->live_blocks;
  stack->live_bytes += cell->live_blocks * size;
  stack->peak_blocks += cell->peak_blocks;
  stack->peak_bytes += cell->peak_blocks * size;
  stack->peak_usable += cell->peak_blocks * cell->usable;
}

static void add_to_size(struct hwi_size *size, const struct hwi_profile_cell *cell)
{
  size->calls += cell->calls;
  size->live_blocks += cell->live_blocks;
  size->peak_blocks += cell->peak_blocks;
  size->temporary_calls += cell->temporary_calls;
  size->peak_usable += cell->peak_blocks * cell->usable;
}

static void add_to_thread(struct hwi_profile_thread *thread, const struct hwi_profile_cell *cell, uint64_t size)
{
  thread->allocation_calls += cell->calls;
  thread->allocated_bytes += cell->calls * size;
  thread->temporary_calls += cell->temporary_calls;
  thread->live_blocks += cell->live_blocks;
  thread->live_bytes += cell->live_blocks * size;
  thread->peak_bytes += cell->peak_blocks * size;
}

void hwi_result_sum_up(struct hwi_result *result)
{
  const struct hwi_profile *profile = &result->profile;
  struct hwi_stack *stacks = (struct hwi_stack *)profile->stacks; /* owned by the result; so are the next ones */
  struct hwi_size *sizes = (struct hwi_size *)profile->sizes;
  struct hwi_profile_thread *threads = (struct hwi_profile_thread *)profile->threads;
  for (uint32_t i = 0; i < profile->cell_count; i++) {
    const struct hwi_profile_cell *cell = &profile->cells[i];
    const uint64_t size = sizes[cell->size].size;
    add_to_stack(&stacks[cell->stack], cell, size);
    add_to_size(&sizes[cell->size], cell);
    add_to_thread(&threads[cell->thread], cell, size);
  }
  for (uint32_t s = 1; s < profile->stack_count; s++) {
    struct hwi_stack *stack = &stacks[s];
    stack->free_calls = stack->start_blocks + stack->calls - stack->live_blocks - stack->missed_frees;
    stack->lifetimes[HWI_LIFETIME_UNTIL_END] = stack->live_blocks;
  }
}
