/* instances.c - the instances of scopes as columns of a document (docs/page-data.md)
 *
 * There may be a million of them, so most columns are differences, and instances in which nothing was allocated or
 * freed have no figures.
 */
#include <stdlib.h>

#include "base/varint.h"
#include "page/instances.h"
#include "page/packed.h"

enum { LANES_MAX = 4096, TEXTS_MAX = 2000, TEXT_CELLS = 300 };

static const uint64_t number_most = (UINT64_C(1) << 53) - 1; /* a larger one is not exact in a browser */

/* The instances that are written. */
struct columns {
  struct hwi_json *json;
  const struct hwi_page_scopes *scopes;
  const struct hwi_instance_list *instances;
  size_t count;
};

static bool has_calls(const struct hwi_listed_instance *item)
{
  return item->calls + item->free_calls > 0;
}

/* --- lanes --- */

/* Writes the threads, each with the number of its instances. Sets the number of instances whose thread is written. */
static void write_lanes(struct columns *columns, const uint32_t *thread_rows)
{
  const struct hwi_instance_list *instances = columns->instances;
  const struct hwi_profile *profile = columns->scopes->profile;
  size_t first = 0;
  hwi_json_begin_array(columns->json, "lanes");
  for (uint32_t lane = 0; lane < LANES_MAX && first < instances->count; lane++) {
    const uint32_t number = instances->items[first].thread;
    const struct hwi_profile_thread *thread = &profile->threads[number];
    size_t end = first;
    while (end < instances->count && instances->items[end].thread == number)
      end++;
    hwi_json_begin_object(columns->json, NULL);
    hwi_json_text(columns->json, "name", thread->name);
    hwi_json_number(columns->json, "tid", thread->tid);
    hwi_json_number(columns->json, "thread", thread_rows[number]);
    hwi_json_number(columns->json, "count", end - first);
    hwi_json_end_object(columns->json);
    first = end;
  }
  hwi_json_end_array(columns->json);
  columns->count = first;
}

/* --- columns --- */

static void write_times(const struct columns *columns)
{
  const struct hwi_listed_instance *items = columns->instances->items;
  struct hwi_packed begins = {0}, durations = {0};
  for (size_t i = 0; i < columns->count; i++) {
    const bool is_first = i == 0 || items[i].thread != items[i - 1].thread;
    hwi_packed_add(&begins, items[i].begin_ns - (is_first ? 0 : items[i - 1].begin_ns));
    hwi_packed_add(&durations, items[i].duration_ns);
  }
  hwi_json_packed(columns->json, "begin_ns", &begins);
  hwi_json_packed(columns->json, "duration_ns", &durations);
}

/* Which instance of its path each one is, and the number that the program gave it: as the difference from the path's
 * previous instance in the list, plus 1; 0 if there is none. */
static void write_numbers(const struct columns *columns)
{
  const struct hwi_listed_instance *items = columns->instances->items;
  const uint32_t rows = columns->scopes->row_count;
  struct hwi_packed paths = {0}, sequences = {0}, numbers = {0};
  struct latest {
    uint64_t sequence, number;
  } *latest = calloc(rows, sizeof *latest);
  columns->json->failed |= !latest;
  for (size_t i = 0; latest && i < columns->count; i++) {
    const uint32_t row = columns->scopes->row_of[items[i].path] - 1;
    struct latest *before = &latest[row];
    const bool has_number = items[i].op == HW_SCOPE_BEGIN_NUMBER && items[i].value <= number_most;
    hwi_packed_add(&paths, row);
    hwi_packed_add(&sequences,
                   items[i].sequence ? hwi_zigzag((int64_t)(items[i].sequence - before->sequence - 1)) + 1 : 0);
    hwi_packed_add(&numbers, has_number ? hwi_zigzag((int64_t)(items[i].value - before->number)) + 1 : 0);
    before->sequence = items[i].sequence ? items[i].sequence : before->sequence;
    before->number = has_number ? items[i].value : before->number;
  }
  free(latest);
  hwi_json_packed(columns->json, "scope", &paths);
  hwi_json_packed(columns->json, "sequence", &sequences);
  hwi_json_packed(columns->json, "number", &numbers);
}

