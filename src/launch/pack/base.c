/* base.c - writes what is left of the events of a trace before a moment
 *
 * A base has all definitions of the parts of the trace that were read, which may be more than its events need: later events
 * may name what an earlier part defined.
 */
#include "launch/pack/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/pack/dropped.h"
#include "trace/grow.h"
#include "trace/read/trace.h"
#include "trace/store.h"

enum {
  BATCH_EVENTS = 512,
  ITEMS_A_SECTION = 50000,
  /* Generous: readers use them as the bound of what a section unpacks to. */
  EVENT_BYTES = 40,
  NODE_BYTES = 24,
  RECORD_BYTES = 16,
  TEXTS_MAX_BYTES = 16 << 20,
};

struct writer {
  struct hwi_section_file *file;
  struct hwi_trace *trace;
  struct hwi_definition_sink define; /* the trace's own */
  struct hwi_store records;          /* type, then payload; each once */
  struct hwi_store texts;            /* payloads of TEXT records */
  uint64_t text_bytes;
  struct hwi_recoder *recoder;
  struct hwi_columns_out columns;
  struct hw_section_header section; /* that is being made */
  size_t items;                     /* of the section; 0: none is begun */
  uint32_t section_count;
  uint64_t tick; /* of the latest event */
  int status;
};

/* --- definitions --- */

static bool take_node(void *context, uint32_t number, const struct hwi_node *node)
{
  const struct writer *w = context;
  return w->define.add_node(w->define.context, number, node);
}

/* The header has the peak of the resident set. */
static bool is_kept(uint8_t type)
{
  return type != HW_RECORD_EXIT && type != HW_RECORD_RSS && type != HW_RECORD_COUNTS && type != HW_RECORD_TEMPORARY;
}

static bool take_record(void *context, uint8_t type, const uint8_t *payload, size_t bytes, uint32_t *thread)
{
  struct writer *w = context;
  uint8_t *item = is_kept(type) ? malloc(bytes + 1) : NULL;
  if (is_kept(type) && !item)
    w->status = HW_ERR_MEMORY;
  if (item) {
    const bool is_text = type == HW_RECORD_TEXT;
    item[0] = type;
    memcpy(item + 1, payload, bytes);
    if (is_text)
      w->text_bytes += bytes;
    if ((!is_text || w->text_bytes < TEXTS_MAX_BYTES) &&
        !hwi_store_intern(is_text ? &w->texts : &w->records, (const char *)item, bytes + 1))
      w->status = HW_ERR_MEMORY;
    free(item);
  }
  return w->define.add_record(w->define.context, type, payload, bytes, thread);
}

/* --- sections --- */

static int end_section(struct writer *w)
{
  const uint8_t *packed;
  if (!w->items)
    return w->status;
  w->items = 0;
  hwi_recoder_end_chunk(w->recoder, (uint32_t)(w->section.plain_bytes - sizeof(struct hw_chunk_header)));
  w->section.plain_bytes =
      w->section.plain_bytes < HWI_RECODE_MAX_BYTES ? w->section.plain_bytes : HWI_RECODE_MAX_BYTES;
  int status = hwi_recoder_end(w->recoder, &w->section);
  if (status == 0)
    status = hwi_pack_columns(w->file->packer, &w->columns, &w->section, &packed);
  if (status == 0)
    status = hwi_section_write(w->file, &w->section, packed);
  w->section_count += status == 0;
  return w->status = status;
}

