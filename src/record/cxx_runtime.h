/* cxx_runtime.h - the C++ runtime, as seen from C
 *
 * libstdc++ and libc++ name these alike. The recorder is linked with neither: where the program has one from the start, weak
 * references find it; where a C program loaded it later, perhaps for one plug-in alone, it is found from the code that
 * called the operator. That look-up goes through the loader, so it is for failures only.
 */
#ifndef HWI_RECORD_CXX_RUNTIME_H
#define HWI_RECORD_CXX_RUNTIME_H

#include <stdint.h>

typedef void hwi_new_handler(void);

/* The handler that std::set_new_handler installed, or NULL. `caller_pc` lies in the code that called the operator. */
hwi_new_handler *hwi_cxx_new_handler(uintptr_t caller_pc);

/* Throws std::bad_alloc. Returns only where there is no runtime to throw it. */
void hwi_cxx_throw_bad_alloc(uintptr_t caller_pc);

/* The runtime's own definition of an operator, whoever else defines it ahead. NULL: no runtime. */
void *hwi_cxx_operator(uintptr_t caller_pc, const char *symbol);

#endif
