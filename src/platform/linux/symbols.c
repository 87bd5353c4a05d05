/* symbols.c - definitions of symbols among the loaded modules, in the dynamic loader's own order
 *
 * The loader keeps its modules in a list in the order in which it searches them: the executable, the preloaded
 * libraries, then the other libraries level by level. Those that dlopen adds come at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/base_name.h"
#include "platform/linux/elf.h"
#include "platform/linux/find_object.h"
#include "platform/linux/modules.h"
#include "platform/os.h"

#pragma weak _r_debug

extern struct r_debug *_dl_debug_addr __attribute__((weak)); /* of musl */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static const struct link_map *first_module(void)
{
  if (&_r_debug)
    return _r_debug.r_map;
  return &_dl_debug_addr && _dl_debug_addr ? _dl_debug_addr->r_map : NULL;
}

static const struct link_map *module_at(uintptr_t address)
{
  struct dl_find_object found;
  struct hwi_os_module module;
  hwi_find_object_fn *find = hwi_find_object();
  if (find)
    return find((void *)address, &found) == 0 ? found.dlfo_link_map : NULL;
  if (!hwi_os_find_module(address, &module))
    return NULL;
  const struct link_map *map = first_module();
  while (map && (map->l_addr != module.bias || strcmp(map->l_name, module.path) != 0))
    map = map->l_next;
  return map;
}

/* Returns this library's entry, in whichever namespace it was loaded. */
static const struct link_map *own_module(void)
{
  if (hwi_find_object())
    return module_at((uintptr_t)_DYNAMIC);
  const struct link_map *map = first_module();
  while (map && map->l_ld != _DYNAMIC)
    map = map->l_next;
  return map;
}

static const void *definition_in(const struct link_map *map, const char *name)
{
  struct hwi_elf_image image;
  return hwi_elf_open(&image, map->l_addr, map->l_ld) ? (const void *)hwi_elf_find(&image, name) : NULL;
}

/* Returns the first definition in [map, end), or NULL. */
static const void *definition_between(const struct link_map *map, const struct link_map *end, const char *name)
{
  const void *address = NULL;
  for (; map != end && !address; map = map->l_next)
    address = definition_in(map, name);
  return address;
}

static const struct link_map *head_of(const struct link_map *map)
{
  while (map->l_prev)
    map = map->l_prev;
  return map;
}

const void *hwi_os_symbol_before(const char *name)
{
  const struct link_map *own = own_module();
  return own ? definition_between(head_of(own), own, name) : NULL;
}

const void *hwi_os_symbol_after(const char *name)
{
  const struct link_map *own = own_module();
  return own ? definition_between(own->l_next, NULL, name) : NULL;
}

const struct link_map *hwi_modules_first(void)
{
  const struct link_map *own = own_module();
  return own ? head_of(own) : NULL;
}

/* --- as another module would find it --- */

enum { MOST_SCOPE = 64 };

struct scope { /* modules in the order of the search */
  const struct link_map *modules[MOST_SCOPE];
  uint32_t count;
};

/* Returns whether `map` is the module that the loader found for a dependency named `soname`. */
static bool is_called(const struct link_map *map, const char *soname)
{
  struct hwi_elf_image image;
  if (strcmp(hwi_base_name(map->l_name), soname) == 0)
    return true;
  if (!hwi_elf_open(&image, map->l_addr, map->l_ld))
    return false;
  for (const ElfW(Dyn) *at = image.dynamic; at->d_tag != DT_NULL; at++)
    if (at->d_tag == DT_SONAME)
      return strcmp(image.strings + at->d_un.d_val, soname) == 0;
  return false;
}

static void add_module(struct scope *scope, const struct link_map *map)
{
  for (uint32_t i = 0; i < scope->count; i++)
    if (scope->modules[i] == map)
      return;
  if (map && scope->count < MOST_SCOPE)
    scope->modules[scope->count++] = map;
}

static void add_needed(struct scope *scope, const struct link_map *by)
{
  struct hwi_elf_image image;
  if (!hwi_elf_open(&image, by->l_addr, by->l_ld))
    return;
  for (const ElfW(Dyn) *at = image.dynamic; at->d_tag != DT_NULL; at++) {
    if (at->d_tag != DT_NEEDED)
      continue;
    const struct link_map *map = head_of(by);
    while (map && !is_called(map, image.strings + at->d_un.d_val))
      map = map->l_next;
    add_module(scope, map);
  }
}

struct sight {
  uintptr_t address;
  const char *name;
  const void *found;
};

/* Searches the module itself, then its dependencies level by level. A symbol that none of them defines is then searched
 * in all modules, the executable first. */
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)info, (void)size;
  struct sight *sight = context;
  struct scope scope = {{module_at(sight->address)}, 1};
  if (!scope.modules[0])
    return 1;
  for (uint32_t i = 0; i < scope.count && !sight->found; i++) {
    sight->found = definition_in(scope.modules[i], sight->name);
    add_needed(&scope, scope.modules[i]);
  }
  if (!sight->found)
    sight->found = definition_between(head_of(scope.modules[0]), NULL, sight->name);
  return 1;
}

/* dl_iterate_phdr holds the loader's lock, so that no module is unloaded meanwhile. */
const void *hwi_os_symbol_seen_from(uintptr_t address, const char *name)
{
  struct sight sight = {address, name, NULL};
  dl_iterate_phdr(look, &sight);
  return sight.found;
}
