/* exported.h - included first by each file of libheapwright-heap: what heap.h declares is exported, all else is
 * hidden */
#pragma GCC visibility push(default)
#include "heapwright/heap.h"
#pragma GCC visibility pop
