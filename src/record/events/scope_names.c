/* scope_names.c - the names of scopes: equal texts have equal numbers
 *
 * A hash table with open addressing whose slots hold the numbers of names; the names' texts follow each other in one
 * area. Both have their final size from the start, so that nothing moves: pages that are not used cost nothing. A thread
 * first writes a new name into its place in the area, then publishes its number by one compare-and-swap of an empty
 * slot; so a fork, a signal or a kill at any instruction leaves the table consistent. If two threads add the same name,
 * one of the two numbers is never used.
 */
#include "record/events/scope_names.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "platform/os.h"
#include "record/session.h"

enum {
  SLOT_COUNT = 2 * HWI_NAME_LIMIT,
  AREA_BYTES = 4 << 20,
  LONGEST_NAME = 16 << 10, /* a longer one is cut */
};

struct name {
  uint32_t off, bytes;    /* of its text in the area; a NUL follows */
  _Atomic uint32_t image; /* the one whose trace defined it last: image_count of the session */
};

struct names {
  _Atomic uint32_t next_number, used_bytes;
  _Atomic uint32_t slots[SLOT_COUNT]; /* 0: empty */
  struct name names[HWI_NAME_LIMIT];
  char area[AREA_BYTES];
};

static _Atomic(struct names *) all;

static const char other[] = "(other scopes)";

static struct names *make(void)
{
  struct names *made = hwi_os_map(sizeof *made), *none = NULL;
  if (!made)
    return NULL;
  memcpy(made->area, other, sizeof other - 1);
  made->names[HWI_NAME_OTHER] = (struct name){.off = 0, .bytes = sizeof other - 1};
  made->used_bytes = sizeof other;
  made->next_number = HWI_NAME_OTHER + 1;
  if (atomic_compare_exchange_strong(&all, &none, made))
    return made;
  hwi_os_unmap(made, sizeof *made);
  return none;
}

static struct names *names_of_process(void)
{
  struct names *names = atomic_load_explicit(&all, memory_order_acquire);
  return names ? names : make();
}

static bool is_name(const struct names *names, uint32_t number, const char *text, size_t bytes)
{
  const struct name *name = &names->names[number];
  return name->bytes == bytes && memcmp(names->area + name->off, text, bytes) == 0;
}

/* Writes a new name to its place. Returns its number, or HWI_NAME_OTHER if there is no room for it. */
static uint32_t add(struct names *names, const char *text, size_t bytes)
{
  if (atomic_load_explicit(&names->next_number, memory_order_relaxed) >= HWI_NAME_LIMIT ||
      atomic_load_explicit(&names->used_bytes, memory_order_relaxed) + bytes >= AREA_BYTES)
    return HWI_NAME_OTHER;
  uint32_t number = atomic_fetch_add(&names->next_number, 1);
  uint32_t off = atomic_fetch_add(&names->used_bytes, (uint32_t)bytes + 1);
  if (number >= HWI_NAME_LIMIT || off >= AREA_BYTES - bytes)
    return HWI_NAME_OTHER;
  memcpy(names->area + off, text, bytes);
  names->names[number].off = off;
  names->names[number].bytes = (uint32_t)bytes;
  return number;
}

uint32_t hwi_names_number_of(const char *text, size_t max_bytes)
{
  struct names *names = names_of_process();
  if (!names)
    return HWI_NAME_OTHER;
  size_t bytes = strnlen(text, max_bytes < LONGEST_NAME ? max_bytes : LONGEST_NAME);
  uint32_t at = (uint32_t)hwi_fnv(HWI_FNV_BASIS, text, bytes), number = 0;
  for (uint32_t tries = 0; tries < SLOT_COUNT; tries++, at++) {
    _Atomic uint32_t *slot = &names->slots[at % SLOT_COUNT];
    uint32_t found = atomic_load_explicit(slot, memory_order_acquire);
    if (!found) {
      number = number ? number : add(names, text, bytes);
      if (number == HWI_NAME_OTHER || atomic_compare_exchange_strong(slot, &found, number))
        return number;
    }
    if (is_name(names, found, text, bytes))
      return found;
  }
  return HWI_NAME_OTHER;
}

uint32_t hwi_names_number(const char *text)
{
  return hwi_names_number_of(text, LONGEST_NAME);
}

bool hwi_names_have(uint32_t number)
{
  struct names *names = atomic_load_explicit(&all, memory_order_acquire);
  return names && number > 0 && number < HWI_NAME_LIMIT &&
         number < atomic_load_explicit(&names->next_number, memory_order_relaxed);
}

const char *hwi_names_text(uint32_t number)
{
  struct names *names = atomic_load_explicit(&all, memory_order_acquire);
  return names && number < HWI_NAME_LIMIT ? names->area + names->names[number].off : other;
}

bool hwi_names_define(struct hwi_lane *lane, uint32_t number)
{
  struct names *names = atomic_load_explicit(&all, memory_order_acquire);
  if (!names || number >= HWI_NAME_LIMIT)
    return false;
  struct name *name = &names->names[number];
  uint32_t image = atomic_load_explicit(&hwi_session.image_count, memory_order_relaxed);
  if (atomic_load_explicit(&name->image, memory_order_relaxed) == image)
    return true;
  uint8_t head[HWI_VARINT_MAX_BYTES], *end = hwi_put_varint(head, number);
  if (!hwi_lane_put_record(lane, HW_RECORD_NAME, (struct hwi_bytes){head, (uint32_t)(end - head)},
                           (struct hwi_bytes){names->area + name->off, name->bytes}))
    return false;
  atomic_store_explicit(&name->image, image, memory_order_relaxed);
  return true;
}
