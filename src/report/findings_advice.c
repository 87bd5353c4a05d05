/* findings_advice.c - findings that name a change, with what it would have saved in this run
 *
 * reserve        blocks grow by realloc, step by step, to sizes that could have been allocated at once.
 * container      the same for what seems to be the growth of containers: see resizes.h.
 * arena          blocks of one stack are freed together: see sweeps.h. One chunk for each generation would be enough.
 * inline buffer  a stack's many small blocks have very short lives: the object that owns them could contain their
 *                memory.
 */
#include "report/findings.h"

enum {
  MANY_CALLS = 10000,
  CALLS_PERCENT = 10, /* of the run's calls: below it, no advice is given */
  INLINE_BYTES_MAX = 64,
  INLINE_SHORT_PERCENT = 95, /* of the blocks live less than a millisecond */
  INLINE_LIVE_MAX = 100,     /* blocks of the largest size at once */
  GROWN_PERCENT = 10,        /* of the blocks replaced a smaller one: it is a buffer that grows */
  COPIED_BYTES_MIN = 1000000,
  COPIED_PERCENT = 5, /* of all bytes allocated */
  ARENA_PERCENT = 90, /* of the stack's blocks */
  ARENA_GENERATION_MIN = 100,
};

/* --- growth that could have been reserved --- */

static bool is_worth_reserving(const struct hwi_profile *profile, const struct hwi_resizes *steps)
{
  bool copies = steps->grown_copied_bytes >= COPIED_BYTES_MIN &&
                hwi_is_share(steps->grown_copied_bytes, profile->totals.allocated_bytes, COPIED_PERCENT);
  bool calls =
      steps->grown >= MANY_CALLS && hwi_is_share(steps->grown, profile->totals.allocation_calls, CALLS_PERCENT);
  return copies || calls;
}

static void find_growth(struct hwi_findings *findings, const struct hwi_profile *profile, bool estimated)
{
  const struct hwi_stack_resizes *best = NULL;
  for (uint32_t i = 0; i < profile->resize_count; i++) {
    const struct hwi_stack_resizes *item = &profile->resizes[i];
    if (item->estimated != estimated || !is_worth_reserving(profile, &item->steps))
      continue;
    if (!best || item->steps.grown_copied_bytes > best->steps.grown_copied_bytes)
      best = item;
  }
  if (!best)
    return;
  hwi_findings_add(findings, (struct hwi_finding){.kind = estimated ? HWI_FINDING_CONTAINER : HWI_FINDING_RESERVE,
                                                  .stack = best->stack,
                                                  .figures = {best->steps.grown, best->steps.grown_copied_bytes,
                                                              best->final_median, best->final_largest}});
}

/* --- arenas --- */

static void find_arena(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  const struct hwi_together *best = NULL;
  for (uint32_t i = 0; i < profile->together_count; i++) {
    const struct hwi_together *item = &profile->together[i];
    if (item->blocks >= MANY_CALLS && item->blocks / item->generations >= ARENA_GENERATION_MIN &&
        hwi_is_share(item->blocks, profile->stacks[item->stack].calls, ARENA_PERCENT) &&
        (!best || item->blocks > best->blocks))
      best = item;
  }
  if (!best || !hwi_is_share(best->blocks, profile->totals.allocation_calls, CALLS_PERCENT))
    return;
  hwi_findings_add(findings, (struct hwi_finding){.kind = HWI_FINDING_ARENA,
                                                  .stack = best->stack,
                                                  .figures = {best->blocks - best->generations, best->blocks,
                                                              best->generations, best->largest_bytes}});
}

/* --- inline buffers --- */

/* Returns the calls that an inline buffer would save. If hundreds of blocks are live at once, no object has room for
 * them. */
static uint64_t inline_of(const struct hwi_stack *stack)
{
  uint64_t short_lived = stack->lifetimes[HWI_LIFETIME_TEMPORARY] + stack->lifetimes[HWI_LIFETIME_BELOW_1MS];
  bool fits = stack->largest <= INLINE_BYTES_MAX && stack->own_peak_bytes < INLINE_LIVE_MAX * stack->largest &&
              hwi_is_share(short_lived, stack->calls, INLINE_SHORT_PERCENT);
  return fits ? stack->calls : 0;
}

/* Whether the stack's blocks grow into larger ones: room for one of them would not be enough. `resizes` are by
 * stack; *resizes is where to continue the search. */
static bool grows(const struct hwi_profile *profile, uint32_t stack, uint32_t *resizes)
{
  while (*resizes < profile->resize_count && profile->resizes[*resizes].stack < stack)
    ++*resizes;
  return *resizes < profile->resize_count && profile->resizes[*resizes].stack == stack &&
         hwi_is_share(profile->resizes[*resizes].steps.grown, profile->stacks[stack].calls, GROWN_PERCENT);
}

static void find_inline_buffer(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  uint32_t number = 0, resizes = 0;
  uint64_t most = 0;
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    uint64_t saved = inline_of(&profile->stacks[i]);
    if (saved <= most || grows(profile, i, &resizes))
      continue;
    number = i;
    most = saved;
  }
  const struct hwi_stack *stack = number ? &profile->stacks[number] : NULL;
  if (stack && stack->calls >= MANY_CALLS &&
      hwi_is_share(stack->calls, profile->totals.allocation_calls, CALLS_PERCENT))
    hwi_findings_add(findings, (struct hwi_finding){.kind = HWI_FINDING_INLINE_BUFFER,
                                                    .stack = number,
                                                    .figures = {stack->calls, stack->largest}});
}

void hwi_findings_advise(struct hwi_findings *findings, const struct hwi_profile *profile)
{
  find_growth(findings, profile, false);
  find_growth(findings, profile, true);
  find_arena(findings, profile);
  find_inline_buffer(findings, profile);
}
