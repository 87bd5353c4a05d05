/* config.c - the values of a general heap's config, and their checks */
#include "allocators/heap/config.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "allocators/heap/layout.h"
#include "platform/os.h"
#include "platform/os_heap.h"

const struct hwi_heap_field *hwi_heap_field_find(const char *name)
{
  for (size_t i = 0; i < HWI_HEAP_FIELDS; i++)
    if (!strcmp(hwi_heap_fields[i].name, name) || !strcmp(hwi_heap_fields[i].variable, name))
      return &hwi_heap_fields[i];
  return NULL;
}

const size_t *hwi_heap_field_list(const struct hw_heap_config *config, const struct hwi_heap_field *field)
{
  const size_t *list;
  memcpy(&list, (const char *)config + field->offset, sizeof list);
  return list;
}

size_t hwi_heap_field_count(const struct hw_heap_config *config, const struct hwi_heap_field *field)
{
  size_t count;
  memcpy(&count, (const char *)config + field->count_offset, sizeof count);
  return count;
}

size_t hwi_heap_field_value(const struct hw_heap_config *config, const struct hwi_heap_field *field)
{
  const char *at = (const char *)config + field->offset;
  size_t value;
  unsigned word;
  if (field->kind == HWI_FIELD_FLAG)
    return *(const bool *)at;
  if (field->kind != HWI_FIELD_WORD)
    return memcpy(&value, at, sizeof value), value;
  return memcpy(&word, at, sizeof word), word;
}

static_assert(sizeof(enum hw_heap_threads) == sizeof(unsigned) && sizeof(enum hw_heap_lock) == sizeof(unsigned) &&
                  sizeof(enum hw_heap_returns) == sizeof(unsigned) && sizeof(enum hw_heap_pages) == sizeof(unsigned),
              "words are read as unsigned");

/* --- defaults --- */

enum { DEFAULT_AFTER_MS = 25 };

static size_t class_count_of(const struct hw_heap_config *config)
{
  return config->class_bytes ? config->class_count : HWI_DEFAULT_CLASS_COUNT;
}

/* Memory that is touched in advance would be touched again by the program if it went back. */
static enum hw_heap_returns returns_of(const struct hw_heap_config *config)
{
  if (config->returns != HW_HEAP_RETURNS_DEFAULT)
    return config->returns;
  return hwi_config_makes_present(config) ? HW_HEAP_RETURNS_ON_COLLECT : HW_HEAP_RETURNS_LATER;
}

/* Returns the element of a list for a class. */
static size_t of_class(const size_t *list, size_t count, size_t class_index, size_t by_default)
{
  return list ? list[count == 1 ? 0 : class_index] : by_default;
}

static void complete_pages(struct hw_heap_config *config, size_t *page_bytes, size_t *thread_pages)
{
  for (size_t i = 0; i < config->class_count; i++) {
    size_t slices = hwi_class_slices(config->class_bytes[i]);
    bool is_short = config->class_bytes[i] <= HWI_SYSTEM_PAGE_BYTES;
    page_bytes[i] = of_class(config->page_bytes, config->page_bytes_count, i, slices * HWI_SLICE_BYTES);
    thread_pages[i] = of_class(config->thread_pages, config->thread_pages_count, i, is_short ? 1 : 0);
  }
  config->page_bytes = page_bytes;
  config->thread_pages = thread_pages;
  config->page_bytes_count = config->thread_pages_count = config->class_count;
}

void hwi_heap_config_complete(struct hw_heap_config *config, size_t *class_bytes, size_t *page_bytes,
                              size_t *thread_pages)
{
  size_t count = class_count_of(config);
  memcpy(class_bytes, config->class_bytes ? config->class_bytes : hwi_default_classes, count * sizeof *class_bytes);
  config->class_bytes = class_bytes;
  config->class_count = count;
  complete_pages(config, page_bytes, thread_pages);
  config->returns = returns_of(config);
  if (!config->arena_bytes)
    config->arena_bytes = HWI_UNIT_BYTES;
  if (!config->arena_align_bytes)
    config->arena_align_bytes = HWI_UNIT_BYTES;
  if (!config->return_after_ms && config->returns == HW_HEAP_RETURNS_LATER)
    config->return_after_ms = DEFAULT_AFTER_MS;
}

/* --- checks --- */

static bool fail(struct hw_heap_error *error, const char *field, size_t index, const char *rule)
{
  if (error)
    *error = (struct hw_heap_error){field, index, rule};
  return false;
}

