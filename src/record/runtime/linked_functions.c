/* linked_functions.c - the functions of allocators that programs link in: by which names they are known, and what they do
 *
 * jemalloc 5, mimalloc 2 and gperftools' tcmalloc 2. Functions that are not listed are recorded as the listed ones that they call.
 */
#include "record/runtime/linked_functions.h"

#include <string.h>

#include "base/allocator_texts.h"

#define ALLOC(name, entry, size_, count_, align_)                                           \
  {                                                                                         \
    name, HWI_ROLE_ALLOC, HW_ENTRY_##entry, .size = size_, .count = count_, .align = align_ \
  }
#define REALLOC(name, entry, block_, size_, count_)                                           \
  {                                                                                           \
    name, HWI_ROLE_REALLOC, HW_ENTRY_##entry, .size = size_, .count = count_, .block = block_ \
  }
#define FREE(name, entry)                             \
  {                                                   \
    name, HWI_ROLE_FREE, HW_ENTRY_##entry, .block = 1 \
  }
#define NEW(name, entry) ALLOC(name, entry, 1, 0, 0)
#define NEW_ALIGNED(name, entry) ALLOC(name, entry, 1, 0, 2)
#define LIST(shapes)                       \
  {                                        \
    shapes, sizeof shapes / sizeof *shapes \
  }

/* With the prefix of a build of jemalloc, or none. */
static const struct hwi_shape usual[] = {
    ALLOC("malloc", MALLOC, 1, 0, 0),
    FREE("free", FREE),
    ALLOC("calloc", CALLOC, 2, 1, 0),
    REALLOC("realloc", REALLOC, 1, 2, 0),
    REALLOC("reallocarray", REALLOCARRAY, 1, 3, 2),
    {"posix_memalign", HWI_ROLE_POSIX, HW_ENTRY_POSIX_MEMALIGN, .size = 3, .align = 2},
    ALLOC("aligned_alloc", ALIGNED_ALLOC, 2, 0, 1),
    ALLOC("memalign", MEMALIGN, 2, 0, 1),
    ALLOC("valloc", VALLOC, 1, 0, 0),
    ALLOC("pvalloc", PVALLOC, 1, 0, 0),
    FREE("cfree", FREE),
    FREE("free_sized", FREE_SIZED),
    FREE("free_aligned_sized", FREE_ALIGNED_SIZED),
    {"malloc_usable_size", HWI_ROLE_USABLE, HW_ENTRY_MALLOC_USABLE_SIZE, .block = 1},
};

static const struct hwi_shape operators[] = {
    NEW(HW_SYMBOL_NEW, NEW),
    NEW(HW_SYMBOL_NEW_ARRAY, NEW_ARRAY),
    NEW(HW_SYMBOL_NEW_NOTHROW, NEW_NOTHROW),
    NEW(HW_SYMBOL_NEW_ARRAY_NOTHROW, NEW_ARRAY_NOTHROW),
    NEW_ALIGNED(HW_SYMBOL_NEW_ALIGNED, NEW_ALIGNED),
    NEW_ALIGNED(HW_SYMBOL_NEW_ARRAY_ALIGNED, NEW_ARRAY_ALIGNED),
    NEW_ALIGNED(HW_SYMBOL_NEW_ALIGNED_NOTHROW, NEW_ALIGNED_NOTHROW),
    NEW_ALIGNED(HW_SYMBOL_NEW_ARRAY_ALIGNED_NOTHROW, NEW_ARRAY_ALIGNED_NOTHROW),
    FREE(HW_SYMBOL_DELETE, DELETE),
    FREE(HW_SYMBOL_DELETE_ARRAY, DELETE_ARRAY),
    FREE(HW_SYMBOL_DELETE_NOTHROW, DELETE_NOTHROW),
    FREE(HW_SYMBOL_DELETE_ARRAY_NOTHROW, DELETE_ARRAY_NOTHROW),
    FREE(HW_SYMBOL_DELETE_SIZED, DELETE_SIZED),
    FREE(HW_SYMBOL_DELETE_ARRAY_SIZED, DELETE_ARRAY_SIZED),
    FREE(HW_SYMBOL_DELETE_ALIGNED, DELETE_ALIGNED),
    FREE(HW_SYMBOL_DELETE_ARRAY_ALIGNED, DELETE_ARRAY_ALIGNED),
    FREE(HW_SYMBOL_DELETE_ALIGNED_NOTHROW, DELETE_ALIGNED_NOTHROW),
    FREE(HW_SYMBOL_DELETE_ARRAY_ALIGNED_NOTHROW, DELETE_ARRAY_ALIGNED_NOTHROW),
    FREE(HW_SYMBOL_DELETE_SIZED_ALIGNED, DELETE_SIZED_ALIGNED),
    FREE(HW_SYMBOL_DELETE_ARRAY_SIZED_ALIGNED, DELETE_ARRAY_SIZED_ALIGNED),
};

