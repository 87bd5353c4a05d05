/* fields.c - the fields of a general heap's config; the tools have this table, too */
#include "allocators/heap/config.h"

#include <stdint.h>
#include <string.h>

#include "allocators/heap/layout.h"

#define FIELD(member, suffix, its_kind)                                  \
  .name = #member, .variable = HWI_HEAP_PREFIX suffix, .kind = its_kind, \
  .offset = offsetof(struct hw_heap_config, member)
#define LIST(member, suffix, count)                                                                                    \
  FIELD(member, suffix, HWI_FIELD_LIST), .count_name = #count, .count_offset = offsetof(struct hw_heap_config, count), \
                                         .text_rule = "must be a list of at most 64 numbers, such as 16,64,32K"

static const char *const thread_words[] = {"caching", "central", "single", NULL};
static const char *const lock_words[] = {"adaptive", "spinning", "none", NULL};
static const char *const return_words[] = {"default", "later", "above", "at-once", "on-collect", NULL};
static const char *const page_words[] = {"usual", "small", "transparent", "huge", NULL};
static const char *const flag_words[] = {"0", "1", NULL};

enum { MOST_THREAD_PAGES = 1024, MOST_PERCENT = 100, MOST_MS = 3600000, MOST_NODES = 1024 };

const struct hwi_heap_field hwi_heap_fields[HWI_HEAP_FIELDS] = {
    {LIST(class_bytes, "CLASS_BYTES", class_count), .least = HW_HEAP_ALIGN, .most = SIZE_MAX, .step = HW_HEAP_ALIGN,
     .rule = "must be a multiple of 16, and not 0"},
    {LIST(page_bytes, "PAGE_BYTES", page_bytes_count), .least = HWI_SLICE_BYTES, .most = HWI_SPAN_BYTES,
     .step = HWI_SLICE_BYTES, .rule = "must be a multiple of 64 KiB, at most 2 MiB"},
    {LIST(thread_pages, "THREAD_PAGES", thread_pages_count), .most = MOST_THREAD_PAGES, .step = 1,
     .rule = "must be from 0 to 1024"},
    {FIELD(arena_bytes, "ARENA_BYTES", HWI_FIELD_NUMBER), .least = HWI_UNIT_BYTES, .most = HWI_MOST_ARENA_BYTES,
     .step = HWI_UNIT_BYTES, .rule = "must be a multiple of 4 MiB, at most 1 GiB"},
    {FIELD(arena_align_bytes, "ARENA_ALIGN_BYTES", HWI_FIELD_NUMBER), .least = HWI_UNIT_BYTES,
     .most = HWI_MOST_ARENA_BYTES, .step = HWI_UNIT_BYTES, .is_power_of_two = true,
     .rule = "must be a power of two from 4 MiB to 1 GiB"},
    {FIELD(arena_growth_percent, "ARENA_GROWTH_PERCENT", HWI_FIELD_NUMBER), .most = MOST_PERCENT, .step = 1,
     .rule = "must be from 0 to 100"},
    {FIELD(threads, "THREADS", HWI_FIELD_WORD), .text_rule = "must be caching or central", /* of a process */
     .words = thread_words, .rule = "must be caching, central or single"},
    {FIELD(lock, "LOCK", HWI_FIELD_WORD), .text_rule = "must be adaptive or spinning", /* of a process */
     .words = lock_words, .rule = "must be adaptive, spinning or none"},
    {FIELD(returns, "RETURNS", HWI_FIELD_WORD), .words = return_words,
     .rule = "must be later, above, at-once or on-collect"},
    {FIELD(keep_free_bytes, "KEEP_FREE_BYTES", HWI_FIELD_NUMBER), .least = 1, .most = SIZE_MAX, .step = 1,
     .rule = "must be a size, such as 64M, and not 0"},
    {FIELD(return_after_ms, "RETURN_AFTER_MS", HWI_FIELD_NUMBER), .least = 1, .most = MOST_MS, .step = 1,
     .rule = "must be from 1 to 3600000"},
    {FIELD(pages, "PAGES", HWI_FIELD_WORD), .words = page_words, .rule = "must be usual, small, transparent or huge"},
    {FIELD(touch, "TOUCH", HWI_FIELD_FLAG), .words = flag_words, .rule = "must be 0 or 1"},
    {FIELD(lock_memory, "LOCK_MEMORY", HWI_FIELD_FLAG), .words = flag_words, .rule = "must be 0 or 1"},
    {FIELD(numa_node, "NUMA_NODE", HWI_FIELD_NUMBER), .default_text = "any", .least = 1, .most = MOST_NODES, .step = 1,
     .bias = 1, .rule = "must be the number of a memory node of this machine"},
    {.name = "check_all_frees",
     .variable = "HEAPWRIGHT_CHECK",
     .kind = HWI_FIELD_FLAG,
     .offset = offsetof(struct hw_heap_config, check_all_frees),
     .words = flag_words,
     .rule = "must be 0 or 1"},
};

static bool is_named(const char *variable, const char *name)
{
  size_t bytes = strlen(name);
  return !strncmp(variable, name, bytes) && variable[bytes] == '=';
}

bool hwi_heap_variable_is_unknown(const char *variable)
{
  if (strncmp(variable, HWI_HEAP_PREFIX, sizeof HWI_HEAP_PREFIX - 1) != 0 || !strchr(variable, '='))
    return false;
  for (size_t i = 0; i < HWI_HEAP_FIELDS; i++)
    if (is_named(variable, hwi_heap_fields[i].variable))
      return false;
  return !is_named(variable, HWI_HEAP_LIBC_VARIABLE) && !is_named(variable, HWI_HEAP_CONFIG_VARIABLE);
}

const char *hwi_heap_variable_meant(const char *variable)
{
  static const char short_prefix[] = "HEAPWRIGHT_";
  static const char *const others[] = {"HEAPWRIGHT_CHECK", "HEAPWRIGHT_STATS"};
  if (strncmp(variable, HWI_HEAP_PREFIX, sizeof HWI_HEAP_PREFIX - 1) != 0)
    return NULL;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const char *name = others[i] + sizeof short_prefix - 1;
    if (!strncmp(variable + sizeof HWI_HEAP_PREFIX - 1, name, strlen(name)))
      return others[i];
  }
  return NULL;
}