/* Makes sure that a section is begun that has room for an item. */
static int begin_item(struct writer *w, size_t bytes, uint64_t tick)
{
  if (w->items && (w->items >= ITEMS_A_SECTION || w->section.plain_bytes + bytes > HWI_RECODE_MAX_BYTES) &&
      end_section(w) < 0)
    return w->status;
  if (!w->items) {
    const struct hw_chunk_header chunk = {.stream = HW_BASE_STREAM,
                                          .sequence = w->section_count,
                                          .fields = w->trace->header.fields & (uint16_t)HW_FIELDS,
                                          .base_tick = tick};
    w->section = (struct hw_section_header){.magic = HW_SECTION_MAGIC,
                                            .type = HW_SECTION_LEFT,
                                            .plain_bytes = sizeof chunk,
                                            .stream = HW_BASE_STREAM,
                                            .first_sequence = w->section_count,
                                            .last_sequence = w->section_count,
                                            .first_tick = tick};
    if (!hwi_recoder_begin(w->recoder, &w->columns, &chunk))
      return w->status = HW_ERR_MEMORY;
  }
  w->items++;
  w->section.plain_bytes += bytes;
  return 0;
}

static void put_nodes(struct writer *w)
{
  const struct hwi_definitions *d = w->trace->definitions;
  for (size_t i = 0; i < d->node_count && w->status == 0; i++)
    if (d->nodes[i].known && begin_item(w, NODE_BYTES, w->tick) == 0) {
      const struct hwi_definition_sink sink = hwi_recoder_sink(w->recoder);
      sink.add_node(sink.context, d->first_node + (uint32_t)i, &d->nodes[i]);
    }
}

static void put_record(struct writer *w, const struct hwi_store *store, uint32_t number)
{
  uint32_t thread = 0;
  const struct hwi_stored_string *item = &store->strings[number];
  if (begin_item(w, item->bytes + RECORD_BYTES, w->tick) < 0)
    return;
  const struct hwi_definition_sink sink = hwi_recoder_sink(w->recoder);
  sink.add_record(sink.context, (uint8_t)item->text[0], (const uint8_t *)item->text + 1, item->bytes - 1, &thread);
}

static bool is_named(const struct hwi_left_event *left, size_t count, uint64_t text)
{
  for (size_t i = 0; i < count; i++)
    if (left[i].event.kind == HWI_EVENT_SCOPE && left[i].event.entry == HW_SCOPE_BEGIN_TEXT &&
        left[i].event.usable == text)
      return true;
  return false;
}

/* Of the texts, only those of open scopes. */
static void put_records(struct writer *w, const struct hwi_left_event *left, size_t count)
{
  for (uint32_t i = 1; i <= w->records.string_count && w->status == 0; i++)
    put_record(w, &w->records, i);
  for (uint32_t i = 1; i <= w->texts.string_count && w->status == 0; i++) {
    const uint8_t *text = (const uint8_t *)w->texts.strings[i].text;
    struct hwi_payload payload = {.at = text + 1, .end = text + w->texts.strings[i].bytes};
    if (is_named(left, count, hwi_payload_varint(&payload)))
      put_record(w, &w->texts, i);
  }
}

static void put_events(struct writer *w, const struct hwi_left_event *left, size_t count)
{
  for (size_t i = 0; i < count && w->status == 0; i++) {
    if (begin_item(w, EVENT_BYTES, left[i].event.tick) < 0)
      return;
    hwi_recoder_room(w->recoder)[0] = left[i].event;
    w->status = hwi_recoder_put(w->recoder, 1);
    w->tick = left[i].event.tick;
  }
}

/* --- calls of a sample --- */

static void put_calls_of(struct writer *w, const struct hwi_chunk_counts *sum)
{
  uint32_t thread = sum->thread;
  uint8_t payload[HW_COUNTS_BYTES] = {HW_COUNTS_OF_CHUNKS};
  memcpy(payload + HW_COUNTS_THREAD_OFF, &sum->thread, sizeof sum->thread);
  memcpy(payload + HW_COUNTS_STREAM_OFF, &sum->stream, sizeof sum->stream);
  memcpy(payload + HW_COUNTS_SEQUENCE_OFF, &sum->sequence, sizeof sum->sequence);
  memcpy(payload + HW_COUNTS_PADDING, sum->counts, sizeof sum->counts);
  if (begin_item(w, sizeof payload + RECORD_BYTES, w->tick) < 0)
    return;
  const struct hwi_definition_sink sink = hwi_recoder_sink(w->recoder);
  sink.add_record(sink.context, HW_RECORD_COUNTS, payload, sizeof payload, &thread);
}

