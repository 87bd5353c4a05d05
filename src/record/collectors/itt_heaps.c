/* itt_heaps.c - the heaps of programs with ITT, as heaps of the program's own (events/heaps.h)
 *
 * As for other objects (itt_objects.c), a heap is the one at its name's place of a table.
 */
#include "record/collectors/itt_heaps.h"

#include <stdbool.h>
#include <string.h>

#include "record/collectors/domains.h"
#include "record/collectors/itt_objects.h"
#include "record/events/heaps.h"
#include "record/events/scope_names.h"

static struct hwi_growing_table all; /* of struct hw_custom_heap */

/* "domain/name"; a name that is too long is cut. */
static uint32_t name_of(const char *name, const char *domain)
{
  enum { LONGEST = 500 };
  char text[2 * LONGEST + 1];
  size_t domain_bytes = domain ? strnlen(domain, LONGEST) : 0, bytes = 0;
  if (domain_bytes) {
    memcpy(text, domain, domain_bytes);
    text[domain_bytes] = '/';
    bytes = domain_bytes + 1;
  }
  size_t name_bytes = strnlen(name, LONGEST);
  memcpy(text + bytes, name, name_bytes);
  return hwi_names_number_of(text, bytes + name_bytes);
}

void *hwi_itt_heap_of(const char *name, const char *domain)
{
  if (!name || (domain && hwi_domain_is_ignored(domain)))
    return NULL;
  uint32_t number = name_of(name, domain);
  struct hw_custom_heap *heap = hwi_itt_item(&all, number, sizeof *heap), made;
  if (!heap || __atomic_load_n(&heap->number, __ATOMIC_ACQUIRE))
    return heap;
  /* If two threads create it at once, the second one's event is of a heap that stays empty. */
  hwi_heap_create(&made, number);
  __atomic_store_n(&heap->name, made.name, __ATOMIC_RELAXED);
  uint32_t none = 0;
  __atomic_compare_exchange_n(&heap->number, &none, made.number, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  return heap;
}

static const struct hw_custom_heap *known(const void *heap)
{
  size_t index = 0;
  return hwi_growing_table_find(&all, heap, sizeof(struct hw_custom_heap), &index) ? heap : NULL;
}

static void give_out(const void *heap, const struct hwi_caller *caller, void *const *address, size_t size)
{
  const struct hw_custom_heap *of = known(heap);
  if (of && address)
    hwi_heap_alloc(of, caller, *address, size);
}

void hwi_itt_heap_allocated(void *heap, void **address, size_t size, int is_zeroed)
{
  const struct hwi_caller caller = HWI_CALLER();
  (void)is_zeroed;
  give_out(heap, &caller, address, size);
}

void hwi_itt_heap_freeing(void *heap, void *address)
{
  const struct hw_custom_heap *of = known(heap);
  if (of)
    hwi_heap_free(of, address);
}

void hwi_itt_heap_reallocating(void *heap, void *address, size_t size, int is_zeroed)
{
  (void)size;
  (void)is_zeroed;
  hwi_itt_heap_freeing(heap, address);
}

void hwi_itt_heap_reallocated(void *heap, void *old, void **address, size_t size, int is_zeroed)
{
  const struct hwi_caller caller = HWI_CALLER();
  (void)old;
  (void)is_zeroed;
  bool is_free = size == 0 && address && !*address; /* and no failed call */
  if (!is_free)
    give_out(heap, &caller, address, size);
}
