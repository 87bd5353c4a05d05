/* itt_objects.c - the domains and strings that programs with ITT create: one for each name
 *
 * A name has a small number already (scope_names.h), so its object is the one at this place of a table. The tables have
 * their final size from the start: pages that are not used cost nothing. Threads that create the same object at the same
 * time write the same values.
 *
 * The static part has lists of its objects, for the time without a collector. Ours are not added to them: its later
 * versions pass each object of the lists to free when the program releases them.
 */
#include "record/collectors/itt_objects.h"

#include <stddef.h>

#include "platform/os.h"
#include "record/collectors/domains.h"
#include "record/events/scope_names.h"

struct objects {
  struct hwi_itt_domain domains[HWI_NAME_LIMIT]; /* by the numbers of names */
  struct hwi_itt_string strings[HWI_NAME_LIMIT];
};

static _Atomic(void *) objects_of_process; /* a struct objects */

static __attribute__((cold, noinline)) void *make_table(_Atomic(void *) *table, size_t bytes)
{
  void *made = hwi_os_map(bytes), *none = NULL;
  if (!made || atomic_compare_exchange_strong(table, &none, made))
    return made;
  hwi_os_unmap(made, bytes);
  return none;
}

void *hwi_itt_table(_Atomic(void *) *table, size_t bytes)
{
  void *made = atomic_load_explicit(table, memory_order_acquire);
  return made ? made : make_table(table, bytes);
}

struct hwi_itt_domain *hwi_itt_domain_of(const char *name)
{
  struct objects *objects = name ? hwi_itt_table(&objects_of_process, sizeof *objects) : NULL;
  if (!objects)
    return NULL;
  uint32_t number = hwi_names_number(name);
  struct hwi_itt_domain *domain = &objects->domains[number];
  if (!atomic_load_explicit(&domain->name, memory_order_acquire)) {
    atomic_store_explicit(&domain->flags, !hwi_domain_is_ignored(name), memory_order_relaxed);
    atomic_store_explicit(&domain->number, (int)number, memory_order_relaxed);
    atomic_store_explicit(&domain->name, hwi_names_text(number), memory_order_release);
  }
  return domain;
}

struct hwi_itt_string *hwi_itt_string_of(const char *text)
{
  struct objects *objects = text ? hwi_itt_table(&objects_of_process, sizeof *objects) : NULL;
  if (!objects)
    return NULL;
  uint32_t number = hwi_names_number(text);
  struct hwi_itt_string *string = &objects->strings[number];
  if (!atomic_load_explicit(&string->text, memory_order_acquire)) {
    atomic_store_explicit(&string->number, (int)number, memory_order_relaxed);
    atomic_store_explicit(&string->text, hwi_names_text(number), memory_order_release);
  }
  return string;
}

static uint32_t name_of(_Atomic int *number, const char *text)
{
  uint32_t name = (uint32_t)atomic_load_explicit(number, memory_order_relaxed);
  if (name)
    return name;
  name = text ? hwi_names_number(text) : HWI_NAME_OTHER;
  atomic_store_explicit(number, (int)name, memory_order_relaxed);
  return name;
}

uint32_t hwi_itt_domain_name(struct hwi_itt_domain *domain)
{
  return name_of(&domain->number, atomic_load_explicit(&domain->name, memory_order_relaxed));
}

uint32_t hwi_itt_string_name(struct hwi_itt_string *string)
{
  return name_of(&string->number, atomic_load_explicit(&string->text, memory_order_relaxed));
}
