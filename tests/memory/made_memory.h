/* made_memory.h - the memory and the heap of a process, made by hand: for tests of what refers to what */
#ifndef HW_TESTS_MADE_MEMORY_H
#define HW_TESTS_MADE_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memory/graph/graph.h"
#include "trace/table.h"

enum {
  PAGE = 4096,
  CODE = 0x10000,   /* of the program: read only */
  DATA = 0x11000,   /* of the program, */
  BSS = 0x12000,    /* and what follows it */
  MAPPED = 0x20000, /* memory without a file */
  CONST = 0x30000,  /* the same, which cannot be written */
  LOCAL = 0x40000,  /* with the thread pointer */
  STACK = 0x50000,
  HEAP = 0x100000,
  STACK_POINTER = STACK + 0x800,
  THREAD_POINTER = LOCAL + 0x800,
  HEADER = 16, /* between blocks */
  TID = 1234,
};

struct made {
  struct hwi_memory memory;
  struct hwi_core_heap heap;
  struct hwi_graph graph;
  struct hwi_leaks leaks;
  struct hwi_error error;
  uint64_t next; /* block */
};

static inline void made_region(struct made *made, uint64_t begin, uint64_t bytes, bool is_writable, const char *file)
{
  const struct hwi_region region = {.begin = begin,
                                    .end = begin + bytes,
                                    .bytes = calloc(1, bytes),
                                    .known = bytes,
                                    .is_writable = is_writable,
                                    .file = file,
                                    .file_off = file ? begin - CODE : 0};
  assert_true(hwi_memory_add_region(&made->memory, &region));
}

static inline void made_thread(struct made *made, const struct hwi_memory_thread *thread)
{
  made->memory.threads = realloc(made->memory.threads, (made->memory.thread_count + 1) * sizeof *thread);
  made->memory.threads[made->memory.thread_count++] = *thread;
}

static inline void made_init(struct made *made, uint64_t heap_bytes)
{
  *made = (struct made){.memory = {.word_bytes = 8}, .next = HEAP + HEADER};
  made_region(made, CODE, PAGE, false, "/bin/program");
  made_region(made, DATA, PAGE, true, "/bin/program");
  made_region(made, BSS, PAGE, true, NULL);
  made_region(made, MAPPED, PAGE, true, NULL);
  made_region(made, CONST, PAGE, false, NULL);
  made_region(made, LOCAL, PAGE, true, NULL);
  made_region(made, STACK, PAGE, true, NULL);
  made_region(made, HEAP, heap_bytes, true, NULL);
  hwi_memory_finish(&made->memory);
  made_thread(made,
              &(struct hwi_memory_thread){
                  .tid = TID, .stack_pointer = STACK_POINTER, .thread_pointer = THREAD_POINTER, .register_count = 3});
  assert_non_null(hwi_core_heap_add_part(&made->heap, HWI_CORE_GLIBC, "heap", 0));
}

static inline uint64_t made_block_at(struct made *made, uint64_t address, uint64_t bytes,
                                     enum hwi_core_block_state state)
{
  assert_true(hwi_core_heap_add_block(&made->heap, &made->heap.parts[0], address, bytes, state));
  return address;
}

/* Adds a block behind the ones before. Returns its address. */
static inline uint64_t made_block(struct made *made, uint64_t bytes, enum hwi_core_block_state state)
{
  const uint64_t address = made->next;
  made->next += bytes + HEADER;
  return made_block_at(made, address, bytes, state);
}

static inline uint64_t made_live(struct made *made, uint64_t bytes)
{
  return made_block(made, bytes, HWI_CORE_BLOCK_LIVE);
}

/* Writes a word, in the byte order of the memory. */
static inline void made_set(struct made *made, uint64_t at, uint64_t word)
{
  struct hwi_memory_reader reader = {.memory = &made->memory};
  unsigned char *bytes = (unsigned char *)(uintptr_t)hwi_memory_bytes(&reader, at, made->memory.word_bytes);
  assert_non_null(bytes);
  for (unsigned i = 0; i < made->memory.word_bytes; i++)
    bytes[made->memory.swaps_bytes ? made->memory.word_bytes - 1 - i : i] = (unsigned char)(word >> (8 * i));
}

static inline void made_open(struct made *made)
{
  assert_int_equal(hwi_graph_open(&made->graph, &made->memory, &made->heap, &made->error), 0);
}

/* Opens the graph, and finds the leaks. */
static inline void made_leaks(struct made *made)
{
  made_open(made);
  assert_int_equal(hwi_leaks_find(&made->leaks, &made->graph, &made->error), 0);
}

static inline uint32_t made_number(const struct made *made, uint64_t address)
{
  const struct hwi_index_span *span = NULL;
  const uint32_t block = hwi_block_index_find(&made->graph.index, &span, address);
  assert_int_not_equal(block, HWI_NO_BLOCK);
  return block;
}

static inline uint8_t made_marks(const struct made *made, uint64_t address)
{
  return made->graph.marks[made_number(made, address)];
}

static inline bool made_is_leak(const struct made *made, uint64_t address)
{
  return hwi_graph_is_leak(&made->graph, made_number(made, address));
}

static inline void made_release(struct made *made)
{
  hwi_leaks_release(&made->leaks);
  hwi_graph_close(&made->graph);
  hwi_core_heap_release(&made->heap);
  for (size_t i = 0; i < made->memory.region_count; i++)
    free((void *)(uintptr_t)made->memory.regions[i].bytes);
  hwi_memory_close(&made->memory);
}

#endif
