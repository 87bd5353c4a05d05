/* numbering.c - numbers without gaps for pairs of 64-bit numbers */
#include "trace/numbering.h"

#include <stdlib.h>

#include "base/hash.h"
#include "trace/grow.h"

void hwi_numbering_release(struct hwi_numbering *numbering)
{
  free(numbering->pairs);
  hwi_hash_table_release(&numbering->table);
  *numbering = (struct hwi_numbering){0};
}

static uint32_t find(const struct hwi_numbering *numbering, uint32_t tag, uint64_t a, uint64_t b)
{
  const struct hwi_hash_slot *at = hwi_hash_table_first(&numbering->table, tag);
  while (at->number && (numbering->pairs[at->number].a != a || numbering->pairs[at->number].b != b))
    at = hwi_hash_table_next(&numbering->table, at);
  return at->number;
}

uint32_t hwi_numbering_find(const struct hwi_numbering *numbering, uint64_t a, uint64_t b)
{
  return find(numbering, hwi_hash_pair(a, b), a, b);
}

uint32_t hwi_numbering_of(struct hwi_numbering *numbering, uint64_t a, uint64_t b)
{
  const uint32_t tag = hwi_hash_pair(a, b), known = find(numbering, tag, a, b), number = numbering->count + 1;
  if (known)
    return known;
  if (number == UINT32_MAX ||
      !hwi_grow((void **)&numbering->pairs, &numbering->capacity, (size_t)number + 1, sizeof *numbering->pairs) ||
      !hwi_hash_table_add(&numbering->table, tag, number))
    return 0;
  numbering->pairs[number] = (struct hwi_pair){a, b};
  return numbering->count = number;
}
