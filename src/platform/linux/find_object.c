/* find_object.c - _dl_find_object, by libc's table of names */
#define _GNU_SOURCE
#include "platform/linux/find_object.h"

#include <link.h>
#include <stddef.h>

#include "platform/linux/elf.h"

#pragma weak _r_debug

static int not_known(void *address, struct dl_find_object *found)
{
  (void)address, (void)found;
  return -1;
}

static hwi_find_object_fn *find_object = not_known;

/* libc has it, one of the modules that stay: those that may be unloaded come after it. An older glibc is searched to the end of the list: what
 * is preloaded does this at the start, when nothing is unloaded. */
static hwi_find_object_fn *look_up(const struct link_map *first)
{
  struct hwi_elf_image image;
  hwi_find_object_fn *found = NULL;
  for (const struct link_map *map = first; map && !found; map = map->l_next)
    if (hwi_elf_open(&image, map->l_addr, map->l_ld))
      found = (hwi_find_object_fn *)hwi_elf_find(&image, "_dl_find_object");
  return found;
}

hwi_find_object_fn *hwi_find_object(void)
{
  hwi_find_object_fn *known = __atomic_load_n(&find_object, __ATOMIC_RELAXED);
  if (known == not_known) {
    known = &_r_debug ? look_up(_r_debug.r_map) : NULL;
    __atomic_store_n(&find_object, known, __ATOMIC_RELAXED);
  }
  return known;
}
