/* single_stream.c - the only stream of a trace: one reading gives both its counts and its sections */
#include "launch/follow/single_stream.h"

#include "base/error.h"

void hwi_single_stream_release(struct hwi_single_stream *single)
{
  hwi_recoder_destroy(single->recoder);
  hwi_columns_out_release(&single->columns);
  *single = (struct hwi_single_stream){0};
}

static bool begin_section(struct hwi_single_stream *single, const struct hw_chunk_header *first)
{
  single->section = (struct hw_section_header){
      .magic = HW_SECTION_MAGIC,
      .type = HW_SECTION_EVENTS,
      .stream = first->stream,
      .first_sequence = first->sequence,
      .first_tick = first->base_tick,
  };
  single->fields = first->fields;
  if (!single->recoder)
    single->recoder = hwi_recoder_create();
  return single->recoder && hwi_recoder_begin(single->recoder, &single->columns, first);
}

bool hwi_single_stream_begin_chunk(struct hwi_single_stream *single, const struct hw_chunk_header *chunk)
{
  return single->section.magic ? chunk->fields == single->fields : begin_section(single, chunk);
}

bool hwi_single_stream_read(struct hwi_single_stream *single, struct hwi_cursor *cursor)
{
  single->counted = 0;
  return hwi_recoder_take(single->recoder, cursor, &single->batch) == 0;
}

bool hwi_single_stream_count(struct hwi_single_stream *single, struct hwi_counter *counter, uint64_t until)
{
  const struct hwi_event *events = single->batch.events + single->counted;
  int count = hwi_single_stream_waiting(single);
  while (count > 0 && events[count - 1].tick >= until)
    count--;
  if (!count)
    return true;
  const uint32_t *births = single->batch.births + single->counted;
  single->counted += count;
  return hwi_counter_add_paired(counter, events, births, count);
}

void hwi_single_stream_end_chunk(struct hwi_single_stream *single, uint32_t sequence, uint32_t valid_bytes)
{
  hwi_recoder_end_chunk(single->recoder, valid_bytes);
  single->section.last_sequence = sequence;
  single->section.plain_bytes += sizeof(struct hw_chunk_header) + valid_bytes;
}

int hwi_single_stream_end_section(struct hwi_single_stream *single, struct hwi_counter *counter,
                                  struct hwi_packer *packer, struct hw_section_header *section, const uint8_t **packed)
{
  int status = hwi_recoder_end(single->recoder, &single->section);
  if (status == 0 && !hwi_counter_end_section(counter, hwi_recoder_births(single->recoder)))
    status = HW_ERR_MEMORY;
  if (status == 0)
    status = hwi_pack_columns(packer, &single->columns, &single->section, packed);
  *section = single->section;
  single->section.magic = 0;
  return status;
}

bool hwi_single_stream_leave(struct hwi_single_stream *single, struct hwi_counter *counter)
{
  bool done = !single->section.magic || hwi_counter_end_section(counter, hwi_recoder_births(single->recoder));
  hwi_single_stream_release(single);
  return done;
}
