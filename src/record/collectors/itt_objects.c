/* itt_objects.c - the domains and strings that programs with ITT create: one for each name
 *
 * A name has a small number already (scope_names.h), so its object is the one at this place of a table. Threads that create
 * the same object at the same time write the same values.
 *
 * The static part has lists of its objects, for the time without a collector. Ours are not added to them: its later
 * versions pass each object of the lists to free when the program releases them.
 */
#include "record/collectors/itt_objects.h"

#include <stddef.h>

#include "record/collectors/domains.h"
#include "record/events/scope_names.h"
#include "record/growing_table.h"

/* By the numbers of names. */
static struct hwi_growing_table domains, strings;

void *hwi_itt_item(struct hwi_growing_table *table, uint32_t number, size_t bytes)
{
  char *items = hwi_growing_table_use(table, (number + 1) * bytes, HWI_NAME_LIMIT * bytes);
  return items ? items + number * bytes : NULL;
}

struct hwi_itt_domain *hwi_itt_domain_of(const char *name)
{
  uint32_t number = name ? hwi_names_number(name) : 0;
  struct hwi_itt_domain *domain = number ? hwi_itt_item(&domains, number, sizeof *domain) : NULL;
  if (!domain)
    return NULL;
  if (!atomic_load_explicit(&domain->name, memory_order_acquire)) {
    atomic_store_explicit(&domain->flags, !hwi_domain_is_ignored(name), memory_order_relaxed);
    atomic_store_explicit(&domain->number, (int)number, memory_order_relaxed);
    atomic_store_explicit(&domain->name, hwi_names_text(number), memory_order_release);
  }
  return domain;
}

struct hwi_itt_string *hwi_itt_string_of(const char *text)
{
  uint32_t number = text ? hwi_names_number(text) : 0;
  struct hwi_itt_string *string = number ? hwi_itt_item(&strings, number, sizeof *string) : NULL;
  if (!string)
    return NULL;
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
