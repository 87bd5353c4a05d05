/* cxx_runtime.h - the C++ runtime, as seen from C
 *
 * libstdc++ and libc++ use the same names for these. The including library is linked with neither. If the program has
 * one from the start, weak references find it; if a C program loaded it later, perhaps only for one plug-in, it is
 * found from the code that called the operator. That look-up goes through the loader, so it is for failures only.
 *
 * Works without _GNU_SOURCE, whatever was included before: the declarations that <dlfcn.h> then hides are repeated
 * here.
 */
/* SPDX-License-Identifier: MIT */
#ifndef HEAPWRIGHT_DETAIL_CXX_RUNTIME_H
#define HEAPWRIGHT_DETAIL_CXX_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HW_CXX_FOREIGN extern "C"
#else
#define HW_CXX_FOREIGN extern
#endif
#define HW_CXX_USED static __attribute__((unused))

typedef void hw_new_handler(void);
typedef hw_new_handler *hw_get_new_handler_fn(void);

/* std::get_new_handler, std::__throw_bad_alloc; NULL where the program began without a C++ runtime. */
HW_CXX_FOREIGN hw_new_handler *hw_weak_get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
HW_CXX_FOREIGN void hw_weak_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak));

#ifndef HW_CXX_SEEN_FROM /* the including file may define its own look-up, with these arguments */
#include <dlfcn.h>

/* As Dl_info. */
struct hw_symbol_info {
  const char *file_name;
  void *file_base;
  const char *symbol_name;
  void *symbol_address;
};

HW_CXX_FOREIGN int hw_dladdr(const void *address, struct hw_symbol_info *info) __asm__("dladdr");

#define HW_DLSYM_DEFAULT ((void *)0) /* RTLD_DEFAULT */

/* Looks `symbol` up as the module that covers `address` would: in the module itself and in its dependencies. The module
 * is already loaded, so nothing is loaded here and the handle may be closed at once. */
HW_CXX_USED void *hw_symbol_seen_from(uintptr_t address, const char *symbol)
{
  struct hw_symbol_info info;
  if (!hw_dladdr((const void *)address, &info) || !info.file_name)
    return NULL;
  void *handle = dlopen(info.file_name, RTLD_LAZY | RTLD_NOLOAD);
  void *found = dlsym(handle ? handle : HW_DLSYM_DEFAULT, symbol);
  if (handle)
    dlclose(handle);
  return found;
}

#define HW_CXX_SEEN_FROM hw_symbol_seen_from
#endif

HW_CXX_USED hw_get_new_handler_fn *hw_find_get_new_handler(uintptr_t caller_pc)
{
  if (hw_weak_get_new_handler)
    return hw_weak_get_new_handler;
  return __extension__(hw_get_new_handler_fn *) HW_CXX_SEEN_FROM(caller_pc, "_ZSt15get_new_handlerv");
}

/* Returns the handler that std::set_new_handler installed, or NULL. `caller_pc` is in the code that called the
 * operator. */
HW_CXX_USED hw_new_handler *hw_cxx_new_handler(uintptr_t caller_pc)
{
  hw_get_new_handler_fn *get = hw_find_get_new_handler(caller_pc);
  return get ? get() : NULL;
}

/* Throws std::bad_alloc. Returns only if there is no runtime to throw it. */
HW_CXX_USED void hw_cxx_throw_bad_alloc(uintptr_t caller_pc)
{
  void (*throw_it)(void) = hw_weak_throw_bad_alloc;
  if (!throw_it)
    throw_it = __extension__(void (*)(void)) HW_CXX_SEEN_FROM(caller_pc, "_ZSt17__throw_bad_allocv");
  if (throw_it)
    throw_it();
}

/* Returns the runtime's own definition of an operator, even if another module defines it earlier in the search order.
 * Returns NULL if there is no runtime. */
HW_CXX_USED void *hw_cxx_operator(uintptr_t caller_pc, const char *symbol)
{
  hw_get_new_handler_fn *get = hw_find_get_new_handler(caller_pc);
  return get ? HW_CXX_SEEN_FROM((uintptr_t)get, symbol) : NULL;
}

#endif
