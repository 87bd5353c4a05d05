/* cxx_runtime.c - finds the C++ runtime's functions from C */
#define _GNU_SOURCE
#include "record/cxx_runtime.h"

#include <dlfcn.h>
#include <stddef.h>

#include "record/real.h"

typedef hwi_new_handler *get_new_handler_fn(void);
typedef void throw_fn(void);

extern hwi_new_handler *weak_get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern void weak_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak));

/* Looks `symbol` up as the module that covers `address` would: in itself and in what it depends on. The module is loaded,
 * so that nothing is loaded here and the handle may be given back at once. */
static void *symbol_seen_from(uintptr_t address, const char *symbol)
{
  Dl_info info;
  if (!dladdr((void *)address, &info) || !info.dli_fname)
    return NULL;
  void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void *found = dlsym(handle ? handle : RTLD_DEFAULT, symbol);
  if (handle && hwi_real_dlclose)
    hwi_real_dlclose(handle);
  return found;
}

static get_new_handler_fn *find_get_new_handler(uintptr_t caller_pc)
{
  if (weak_get_new_handler)
    return weak_get_new_handler;
  return (get_new_handler_fn *)symbol_seen_from(caller_pc, "_ZSt15get_new_handlerv");
}

hwi_new_handler *hwi_cxx_new_handler(uintptr_t caller_pc)
{
  get_new_handler_fn *get = find_get_new_handler(caller_pc);
  return get ? get() : NULL;
}

void hwi_cxx_throw_bad_alloc(uintptr_t caller_pc)
{
  throw_fn *throw_it = weak_throw_bad_alloc;
  if (!throw_it)
    throw_it = (throw_fn *)symbol_seen_from(caller_pc, "_ZSt17__throw_bad_allocv");
  if (throw_it)
    throw_it();
}

void *hwi_cxx_operator(uintptr_t caller_pc, const char *symbol)
{
  get_new_handler_fn *get = find_get_new_handler(caller_pc);
  return get ? symbol_seen_from((uintptr_t)get, symbol) : NULL;
}
