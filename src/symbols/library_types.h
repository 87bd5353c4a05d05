/* library_types.h - what the types of the C++ library's containers do not say themselves
 *
 * A container points to its nodes as to a base class without the value: which node it is, only the container knows. And a value may
 * lie in a buffer of bytes. These are the names that GCC's library (libstdc++) has had since its version 5.
 *
 * prefix    how the name of a record begins: the arguments of a template follow.
 * base      the record as which a node is pointed to.
 */
#ifndef HWI_SYMBOLS_LIBRARY_TYPES_H
#define HWI_SYMBOLS_LIBRARY_TYPES_H

#include <stdbool.h>

/* Returns the name of the typedef, in a container, of its nodes or of a pointer to them; NULL: it is no such container. */
const char *hwi_library_node_of(const char *name);

bool hwi_library_is_node(const char *name);
bool hwi_library_is_node_base(const char *name);

/* Containers whose elements lie one after the other in a block with room for more: what is in that room is left over from
 * earlier. A vector is three words: the first element, the end, the end of the room. A deque has a list of blocks with
 * HWI_LIBRARY_DEQUE_BYTES of elements: the address of the list, its length, and two iterators, of the first element and of the end;
 * an iterator is the element, the begin and the end of its block, and the place in the list. */
enum hwi_library_sequence { HWI_LIBRARY_NO_SEQUENCE, HWI_LIBRARY_VECTOR, HWI_LIBRARY_DEQUE };
enum { HWI_LIBRARY_DEQUE_BYTES = 512 };
enum hwi_library_sequence hwi_library_sequence_of(const char *name);

/* Returns the name of the template's parameter that is the type of what is in the buffer; NULL: it is no such buffer. */
const char *hwi_library_buffer(const char *name);

/* Returns whether the record is part of the library. */
bool hwi_library_has(const char *name);

/* Returns whether what it points to are the characters of a string. */
bool hwi_library_is_string(const char *name);

#endif
