/* cxx_runtime.c - finds the C++ runtime's functions from C, in the same way as allocators based on allocator.h */
#include "record/runtime/cxx_runtime.h"

#include "platform/os.h"

/* Does not use dlopen and dlsym, which allocate: this is called when there is no memory left. */
static void *seen_from(uintptr_t address, const char *symbol)
{
  return (void *)hwi_os_symbol_seen_from(address, symbol);
}

#define HW_CXX_SEEN_FROM seen_from
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
