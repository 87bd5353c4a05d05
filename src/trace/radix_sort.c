/* radix_sort.c - sorts items by a key
 *
 * A radix sort, the lowest digit first. Each pass distributes the items by one digit of their keys and keeps the
 * order of items with the same digit, which the lower digits gave them. The highest digit comes last and so counts
 * most. Most keys are small: a digit that all keys have in common is skipped.
 */
#include "trace/radix_sort.h"

#include <stdlib.h>
#include <string.h>

#include "trace/table.h"

enum { DIGIT_BITS = 11, DIGIT_VALUES = 1 << DIGIT_BITS, DIGITS = (64 + DIGIT_BITS - 1) / DIGIT_BITS };

static inline unsigned digit_of(uint64_t key, unsigned digit)
{
  return (unsigned)(key >> digit * DIGIT_BITS) & (DIGIT_VALUES - 1);
}

/* Distributes `from` to `to`. Returns false, and does nothing, if all items have the same digit. */
static bool deal(struct hwi_sort_item *to, const struct hwi_sort_item *from, size_t count, unsigned digit)
{
  size_t next[DIGIT_VALUES] = {0};
  for (size_t i = 0; i < count; i++)
    next[digit_of(from[i].key, digit)]++;
  if (next[digit_of(from[0].key, digit)] == count)
    return false;
  for (size_t value = DIGIT_VALUES, before = 0; value-- > 0;) { /* the largest first */
    size_t of_value = next[value];
    next[value] = before;
    before += of_value;
  }
  for (size_t i = 0; i < count; i++)
    to[next[digit_of(from[i].key, digit)]++] = from[i];
  return true;
}

bool hwi_radix_sort(struct hwi_sort_item *items, size_t count)
{
  if (count < 2)
    return true;
  struct hwi_sort_item *others = hwi_table_calloc(count, sizeof *others), *from = items, *to = others;
  if (!others)
    return false;
  uint64_t most = 0;
  for (size_t i = 0; i < count; i++)
    most |= items[i].key;
  for (unsigned digit = 0; digit < DIGITS && most >> digit * DIGIT_BITS > 0; digit++) {
    if (!deal(to, from, count, digit))
      continue;
    struct hwi_sort_item *dealt = to;
    to = from;
    from = dealt;
  }
  if (from != items)
    memcpy(items, from, count * sizeof *items);
  free(others);
  return true;
}
