/* kept.h - the stack that a lane keeps from one event to the next: is it still what it was?
 *
 * gap        where frames of a stack that is too deep were left out of the kept ones: between its outer part and the rest
 *            (or outward of all, where the outer part is not known). X is not Y: a node's cut is what a report shows.
 * outer part the frames of a too deep stack that its node names above the cut, and the one after them, whose step inward
 *            says where the last of them goes on.
 */
#ifndef HWI_RECORD_KEPT_H
#define HWI_RECORD_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/lane.h"
#include "record/step.h"

enum { HWI_INNER = HWI_KEPT_INNER }; /* frames named of the inner end of a stack that is too deep */

/* Forgets the kept stack. */
void hwi_kept_forget(struct hwi_kept *kept);

/* The kept frame walk->met - 1 is where the walk is. Is every word unchanged that the rest of the stack hangs on? Else no
 * frame can be met but those outward of the word that changed, and walk->met says so. */
static inline bool hwi_kept_is_met(const struct hwi_kept *kept, struct hwi_walk *walk);

/* Frames of the outer part of a too deep stack. */
uint32_t hwi_kept_outer_count(void);

/* How many frames of the kept stack's outer part are also part of a stack of which only the inner end is known, up to `sp`:
 * all or none. */
uint32_t hwi_kept_outer_of(const struct hwi_kept *kept, uintptr_t sp);

/* Makes the kept stack the first `base` kept frames and the fresh ones. False: no memory, and it is what it was. */
bool hwi_kept_add(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool with_nodes);

/* The same for a stack that is too deep: bounded, with a gap if need be. `is_cut`: what is outward of the fresh frames is
 * not known, but for the first `base` frames. */
void hwi_kept_add_deep(struct hwi_lane *lane, uint32_t base, uint32_t fresh_count, bool is_cut);

/* The kept stack will be one without a gap. */
void hwi_kept_close_gap(struct hwi_kept *kept);

/* --- the comparison, in full: it is on the hot path --- */

static inline uintptr_t hwi_kept_difference(const struct hwi_word *word)
{
  return *(const volatile uintptr_t *)word->address ^ word->value;
}

/* Four at a time, so that the loads need not wait for one another's comparisons. */
static inline bool hwi_kept_is_unchanged(const struct hwi_word *words, uint32_t count)
{
  const struct hwi_word *end = words + count;
  for (; end - words >= 4; words += 4)
    if (hwi_kept_difference(&words[0]) | hwi_kept_difference(&words[1]) | hwi_kept_difference(&words[2]) |
        hwi_kept_difference(&words[3]))
      return false;
  for (; words < end; words++)
    if (hwi_kept_difference(words))
      return false;
  return true;
}

bool hwi_kept_is_met_deep(const struct hwi_kept *kept, struct hwi_walk *walk);
void hwi_kept_check(const struct hwi_kept *kept, struct hwi_walk *walk);

static inline bool hwi_kept_is_met(const struct hwi_kept *kept, struct hwi_walk *walk)
{
  if (__builtin_expect(walk->met > kept->exact_count, 0))
    return hwi_kept_is_met_deep(kept, walk);
  uint32_t words = kept->frames[walk->met - 1].words;
  walk->word_count += words;
  if (walk->is_checked || hwi_kept_is_unchanged(kept->words, words))
    return true;
  hwi_kept_check(kept, walk);
  return false;
}

#endif