/* With the prefix. */
static const struct hwi_shape jemallocs[] = {
    {"mallocx", HWI_ROLE_FLAGS, HW_ENTRY_MALLOC, .size = 1, .align = 2},
    REALLOC("rallocx", REALLOC, 1, 2, 0),
    {"xallocx", HWI_ROLE_RESIZE, HW_ENTRY_REALLOC, .size = 2, .block = 1},
    FREE("dallocx", FREE),
    FREE("sdallocx", FREE_SIZED),
};

static const struct hwi_shape mimallocs[] = {
    ALLOC("mi_malloc", MALLOC, 1, 0, 0),
    ALLOC("mi_zalloc", CALLOC, 1, 0, 0),
    ALLOC("mi_malloc_small", MALLOC, 1, 0, 0),
    ALLOC("mi_zalloc_small", CALLOC, 1, 0, 0),
    ALLOC("mi_calloc", CALLOC, 2, 1, 0),
    ALLOC("mi_mallocn", MALLOC, 2, 1, 0),
    REALLOC("mi_realloc", REALLOC, 1, 2, 0),
    REALLOC("mi_reallocn", REALLOCARRAY, 1, 3, 2),
    REALLOC("mi_reallocarray", REALLOCARRAY, 1, 3, 2),
    REALLOC("mi_rezalloc", REALLOC, 1, 2, 0),
    REALLOC("mi_recalloc", REALLOCARRAY, 1, 3, 2),
    {"mi_reallocf", HWI_ROLE_REALLOC_OR_FREE, HW_ENTRY_REALLOC, .size = 2, .block = 1},
    {"mi_expand", HWI_ROLE_EXPAND, HW_ENTRY_REALLOC, .size = 2, .block = 1},
    FREE("mi_free", FREE),
    FREE("mi_cfree", FREE),
    FREE("mi_free_size", FREE_SIZED),
    FREE("mi_free_aligned", FREE),
    FREE("mi_free_size_aligned", FREE_ALIGNED_SIZED),
    {"mi_posix_memalign", HWI_ROLE_POSIX, HW_ENTRY_POSIX_MEMALIGN, .size = 3, .align = 2},
    ALLOC("mi_memalign", MEMALIGN, 2, 0, 1),
    ALLOC("mi_aligned_alloc", ALIGNED_ALLOC, 2, 0, 1),
    ALLOC("mi_valloc", VALLOC, 1, 0, 0),
    ALLOC("mi_pvalloc", PVALLOC, 1, 0, 0),
    ALLOC("mi_malloc_aligned", ALIGNED_ALLOC, 1, 0, 2),
    ALLOC("mi_malloc_aligned_at", ALIGNED_ALLOC, 1, 0, 2),
    ALLOC("mi_zalloc_aligned", ALIGNED_ALLOC, 1, 0, 2),
    ALLOC("mi_zalloc_aligned_at", ALIGNED_ALLOC, 1, 0, 2),
    ALLOC("mi_calloc_aligned", ALIGNED_ALLOC, 2, 1, 3),
    ALLOC("mi_calloc_aligned_at", ALIGNED_ALLOC, 2, 1, 3),
    REALLOC("mi_realloc_aligned", REALLOC, 1, 2, 0),
    REALLOC("mi_realloc_aligned_at", REALLOC, 1, 2, 0),
    REALLOC("mi_rezalloc_aligned", REALLOC, 1, 2, 0),
    REALLOC("mi_rezalloc_aligned_at", REALLOC, 1, 2, 0),
    REALLOC("mi_recalloc_aligned", REALLOCARRAY, 1, 3, 2),
    REALLOC("mi_recalloc_aligned_at", REALLOCARRAY, 1, 3, 2),
    {"mi_strdup", HWI_ROLE_STRING, HW_ENTRY_MALLOC, .block = 0},
    {"mi_strndup", HWI_ROLE_STRING, HW_ENTRY_MALLOC, .block = 0},
    {"mi_realpath", HWI_ROLE_STRING, HW_ENTRY_MALLOC, .block = 2},
    NEW("mi_new", NEW),
    NEW("mi_new_nothrow", NEW_NOTHROW),
    NEW_ALIGNED("mi_new_aligned", NEW_ALIGNED),
    NEW_ALIGNED("mi_new_aligned_nothrow", NEW_ALIGNED_NOTHROW),
    ALLOC("mi_new_n", NEW_ARRAY, 2, 1, 0),
    REALLOC("mi_new_realloc", REALLOC, 1, 2, 0),
    REALLOC("mi_new_reallocn", REALLOCARRAY, 1, 3, 2),
    ALLOC("mi_heap_malloc", MALLOC, 2, 0, 0),
    ALLOC("mi_heap_zalloc", CALLOC, 2, 0, 0),
    ALLOC("mi_heap_malloc_small", MALLOC, 2, 0, 0),
    ALLOC("mi_heap_calloc", CALLOC, 3, 2, 0),
    ALLOC("mi_heap_mallocn", MALLOC, 3, 2, 0),
    REALLOC("mi_heap_realloc", REALLOC, 2, 3, 0),
    REALLOC("mi_heap_reallocn", REALLOCARRAY, 2, 4, 3),
    REALLOC("mi_heap_rezalloc", REALLOC, 2, 3, 0),
    REALLOC("mi_heap_recalloc", REALLOCARRAY, 2, 4, 3),
    {"mi_heap_reallocf", HWI_ROLE_REALLOC_OR_FREE, HW_ENTRY_REALLOC, .size = 3, .block = 2},
    ALLOC("mi_heap_malloc_aligned", ALIGNED_ALLOC, 2, 0, 3),
    ALLOC("mi_heap_malloc_aligned_at", ALIGNED_ALLOC, 2, 0, 3),
    ALLOC("mi_heap_zalloc_aligned", ALIGNED_ALLOC, 2, 0, 3),
    ALLOC("mi_heap_zalloc_aligned_at", ALIGNED_ALLOC, 2, 0, 3),
    ALLOC("mi_heap_calloc_aligned", ALIGNED_ALLOC, 3, 2, 4),
    ALLOC("mi_heap_calloc_aligned_at", ALIGNED_ALLOC, 3, 2, 4),
    REALLOC("mi_heap_realloc_aligned", REALLOC, 2, 3, 0),
    REALLOC("mi_heap_realloc_aligned_at", REALLOC, 2, 3, 0),
    REALLOC("mi_heap_rezalloc_aligned", REALLOC, 2, 3, 0),
    REALLOC("mi_heap_rezalloc_aligned_at", REALLOC, 2, 3, 0),
    REALLOC("mi_heap_recalloc_aligned", REALLOCARRAY, 2, 4, 3),
    {"mi_heap_strdup", HWI_ROLE_STRING, HW_ENTRY_MALLOC, .block = 0},
    {"mi_heap_strndup", HWI_ROLE_STRING, HW_ENTRY_MALLOC, .block = 0},
    {"mi_heap_realpath", HWI_ROLE_STRING, HW_ENTRY_MALLOC, .block = 3},
    ALLOC("mi_heap_alloc_new", NEW, 2, 0, 0),
    ALLOC("mi_heap_alloc_new_n", NEW_ARRAY, 3, 2, 0),
    {"mi_usable_size", HWI_ROLE_USABLE, HW_ENTRY_MALLOC_USABLE_SIZE, .block = 1},
};