struct final_end {
  uint64_t read; /* the number after that of the last chunk that was read */
  uint64_t
      final; /* the same of the last one whose counts are final: it is in a sum or a section, or there is a later one */
};

struct final_calls {
  struct hwi_numbering streams;
  struct final_end *ends;      /* of streams */
  struct hwi_numbering owners; /* streams and threads */
  struct hwi_chunk_counts *sums;
  size_t end_capacity, sum_capacity;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

static bool find_ends(struct final_calls *final, const struct hwi_chunk_counts *items, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const uint32_t number = hwi_numbering_of(&final->streams, items[i].stream, 0);
    if (!number || !hwi_grow((void **)&final->ends, &final->end_capacity, number, sizeof *final->ends))
      return false;
    struct final_end *end = &final->ends[number - 1];
    end->final = larger(end->final, items[i].sequence + (uint64_t)items[i].is_sum);
    end->read = larger(end->read, items[i].is_sum ? 0 : items[i].sequence + UINT64_C(1));
  }
  return true;
}

static void find_ends_in_sections(struct final_calls *final, const struct hwi_index *index)
{
  for (size_t i = 0; i < index->count; i++) {
    const struct hwi_piece *piece = &index->pieces[i];
    const uint32_t number = piece->section ? hwi_numbering_find(&final->streams, piece->stream, 0) : 0;
    if (!number)
      continue;
    struct final_end *end = &final->ends[number - 1];
    if (end->read > piece->first_sequence && end->read <= piece->last_sequence + UINT64_C(1))
      end->final = larger(end->final, end->read);
  }
}

static bool sum_up(struct final_calls *final, const struct hwi_chunk_counts *items, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const uint64_t end = final->ends[hwi_numbering_find(&final->streams, items[i].stream, 0) - 1].final;
    if (items[i].sequence >= end)
      continue;
    const uint32_t number = hwi_numbering_of(&final->owners, items[i].stream, items[i].thread);
    if (!number || !hwi_grow((void **)&final->sums, &final->sum_capacity, number, sizeof *final->sums))
      return false;
    struct hwi_chunk_counts *sum = &final->sums[number - 1];
    sum->thread = items[i].thread;
    sum->stream = items[i].stream;
    sum->sequence = (uint32_t)(end - 1);
    for (int k = 0; k < HW_COUNTS; k++)
      sum->counts[k] += items[i].counts[k];
  }
  return true;
}

static void put_calls(struct writer *w)
{
  const struct hwi_chunk_counts *items;
  const size_t count = hwi_trace_call_counts(w->trace, &items);
  struct final_calls final = {0};
  bool done = find_ends(&final, items, count);
  find_ends_in_sections(&final, &w->trace->index);
  if (!done || !sum_up(&final, items, count))
    w->status = HW_ERR_MEMORY;
  for (uint32_t i = 0; i < final.owners.count && w->status == 0; i++)
    put_calls_of(w, &final.sums[i]);
  hwi_numbering_release(&final.streams);
  hwi_numbering_release(&final.owners);
  free(final.ends);
  free(final.sums);
}

/* --- the sums --- */

static uint8_t *make_sums(const struct hwi_dropped *d, size_t *bytes)
{
  const struct hw_base *about = &d->about;
  const size_t slice_bytes = about->slice_count * sizeof *d->slices;
  *bytes = sizeof *about + about->cell_count * sizeof(struct hw_base_cell) +
           about->thread_count * sizeof(struct hw_base_thread) + slice_bytes;
  uint8_t *made = malloc(*bytes), *to = made;
  if (!made)
    return NULL;
  memcpy(to, about, sizeof *about);
  to += sizeof *about;
  for (size_t i = 0; i < about->cell_count; i++, to += sizeof(struct hw_base_cell))
    memcpy(to, &d->cells[i].sums, sizeof(struct hw_base_cell));
  for (size_t i = 0; i < about->thread_count; i++, to += sizeof(struct hw_base_thread))
    memcpy(to, &d->threads[i].sums, sizeof(struct hw_base_thread));
  memcpy(to, d->slices, slice_bytes);
  return made;
}

