/* numbers.c - maps the numbers in a trace to indices that the caller chooses */
#include "trace/numbers.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

void hwi_numbers_release(struct hwi_numbers *numbers)
{
  free(numbers->slots);
  *numbers = (struct hwi_numbers){0};
}

/* Returns the slot of `number`, or the empty slot where it belongs. */
static struct hwi_number_slot *find_slot(const struct hwi_numbers *numbers, uint32_t number)
{
  size_t mask = numbers->capacity - 1;
  size_t at = number * (size_t)UINT32_C(2654435761) & mask;
  while (numbers->slots[at].index && numbers->slots[at].number != number)
    at = (at + 1) & mask;
  return &numbers->slots[at];
}

uint32_t hwi_numbers_find(const struct hwi_numbers *numbers, uint32_t number)
{
  return numbers->count ? find_slot(numbers, number)->index : 0;
}

static bool grow(struct hwi_numbers *numbers)
{
  struct hwi_numbers larger = {.count = numbers->count};
  larger.capacity = numbers->capacity ? numbers->capacity * 2 : FIRST_CAPACITY;
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (!larger.slots)
    return false;
  for (size_t i = 0; i < numbers->capacity; i++)
    if (numbers->slots[i].index)
      *find_slot(&larger, numbers->slots[i].number) = numbers->slots[i];
  free(numbers->slots);
  *numbers = larger;
  return true;
}

bool hwi_numbers_add(struct hwi_numbers *numbers, uint32_t number, uint32_t index)
{
  if (numbers->count >= numbers->capacity / 2 && !grow(numbers))
    return false;
  *find_slot(numbers, number) = (struct hwi_number_slot){number, index};
  numbers->count++;
  return true;
}
