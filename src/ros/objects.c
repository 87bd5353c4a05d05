/* objects.c - what ROS creates, by address
 *
 * A hash table with open addressing, of a fixed size: pages that are not used cost nothing. A slot is taken by one
 * compare-and-swap of its address, and never given back.
 */
#include "ros/objects.h"

#include <stddef.h>

#include "base/hash.h"

enum { SLOT_COUNT = 1 << 14, MOST_TRIES = 64 };

static struct hwi_ros_object objects[SLOT_COUNT];

/* Returns the slot with this address, or a slot that was free, whose address is then 0 in *found. NULL: neither is near. */
static struct hwi_ros_object *slot_of(uintptr_t address, uintptr_t *found)
{
  uint32_t at = hwi_hash_number(address);
  for (uint32_t tries = 0; tries < MOST_TRIES; tries++, at++) {
    struct hwi_ros_object *slot = &objects[at % SLOT_COUNT];
    *found = atomic_load_explicit(&slot->address, memory_order_acquire);
    if (*found == address || !*found)
      return slot;
  }
  return NULL;
}

struct hwi_ros_object *hwi_ros_object_at(const void *address)
{
  uintptr_t found = 0;
  struct hwi_ros_object *slot = address ? slot_of((uintptr_t)address, &found) : NULL;
  return found ? slot : NULL;
}

struct hwi_ros_object *hwi_ros_object_make(const void *address)
{
  uintptr_t found = 0;
  struct hwi_ros_object *slot = NULL;
  while (address && (slot = slot_of((uintptr_t)address, &found)) && !found)
    if (atomic_compare_exchange_strong(&slot->address, &found, (uintptr_t)address))
      break;
  return slot;
}