static const struct hwi_shape tcmallocs[] = {
    ALLOC("tc_malloc", MALLOC, 1, 0, 0),
    ALLOC("tc_malloc_skip_new_handler", MALLOC, 1, 0, 0),
    FREE("tc_free", FREE),
    FREE("tc_free_sized", FREE_SIZED),
    FREE("tc_cfree", FREE),
    ALLOC("tc_calloc", CALLOC, 2, 1, 0),
    REALLOC("tc_realloc", REALLOC, 1, 2, 0),
    ALLOC("tc_memalign", MEMALIGN, 2, 0, 1),
    {"tc_posix_memalign", HWI_ROLE_POSIX, HW_ENTRY_POSIX_MEMALIGN, .size = 3, .align = 2},
    ALLOC("tc_valloc", VALLOC, 1, 0, 0),
    ALLOC("tc_pvalloc", PVALLOC, 1, 0, 0),
    NEW("tc_new", NEW),
    NEW("tc_new_nothrow", NEW_NOTHROW),
    NEW("tc_newarray", NEW_ARRAY),
    NEW("tc_newarray_nothrow", NEW_ARRAY_NOTHROW),
    NEW_ALIGNED("tc_new_aligned", NEW_ALIGNED),
    NEW_ALIGNED("tc_new_aligned_nothrow", NEW_ALIGNED_NOTHROW),
    NEW_ALIGNED("tc_newarray_aligned", NEW_ARRAY_ALIGNED),
    NEW_ALIGNED("tc_newarray_aligned_nothrow", NEW_ARRAY_ALIGNED_NOTHROW),
    FREE("tc_delete", DELETE),
    FREE("tc_delete_nothrow", DELETE_NOTHROW),
    FREE("tc_delete_sized", DELETE_SIZED),
    FREE("tc_delete_aligned", DELETE_ALIGNED),
    FREE("tc_delete_aligned_nothrow", DELETE_ALIGNED_NOTHROW),
    FREE("tc_delete_sized_aligned", DELETE_SIZED_ALIGNED),
    FREE("tc_deletearray", DELETE_ARRAY),
    FREE("tc_deletearray_nothrow", DELETE_ARRAY_NOTHROW),
    FREE("tc_deletearray_sized", DELETE_ARRAY_SIZED),
    FREE("tc_deletearray_aligned", DELETE_ARRAY_ALIGNED),
    FREE("tc_deletearray_aligned_nothrow", DELETE_ARRAY_ALIGNED_NOTHROW),
    FREE("tc_deletearray_sized_aligned", DELETE_ARRAY_SIZED_ALIGNED),
    {"tc_malloc_size", HWI_ROLE_USABLE, HW_ENTRY_MALLOC_USABLE_SIZE, .block = 1},
};

