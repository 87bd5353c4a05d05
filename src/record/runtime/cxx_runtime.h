/* cxx_runtime.h - the C++ runtime, as seen from C
 *
 * libstdc++ and libc++ use the same names for these. The recorder is linked with neither. If the program has one from
 * the start, weak references find it; if a C program loaded it later, perhaps only for one plug-in, it is found from
 * the code that called the operator. That look-up goes through the loader, so it is for failures only.
 */
#ifndef HWI_RECORD_RUNTIME_CXX_RUNTIME_H
#define HWI_RECORD_RUNTIME_CXX_RUNTIME_H

#include <stdint.h>

typedef void hwi_new_handler(void);

/* Returns the handler that std::set_new_handler installed, or NULL. `caller_pc` is in the code that called the
 * operator. */
hwi_new_handler *hwi_cxx_new_handler(uintptr_t caller_pc);

/* Throws std::bad_alloc. Returns only if there is no runtime to throw it. */
void hwi_cxx_throw_bad_alloc(uintptr_t caller_pc);

/* Returns the runtime's own definition of an operator, even if another module defines it earlier in the search order.
 * Returns NULL if there is no runtime. */
void *hwi_cxx_operator(uintptr_t caller_pc, const char *symbol);

#endif
