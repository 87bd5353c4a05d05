/* class_names.h - the names that C++ programs have of their own classes, for typeid, dynamic_cast and exceptions
 *
 * The Itanium C++ ABI, which GCC and clang use on Linux, with libstdc++ and libc++: an object with virtual functions begins with an
 * address in the table of its class. The word before that address is the address of the class's type_info, whose second word is
 * the address of its name ("N4shop4BookE"), and whose first word belongs to the class of the type_info itself, which is one of the
 * library's. A program that was stripped has all that, unless it was compiled with -fno-rtti.
 */
#ifndef HWI_MEMORY_TYPES_CLASS_NAMES_H
#define HWI_MEMORY_TYPES_CLASS_NAMES_H

#define HWI_VTABLE_PREFIX "vtable for " /* of the symbol of a class's table */

#include "memory/image/module_bytes.h"

/* Returns the name, "shop::Book", of the class whose objects begin with the address `table`, or NULL if it is not certain that
 * there is one. The caller frees it. */
char *hwi_class_name_of(struct hwi_module_bytes *bytes, uint64_t table);

#endif
