/* scope_names.c - the names of scopes: equal texts have equal numbers
 *
 * A hash table with open addressing whose slots hold the numbers of names; the names' texts follow each other in one
 * area. Nothing moves: the slots have their final size from the start, the rest grows in place. A thread
 * first writes a new name into its place in the area, then publishes its number by one compare-and-swap of an empty
 * slot; so a fork, a signal or a kill at any instruction leaves the table consistent. If two threads add the same name,
 * one of the two numbers is never used.
 */
#include "record/events/scope_names.h"

#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "platform/os.h"
#include "record/growing_table.h"
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
};

static _Atomic(struct names *) all;
static struct hwi_growing_table name_table; /* of struct name, by number */
static struct hwi_growing_table area_table; /* the area */

static const char other[] = "(other scopes)";

/* Return the name with this number, or the text at `off` of the area, and make place for it; NULL if there is no memory. */
static struct name *make_name(uint32_t number)
{
  struct name *names = hwi_growing_table_use(&name_table, (number + 1) * sizeof *names, HWI_NAME_LIMIT * sizeof *names);
  return names ? &names[number] : NULL;
}

static char *make_text(uint32_t off, size_t bytes)
{
  char *area = hwi_growing_table_use(&area_table, off + bytes + 1, AREA_BYTES);
  return area ? area + off : NULL;
}

/* Returns the name with this number, or NULL if none was made near it. */
static struct name *name_at(uint32_t number)
{
  bool has_place = hwi_growing_table_has(&name_table, ((size_t)number + 1) * sizeof(struct name));
  return has_place ? (struct name *)atomic_load_explicit(&name_table.start, memory_order_relaxed) + number : NULL;
}

static const char *text_of(const struct name *name)
{
  return atomic_load_explicit(&area_table.start, memory_order_relaxed) + name->off;
}

/* Threads that do this at the same time write the same. */
static struct names *make(void)
{
  struct name *name = make_name(HWI_NAME_OTHER);
  char *text = make_text(0, sizeof other - 1);
  struct names *made = name && text ? hwi_os_map(sizeof *made) : NULL, *none = NULL;
  if (!made)
    return NULL;
  memcpy(text, other, sizeof other - 1);
  name->bytes = sizeof other - 1;
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

static bool is_name(uint32_t number, const char *text, size_t bytes)
{
  const struct name *name = name_at(number);
  return name->bytes == bytes && memcmp(text_of(name), text, bytes) == 0;
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
  struct name *name = make_name(number);
  char *to = make_text(off, bytes);
  if (!name || !to)
    return HWI_NAME_OTHER;
  memcpy(to, text, bytes);
  name->off = off;
  name->bytes = (uint32_t)bytes;
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
    if (is_name(found, text, bytes))
      return found;
  }
  return HWI_NAME_OTHER;
}

uint32_t hwi_names_number(const char *text)
{
  return hwi_names_number_of(text, LONGEST_NAME);
}

/* Only the text of HWI_NAME_OTHER is at the start of the area. */
bool hwi_names_have(uint32_t number)
{
  const struct name *name = name_at(number);
  return name && number && (name->off || number == HWI_NAME_OTHER);
}

const char *hwi_names_text(uint32_t number)
{
  const struct name *name = name_at(number);
  return name ? text_of(name) : other;
}

bool hwi_names_define(struct hwi_lane *lane, uint32_t number)
{
  if (!hwi_names_have(number))
    return false;
  struct name *name = name_at(number);
  uint32_t image = atomic_load_explicit(&hwi_session.image_count, memory_order_relaxed);
  if (atomic_load_explicit(&name->image, memory_order_relaxed) == image)
    return true;
  uint8_t head[HWI_VARINT_MAX_BYTES], *end = hwi_put_varint(head, number);
  if (!hwi_lane_put_record(lane, HW_RECORD_NAME, (struct hwi_bytes){head, (uint32_t)(end - head)},
                           (struct hwi_bytes){text_of(name), name->bytes}))
    return false;
  atomic_store_explicit(&name->image, image, memory_order_relaxed);
  return true;
}
