/* touched.h - which of many counters changed since the last look at them: one bit for each */
#ifndef HWI_PROFILE_COUNTERS_TOUCHED_H
#define HWI_PROFILE_COUNTERS_TOUCHED_H

#include "trace/grow.h"

enum { HWI_TOUCHED_WORD_BITS = 64 };

/* All zero: changes are not recorded. */
struct hwi_touched {
  uint64_t *words;
  size_t capacity;
};

static inline void hwi_touched_release(struct hwi_touched *touched)
{
  free(touched->words);
  *touched = (struct hwi_touched){0};
}

/* From now on, changes of numbers below `count` are recorded. Returns false if there is no memory. */
static inline bool hwi_touched_cover(struct hwi_touched *touched, size_t count)
{
  return hwi_grow((void **)&touched->words, &touched->capacity, count / HWI_TOUCHED_WORD_BITS + 1,
                  sizeof *touched->words);
}

static inline void hwi_touch(struct hwi_touched *touched, uint32_t number)
{
  if (touched->words)
    touched->words[number / HWI_TOUCHED_WORD_BITS] |= UINT64_C(1) << number % HWI_TOUCHED_WORD_BITS;
}

/* Clears the bit of the next changed number from *at on and returns the number; *at moves on, so that the search can
 * continue. Returns 0 if there is none; 0 is not a valid number. */
static inline uint32_t hwi_touched_take(struct hwi_touched *touched, size_t *at)
{
  for (; *at < touched->capacity; ++*at) {
    uint64_t word = touched->words[*at];
    if (!word)
      continue;
    touched->words[*at] = word & (word - 1);
    return (uint32_t)(*at * HWI_TOUCHED_WORD_BITS) + (uint32_t)__builtin_ctzll(word);
  }
  return 0;
}

#endif