static bool is_within(const struct hwi_heap_field *field, size_t value)
{
  bool is_right = value >= field->least && value <= field->most && value % field->step == 0;
  return is_right && !(field->is_power_of_two && value & (value - 1));
}

/* Returns the rule that a class breaks, or NULL. */
static const char *wrong_in_class(const struct hw_heap_config *config, size_t i)
{
  size_t bytes = config->class_bytes[i];
  if (i > 0 && bytes <= config->class_bytes[i - 1])
    return "must be larger than the class before it";
  if ((bytes == HW_HEAP_LARGEST_CLASS_BYTES) != (i == config->class_count - 1))
    return "must be 32768 for the last class, and less for all others";
  return NULL;
}

static bool is_list_right(const struct hw_heap_config *config, const struct hwi_heap_field *field,
                          struct hw_heap_error *error)
{
  size_t count = hwi_heap_field_count(config, field), classes = class_count_of(config);
  const size_t *list = hwi_heap_field_list(config, field);
  bool is_classes = field->offset == offsetof(struct hw_heap_config, class_bytes);
  if (!list)
    return count == 0 || fail(error, field->count_name, 0, "must be 0 without a list");
  if (count == 0 || count > HW_HEAP_MOST_CLASSES)
    return fail(error, field->count_name, 0, "must be from 1 to 64");
  if (!is_classes && count != 1 && count != classes)
    return fail(error, field->count_name, 0, "must be 1, or the number of classes");
  for (size_t i = 0; i < count; i++) {
    const char *rule = !is_within(field, list[i]) ? field->rule : is_classes ? wrong_in_class(config, i) : NULL;
    if (rule)
      return fail(error, field->name, i, rule);
  }
  return true;
}

static bool is_value_right(const struct hw_heap_config *config, const struct hwi_heap_field *field,
                           struct hw_heap_error *error)
{
  size_t value = hwi_heap_field_value(config, field), words = 0;
  if (field->kind == HWI_FIELD_NUMBER)
    return value == 0 || is_within(field, value) || fail(error, field->name, 0, field->rule);
  while (field->words[words])
    words++;
  return value < words || fail(error, field->name, 0, field->rule);
}

/* The kernel knows which nodes there are. Where a choice is not allowed, or not possible, each one is accepted. */
static bool is_node_right(const struct hw_heap_config *config, struct hw_heap_error *error)
{
  void *page = config->numa_node ? hwi_os_map(HWI_SYSTEM_PAGE_BYTES) : NULL;
  if (!page)
    return true;
  int result = hwi_os_prefer_node(page, HWI_SYSTEM_PAGE_BYTES, config->numa_node - 1);
  hwi_os_unmap(page, HWI_SYSTEM_PAGE_BYTES);
  return result != -EINVAL || fail(error, "numa_node", 0, "must be the number of a memory node of this machine");
}

static bool is_lock_right(const struct hw_heap_config *config, struct hw_heap_error *error)
{
  return config->lock != HW_HEAP_LOCK_NONE || config->threads == HW_HEAP_SINGLE ||
         fail(error, "lock", 0, "must not be none unless `threads` is single");
}

static const char if_touched[] = "must be left out if `touch` or `lock_memory` is set and `returns` is not";

/* How free memory goes back also decides which of the other members have an effect. */
static bool is_return_right(const struct hw_heap_config *config, struct hw_heap_error *error)
{
  enum hw_heap_returns returns = returns_of(config);
  bool keeps = returns == HW_HEAP_RETURNS_LATER || returns == HW_HEAP_RETURNS_ABOVE;
  bool is_default = config->returns == HW_HEAP_RETURNS_DEFAULT;
  if (config->keep_free_bytes && !keeps)
    return fail(error, "keep_free_bytes", 0,
                is_default ? if_touched : "must be left out unless `returns` is later or above");
  if (config->return_after_ms && returns != HW_HEAP_RETURNS_LATER)
    return fail(error, "return_after_ms", 0, is_default ? if_touched : "must be left out unless `returns` is later");
  return true;
}

bool hwi_heap_config_check(const struct hw_heap_config *config, struct hw_heap_error *error)
{
  for (const struct hwi_heap_field *field = hwi_heap_fields; field < hwi_heap_fields + HWI_HEAP_FIELDS; field++)
    if (!(field->kind == HWI_FIELD_LIST ? is_list_right : is_value_right)(config, field, error))
      return false;
  return is_lock_right(config, error) && is_return_right(config, error) && is_node_right(config, error);
}
