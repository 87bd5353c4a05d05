/* cxx_runtime.c - finds the C++ runtime's functions from C, as allocators do that are built over allocator.h */
#include "record/cxx_runtime.h"

#include <stddef.h>

#include "record/real.h"

/* Not through our own dlclose, which would report a module gone. */
static void give_back(void *handle)
{
  if (hwi_real_dlclose)
    hwi_real_dlclose(handle);
}

#define HW_CXX_DLCLOSE give_back
#include "heapwright/detail/cxx_runtime.h"

hwi_new_handler *hwi_cxx_new_handler(uintptr_t caller_pc)
{
  return hw_cxx_new_handler(caller_pc);
}

void hwi_cxx_throw_bad_alloc(uintptr_t caller_pc)
{
  hw_cxx_throw_bad_alloc(caller_pc);
}

void *hwi_cxx_operator(uintptr_t caller_pc, const char *symbol)
{
  return hw_cxx_operator(caller_pc, symbol);
}
