/* touched.h - which of many counters changed since somebody looked: a bit for each */
#ifndef HWI_PROFILE_TOUCHED_H
#define HWI_PROFILE_TOUCHED_H

#include "trace/grow.h"

enum { HWI_TOUCHED_WORD_BITS = 64 };

/* All zero: nobody looks. */
struct hwi_touched {
  uint64_t *words;
  size_t capacity;
};

static inline void hwi_touched_release(struct hwi_touched *touched)
{
  free(touched->words);
  *touched = (struct hwi_touched){0};
}

/* From now on numbers below `count` are noted. False: no memory. */
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

/* The next number from *at on, which is taken off; *at is behind it. 0: there is none (it is nobody's number). */
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