static int put_sums(struct writer *w, const struct hwi_dropped *d, uint64_t from_tick)
{
  struct hw_section_header section;
  const uint8_t *packed;
  size_t bytes;
  uint8_t *sums = make_sums(d, &bytes);
  int status = sums ? hwi_pack_bytes(w->file->packer, HW_SECTION_BASE, sums, bytes, &section, &packed) : HW_ERR_MEMORY;
  free(sums);
  if (status < 0)
    return status;
  section.stream = w->section_count;
  section.first_tick = section.last_tick = from_tick;
  section.event_count = d->about.calls;
  return hwi_section_write(w->file, &section, packed);
}

/* --- the whole --- */

static int replay(struct writer *w, struct hwi_dropped *d, uint64_t from_tick)
{
  struct hwi_event *events = malloc(BATCH_EVENTS * sizeof *events);
  struct hwi_error error;
  int count = 1;
  bool is_over = false;
  int status = events ? 0 : HW_ERR_MEMORY;
  while (status == 0 && count > 0 && !is_over) {
    count = hwi_trace_next(w->trace, events, BATCH_EVENTS, &error);
    status = count < 0 ? count : w->status;
    int before = 0;
    while (before < count && events[before].tick < from_tick)
      before++;
    is_over = before < count;
    if (status == 0 && !hwi_dropped_take(d, events, before))
      status = HW_ERR_MEMORY;
  }
  free(events);
  if (status == 0 && !hwi_dropped_end(d, from_tick))
    status = HW_ERR_MEMORY;
  return status;
}

static int write_all(struct writer *w, struct hwi_dropped *d, uint64_t from_tick)
{
  int status = hwi_dropped_init(d, w->trace) ? replay(w, d, from_tick) : HW_ERR_MEMORY;
  if (status < 0)
    return status;
  size_t count;
  const struct hwi_left_event *left = hwi_left_sort(&d->left, &count);
  w->tick = w->trace->header.start.clock >> w->trace->header.tick_shift;
  if (count && left[0].event.tick < w->tick)
    w->tick = left[0].event.tick;
  put_nodes(w);
  put_records(w, left, count);
  put_calls(w);
  if (w->status == 0)
    put_events(w, left, count);
  if (w->status == 0)
    end_section(w);
  return w->status < 0 ? w->status : put_sums(w, d, from_tick);
}

int hwi_base_write(struct hwi_section_file *file, int from, const struct hw_trace_header *header, uint64_t from_tick)
{
  struct writer w = {.file = file, .recoder = hwi_recoder_create()};
  struct hwi_dropped *dropped = calloc(1, sizeof *dropped);
  struct hwi_error error;
  const uint64_t start = file->off;
  const int fd = dup(from); /* it may have no name any more */
  int status = fd < 0 ? HW_ERR_IO : hwi_trace_open_file(&w.trace, fd, header, "", &error);
  if (status == 0 && (!w.recoder || !dropped))
    status = HW_ERR_MEMORY;
  if (status == 0) {
    w.define = hwi_definitions_sink(w.trace->definitions);
    w.trace->source.definitions = (struct hwi_definition_sink){&w, take_node, take_record};
    status = write_all(&w, dropped, from_tick);
  }
  const int os_error = errno;
  if (status < 0)
    file->off = start;
  if (dropped)
    hwi_dropped_release(dropped);
  free(dropped);
  hwi_trace_close(w.trace);
  hwi_recoder_destroy(w.recoder);
  hwi_columns_out_release(&w.columns);
  hwi_store_release(&w.records);
  hwi_store_release(&w.texts);
  errno = os_error;
  return status;
}
