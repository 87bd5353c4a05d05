/* own_heap.c - heapwright's heap as the malloc of a program, with a config of its own
 *
 *   cc -O2 -shared -fPIC own_heap.c -o libown_heap.so -I PREFIX/include \
 *      -Wl,--whole-archive PREFIX/lib/libheapwright-heap.a -Wl,--no-whole-archive -Wl,-z,now
 *   LD_PRELOAD=./libown_heap.so HEAPWRIGHT_STATS=stderr program
 *
 * The config is part of the library, and needs no variables; those that are set replace its members. Linked into a program
 * instead of a library, this file does the same for that program alone.
 */
#include <heapwright/heap.h>

/* A program whose blocks are mostly of 40, 72 and 200 bytes, and which does not return memory in between. */
static const size_t classes[] = {16, 32, 48, 80, 128, 208, 512, 1024, 2048, 4096, 8192, 16384, 32768};

const struct hw_heap_config hw_process_heap_config = {
    .class_bytes = classes,
    .class_count = sizeof classes / sizeof *classes,
    .arena_bytes = (size_t)16 << 20,
    .returns = HW_HEAP_RETURNS_ON_COLLECT,
};