static const struct hwi_allocator {
  const char *name;
  const char *mark; /* a function that it alone has */
  const char *text; /* the same of strings */
  struct hwi_shapes own;
  bool has_prefixes;
} allocators[HWI_ALLOCATOR_KINDS] = {
    [HWI_JEMALLOC] = {"jemalloc", "mallctlnametomib", HWI_JEMALLOC_TEXT, LIST(jemallocs), true},
    [HWI_MIMALLOC] = {"mimalloc", "mi_malloc", HWI_MIMALLOC_TEXT, LIST(mimallocs), false},
    [HWI_TCMALLOC] = {"tcmalloc", "tc_malloc", HWI_TCMALLOC_TEXT, LIST(tcmallocs), false},
};

static const struct hwi_shapes usual_shapes = LIST(usual), operator_shapes = LIST(operators);

const char *hwi_allocator_text(enum hwi_allocator_kind kind)
{
  return allocators[kind].text;
}

const char *hwi_allocator_name(enum hwi_allocator_kind kind)
{
  return allocators[kind].name;
}

bool hwi_allocator_is_marked(enum hwi_allocator_kind kind, const char *name, char prefix[HWI_PREFIX_BYTES])
{
  const struct hwi_allocator *allocator = &allocators[kind];
  size_t before = 0;
  if (allocator->has_prefixes) {
    const size_t bytes = strlen(name), of_mark = strlen(allocator->mark);
    before = bytes > of_mark ? bytes - of_mark : 0;
  }
  if (before >= HWI_PREFIX_BYTES || strcmp(name + before, allocator->mark) != 0)
    return false;
  memcpy(prefix, name, before);
  prefix[before] = 0;
  return true;
}

static const struct hwi_shape *find(const struct hwi_shapes *shapes, const char *name, size_t bytes)
{
  for (uint32_t i = 0; i < shapes->count; i++)
    if (strncmp(shapes->list[i].name, name, bytes) == 0 && !shapes->list[i].name[bytes])
      return &shapes->list[i];
  return NULL;
}

/* A build with a prefix leaves malloc and operator new to others. */
const struct hwi_shape *hwi_allocator_shape(enum hwi_allocator_kind kind, const char *prefix, const char *name,
                                            size_t bytes)
{
  const size_t before = strlen(prefix);
  const struct hwi_shape *shape;
  if (bytes <= before || bytes - before >= sizeof shape->name || strncmp(name, prefix, before) != 0)
    return NULL;
  name += before, bytes -= before;
  if (name[0] == '_') /* most names of C++, and none of the others */
    return before == 0 ? find(&operator_shapes, name, bytes) : NULL;
  shape = find(&usual_shapes, name, bytes);
  return shape ? shape : find(&allocators[kind].own, name, bytes);
}

bool hwi_allocator_is_own_name(enum hwi_allocator_kind kind, const char *prefix, const char *name)
{
  const size_t bytes = strlen(name), before = strlen(prefix);
  if (bytes <= before || strncmp(name, prefix, before) != 0)
    return false;
  return find(&allocators[kind].own, name + before, bytes - before) ||
         (before > 0 && find(&usual_shapes, name + before, bytes - before));
}