static void write_calls(const struct columns *columns)
{
  const struct hwi_listed_instance *items = columns->instances->items;
  struct hwi_packed calls = {0}, frees = {0};
  for (size_t i = 0; i < columns->count; i++) {
    hwi_packed_add(&calls, items[i].calls);
    hwi_packed_add(&frees, items[i].free_calls);
  }
  hwi_json_packed(columns->json, "allocation_calls", &calls);
  hwi_json_packed(columns->json, "free_calls", &frees);
}

static void write_bytes(const struct columns *columns)
{
  const struct hwi_listed_instance *items = columns->instances->items;
  struct hwi_packed bytes = {0}, net = {0}, most = {0}, inside = {0};
  for (size_t i = 0; i < columns->count; i++) {
    if (!has_calls(&items[i]))
      continue;
    hwi_packed_add(&bytes, items[i].bytes);
    hwi_packed_add_signed(&net, items[i].net_bytes);
    hwi_packed_add(&most, (uint64_t)items[i].most_net_bytes);
    hwi_packed_add_signed(&inside, items[i].inside_bytes);
  }
  hwi_json_packed(columns->json, "allocated_bytes", &bytes);
  hwi_json_packed(columns->json, "net_bytes", &net);
  hwi_json_packed(columns->json, "max_net_bytes", &most);
  hwi_json_packed(columns->json, "inside_bytes", &inside);
}

static void write_sizes(const struct columns *columns)
{
  struct hwi_packed packed = {0};
  for (size_t i = 0; i < columns->count; i++) {
    const struct hwi_listed_instance *item = &columns->instances->items[i];
    if (!has_calls(item))
      continue;
    hwi_packed_add(&packed, 2 * (uint64_t)item->size_count + item->has_other_sizes);
    for (uint8_t k = 0; k < item->size_count; k++) {
      const struct hwi_size_count *size = &columns->instances->sizes[item->first_size + k];
      hwi_packed_add(&packed, size->size);
      hwi_packed_add_signed(&packed, size->blocks);
    }
  }
  hwi_json_packed(columns->json, "sizes", &packed);
}

/* --- texts --- */

/* Returns the text of an instance, which is known of the worst instances of each path only, or NULL. */
static const char *text_of(const struct hwi_profile *profile, const struct hwi_listed_instance *item)
{
  const struct hwi_worst *worst = profile->scopes[item->path].worst;
  if (item->op != HW_SCOPE_BEGIN_TEXT || !worst)
    return NULL;
  for (int measure = 0; measure < HWI_INSTANCE_MEASURES; measure++)
    for (uint32_t i = 0; i < worst[measure].count; i++)
      if (worst[measure].items[i].sequence == item->sequence && worst[measure].items[i].detail)
        return worst[measure].items[i].detail->text;
  return NULL;
}

static void write_texts(const struct columns *columns)
{
  const struct hwi_instance_list *instances = columns->instances;
  uint32_t count = 0;
  hwi_json_begin_array(columns->json, "texts");
  for (size_t i = 0; i < columns->count && count < TEXTS_MAX; i++) {
    const char *text = text_of(columns->scopes->profile, &instances->items[i]);
    if (!text)
      continue;
    hwi_json_begin_object(columns->json, NULL);
    hwi_json_number(columns->json, "instance", i);
    hwi_json_short_text(columns->json, "text", text, TEXT_CELLS);
    hwi_json_end_object(columns->json);
    count++;
  }
  hwi_json_end_array(columns->json);
}

void hwi_json_page_instances(struct hwi_json *json, const struct hwi_page_scopes *scopes,
                             const struct hwi_instance_list *instances, const uint32_t *thread_rows)
{
  struct columns columns = {json, scopes, instances, 0};
  hwi_json_begin_object(json, "instances");
  write_lanes(&columns, thread_rows);
  hwi_json_number(json, "count", columns.count);
  hwi_json_number(json, "recorded", instances->recorded);
  write_times(&columns);
  write_numbers(&columns);
  write_calls(&columns);
  write_bytes(&columns);
  write_sizes(&columns);
  write_texts(&columns);
  hwi_json_end_object(json);
}
