/* single_stream.c - the only stream of a trace: one reading gives both its counts and its sections */
#include "launch/follow/single_stream.h"

#include "base/error.h"

void hwi_single_stream_release(struct hwi_single_stream *sole)
{
  hwi_recoder_destroy(sole->recoder);
  hwi_columns_out_release(&sole->columns);
  *sole = (struct hwi_single_stream){0};
}

static bool begin_section(struct hwi_single_stream *sole, const struct hw_chunk_header *first)
{
  sole->section = (struct hw_section_header){
      .magic = HW_SECTION_MAGIC,
      .type = HW_SECTION_EVENTS,
      .stream = first->stream,
      .first_sequence = first->sequence,
      .first_tick = first->base_tick,
  };
  sole->fields = first->fields;
  if (!sole->recoder)
    sole->recoder = hwi_recoder_create();
  return sole->recoder && hwi_recoder_begin(sole->recoder, &sole->columns, first);
}

bool hwi_single_stream_begin_chunk(struct hwi_single_stream *sole, const struct hw_chunk_header *chunk)
{
  return sole->section.magic ? chunk->fields == sole->fields : begin_section(sole, chunk);
}

bool hwi_single_stream_read(struct hwi_single_stream *sole, struct hwi_cursor *cursor)
{
  sole->counted = 0;
  return hwi_recoder_take(sole->recoder, cursor, &sole->batch) == 0;
}

bool hwi_single_stream_count(struct hwi_single_stream *sole, struct hwi_counter *counter, uint64_t until)
{
  const struct hwi_event *events = sole->batch.events + sole->counted;
  int count = hwi_single_stream_waiting(sole);
  while (count > 0 && events[count - 1].tick >= until)
    count--;
  if (!count)
    return true;
  const uint32_t *births = sole->batch.births + sole->counted;
  sole->counted += count;
  return hwi_counter_add_paired(counter, events, births, count);
}

void hwi_single_stream_end_chunk(struct hwi_single_stream *sole, uint32_t sequence, uint32_t valid_bytes)
{
  hwi_recoder_end_chunk(sole->recoder, valid_bytes);
  sole->section.last_sequence = sequence;
  sole->section.plain_bytes += sizeof(struct hw_chunk_header) + valid_bytes;
}

int hwi_single_stream_end_section(struct hwi_single_stream *sole, struct hwi_counter *counter,
                                  struct hwi_packer *packer, struct hw_section_header *section, const uint8_t **packed)
{
  int status = hwi_recoder_end(sole->recoder, &sole->section);
  if (status == 0 && !hwi_counter_end_section(counter, hwi_recoder_births(sole->recoder)))
    status = HW_ERR_MEMORY;
  if (status == 0)
    status = hwi_pack_columns(packer, &sole->columns, &sole->section, packed);
  *section = sole->section;
  sole->section.magic = 0;
  return status;
}

bool hwi_single_stream_leave(struct hwi_single_stream *sole, struct hwi_counter *counter)
{
  bool done = !sole->section.magic || hwi_counter_end_section(counter, hwi_recoder_births(sole->recoder));
  hwi_single_stream_release(sole);
  return done;
}
