/* fuzz_unpack.c - arbitrary bytes as the columns of a packed section: no crash, no hang, no more memory than their size
 * justifies
 *
 * An input is the sizes of the columns, and the columns uncompressed, without zstd.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/pack/recode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { BATCH_EVENTS = 64 };

static bool take_node(void *context, uint32_t number, const struct hwi_node *node)
{
  uint64_t *sum = context;
  *sum += number + node->address;
  return true;
}

static bool take_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  uint64_t *sum = context;
  *sum += type + (bytes ? payload[bytes - 1] : 0);
  *thread = type;
  return true;
}

static bool is_of_block(const struct hwi_event *event)
{
  return event->kind == HWI_EVENT_ALLOC || event->kind == HWI_EVENT_FREE;
}

static void read_all(struct hwi_restorer *restorer)
{
  static volatile uint64_t sink;
  uint64_t sum = 0, last_tick = 0;
  struct hwi_definition_sink definitions = {&sum, take_node, take_record};
  struct hwi_restored_chunk chunk;
  struct hwi_event events[BATCH_EVENTS];
  hwi_restore_definitions(restorer, &definitions);
  while (hwi_restore_chunk(restorer, &chunk)) {
    int made;
    while ((made = hwi_restore(restorer, events, BATCH_EVENTS)) > 0) {
      for (int i = 0; i < made; i++) {
        if (events[i].tick < last_tick || (!events[i].address && is_of_block(&events[i])))
          abort();
        last_tick = events[i].tick;
      }
    }
  }
  if (!hwi_restore_is_done(restorer))
    abort();
  sink += sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  uint16_t sizes[HWI_COLUMN_COUNT];
  struct hwi_columns_in in = {0};
  if (count < sizeof sizes)
    return 0;
  memcpy(sizes, bytes, sizeof sizes);
  count -= sizeof sizes;
  in.bytes = malloc(count + 1);
  if (!in.bytes)
    return 0;
  memcpy(in.bytes, bytes + sizeof sizes, count);
  const uint8_t *at = in.bytes;
  for (int i = 0; i < HWI_COLUMN_COUNT; i++) {
    size_t column = sizes[i] < count ? sizes[i] : count;
    in.columns[i] = (struct hwi_column_in){at, at + column};
    at += column;
    count -= column;
  }
  int status;
  struct hwi_restorer *restorer = hwi_restorer_create(&in, 0, &status);
  if (!restorer && status != HW_ERR_DAMAGED)
    abort();
  if (restorer)
    read_all(restorer);
  hwi_restorer_destroy(restorer);
  return 0;
}
