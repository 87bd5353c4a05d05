/* trace.c - an open trace: the functions of reader.h */
#include "trace/read/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_words.h"
#include "trace/read/alive.h"
#include "trace/read/hold.h"

/* --- the file --- */

enum { POINTER_BYTES = 8, SHORT_POINTER_BYTES = 4, TICK_SHIFT_MAX = 31 };

static int check_header(const char *path, const struct hw_trace_header *header, uint64_t bytes, struct hwi_error *error)
{
  if (bytes == 0)
    return hwi_error_set_at(error, HW_ERR_NOT_A_TRACE, 0,
                            "%s is empty, so it is not a heapwright trace; record the program again", path);
  if (bytes < HW_TRACE_MAGIC_BYTES || memcmp(header->magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES))
    return hwi_error_set_at(error, HW_ERR_NOT_A_TRACE, 0,
                            "%s is not a heapwright trace; make one%s with: heapwright record COMMAND", path,
                            hwi_where_to_record);
  if (bytes < sizeof *header)
    return hwi_error_set_at(error, HW_ERR_DAMAGED, bytes,
                            "%s ends after %llu bytes, inside its header; record the program again", path,
                            (unsigned long long)bytes);
  if (header->version > HW_TRACE_VERSION)
    return hwi_error_set_at(error, HW_ERR_VERSION, offsetof(struct hw_trace_header, version),
                            "%s has version %u of the trace format, this heapwright reads up to %d; use a newer one",
                            path, header->version, HW_TRACE_VERSION);
  if (header->pointer_bytes != POINTER_BYTES && header->pointer_bytes != SHORT_POINTER_BYTES)
    return hwi_error_set_at(error, HW_ERR_DAMAGED, offsetof(struct hw_trace_header, pointer_bytes),
                            "%s comes from a program with %u-byte pointers, which this version cannot read", path,
                            header->pointer_bytes);
  uint64_t wrong = UINT64_MAX;
  if (header->version == 0)
    wrong = offsetof(struct hw_trace_header, version);
  else if (header->kind != HW_TRACE_RAW && header->kind != HW_TRACE_PACKED)
    wrong = offsetof(struct hw_trace_header, kind);
  else if (header->header_bytes != HW_TRACE_HEADER_BYTES)
    wrong = offsetof(struct hw_trace_header, header_bytes);
  else if (header->tick_shift > TICK_SHIFT_MAX)
    wrong = offsetof(struct hw_trace_header, tick_shift);
  else if (header->clock != HW_CLOCK_TSC && header->clock != HW_CLOCK_MONOTONIC_NS)
    wrong = offsetof(struct hw_trace_header, clock);
  else if (header->kind == HW_TRACE_RAW && (header->window_bytes < HW_CHUNKS_OFF || header->window_bytes > INT64_MAX))
    wrong = offsetof(struct hw_trace_header, window_bytes);
  if (wrong != UINT64_MAX)
    return hwi_error_set_at(error, HW_ERR_DAMAGED, wrong,
                            "%s is damaged: the header field at offset %llu has an invalid value", path,
                            (unsigned long long)wrong);
  return 0;
}

bool hwi_trace_file_is_missing(const char *path, char why[HW_NO_TRACE_BYTES])
{
  static const char start[] = HW_NO_TRACE_LINK;
  char text[HW_NO_TRACE_BYTES] = "";
  ssize_t bytes = readlink(path, text, sizeof text - 1);
  if (bytes < 0 || strncmp(text, start, sizeof start - 1) != 0)
    return false;
  memcpy(why, text + sizeof start - 1, sizeof text - (sizeof start - 1));
  for (char *at = why; *at; at++)
    *at = *at >= ' ' && *at <= '~' ? *at : '?'; /* the link may be forged */
  return true;
}

static int fail_to_open(const char *path, struct hwi_error *error)
{
  char why[HW_NO_TRACE_BYTES];
  int os_error = errno;
  if (os_error == ENOENT && hwi_trace_file_is_missing(path, why))
    return hwi_error_set(error, HW_ERR_NOT_A_TRACE, "the trace %s could not be begun, so nothing was recorded: %s",
                         path, why);
  return hwi_error_set(error, HW_ERR_IO, "cannot open the trace %s: %s", path, strerror(os_error));
}

int hwi_trace_file_open(const char *path, struct hw_trace_header *header, struct hwi_error *error)
{
  memset(header, 0, sizeof *header);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* opening a FIFO must not block */
  struct stat about;
  if (fd < 0 || fstat(fd, &about) < 0) {
    int status = fail_to_open(path, error);
    if (fd >= 0)
      close(fd);
    return status;
  }
  int status = 0;
  ssize_t got = 0;
  if (!S_ISREG(about.st_mode))
    status =
        hwi_error_set(error, HW_ERR_NOT_A_TRACE, "%s is not a regular file, so it is not a heapwright trace", path);
  else if ((got = pread(fd, header, sizeof *header, 0)) < 0)
    status = hwi_error_set(error, HW_ERR_IO, "cannot read the trace %s: %s", path, strerror(errno));
  else
    status = check_header(path, header, (uint64_t)got, error);
  if (status < 0) {
    close(fd);
    return status;
  }
  return fd;
}

/* --- opening --- */

static int out_of_memory(const char *path, struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_MEMORY, "no memory to read the trace %s", path);
}

uint64_t hwi_trace_most_nodes(uint64_t bytes)
{
  const struct hwi_piece packed = {.bytes = bytes, .section = true};
  return hwi_piece_most_nodes(&packed) + HWI_TRACE_NODE_SLACK;
}

static uint64_t definition_limit(const struct hwi_index *index)
{
  uint64_t limit = HWI_TRACE_NODE_SLACK;
  for (size_t i = 0; i < index->count; i++)
    limit += hwi_piece_most_nodes(&index->pieces[i]);
  return limit;
}

/* Reads only definitions: those of all chunks, or those of the first chunk of the first stream, which has the command,
 * modules and so on, and those of the base. Damage is counted when the events are read, so that here a copy of the index takes the counts; and
 * texts pass with the events, so that here they are skipped. */
static int scan_definitions(struct hwi_trace *trace, bool all)
{
  struct hwi_index scratch = trace->index;
  struct hwi_source source = {.fd = trace->source.fd,
                              .header = &trace->header,
                              .index = &scratch,
                              .definitions = hwi_definitions_sink(trace->definitions)};
  const struct hwi_instance_texts passing = trace->definitions->texts;
  if (passing.holds_all)
    trace->definitions->texts = (struct hwi_instance_texts){0};
  for (size_t first = 0, end; first < scratch.count && !source.status; first = end) {
    for (end = first + 1; end < scratch.count && scratch.pieces[end].stream == scratch.pieces[first].stream;)
      end++;
    const bool is_base = scratch.pieces[first].stream == HW_BASE_STREAM;
    struct hwi_stream stream;
    if (!all && !is_base && first > 0)
      continue;
    hwi_stream_init(&stream, &scratch.pieces[first], all || is_base ? end - first : 1);
    hwi_stream_define(&stream, &source);
    hwi_stream_release(&stream);
  }
  if (passing.holds_all)
    trace->definitions->texts = passing;
  return source.status;
}

static int prepare(struct hwi_trace *trace, uint64_t file_bytes)
{
  const struct hw_trace_header *header = &trace->header;
  int status = hwi_index_build(&trace->index, trace->source.fd, header, file_bytes);
  if (status == 0)
    status = hwi_tool_area_read(&trace->tool, trace->source.fd, header, &trace->index);
  if (status == 0 && trace->index.from_tick)
    status = hwi_base_load(&trace->base, trace->source.fd, header, &trace->index);
  if (status == HW_ERR_DAMAGED) /* without the sums */
    hwi_index_damage(&trace->index, trace->index.base.piece.off);
  else if (status < 0)
    return status;
  bool forked = header->origin == HW_ORIGIN_FORK;
  trace->definitions = hwi_definitions_create(forked ? header->inherited_nodes : 0,
                                              forked ? header->inherited_modules : 0, definition_limit(&trace->index));
  if (!trace->definitions)
    return HW_ERR_MEMORY;
  trace->definitions->tool = &trace->tool;
  trace->source.header = header;
  trace->source.index = &trace->index;
  trace->source.definitions = hwi_definitions_sink(trace->definitions);
  hwi_clock_init(&trace->clock, header, trace->tool.anchors, (uint32_t)trace->tool.anchor_count);
  status = hwi_merge_init(&trace->merge, &trace->index, 0);
  if (status == 0)
    status = scan_definitions(trace, false);
  return status;
}

int hwi_trace_open_alone(struct hwi_trace **opened, const char *path, struct hwi_error *error)
{
  *opened = NULL;
  struct hw_trace_header header;
  int fd = hwi_trace_file_open(path, &header, error);
  return fd < 0 ? fd : hwi_trace_open_file(opened, fd, &header, path, error);
}

int hwi_trace_open_file(struct hwi_trace **opened, int fd, const struct hw_trace_header *header, const char *path,
                        struct hwi_error *error)
{
  *opened = NULL;
  struct hwi_trace *trace = calloc(1, sizeof *trace);
  struct stat about;
  int status = HW_ERR_MEMORY;
  if (!trace) {
    close(fd);
    return out_of_memory(path, error);
  }
  trace->source.fd = fd;
  trace->header = *header;
  trace->holds = header->kind == HW_TRACE_RAW;
  if (trace->holds)
    hwi_hold_begin(fd);
  trace->replaced_ns = UINT64_MAX;
  trace->may_go_on = true;
  trace->path = strdup(path);
  if (trace->path)
    status = fstat(fd, &about) < 0 ? HW_ERR_IO : prepare(trace, (uint64_t)about.st_size);
  if (status < 0) {
    int reason = errno;
    hwi_trace_close(trace);
    errno = reason;
    return status == HW_ERR_MEMORY
               ? out_of_memory(path, error)
               : hwi_error_set(error, status, "cannot read the trace %s: %s", path, strerror(reason));
  }
  trace->info.being_written = hwi_trace_is_being_written(fd, header);
  hwi_trace_info_update(trace);
  if (trace->definitions->no_memory) {
    hwi_trace_close(trace);
    return out_of_memory(path, error);
  }
  *opened = trace;
  return 0;
}

void hwi_trace_finish(struct hwi_trace *trace)
{
  hwi_trace_info_update(trace);
  hwi_merge_release(&trace->merge);
  hwi_growing_release(&trace->growing);
  hwi_index_release(&trace->index);
  hwi_definitions_forget(trace->definitions);
  hwi_instance_texts_release(&trace->definitions->texts);
  if (trace->source.fd >= 0)
    close(trace->source.fd);
  trace->source.fd = -1;
}

void hwi_trace_close(struct hwi_trace *trace)
{
  if (!trace)
    return;
  hwi_merge_release(&trace->merge);
  hwi_growing_release(&trace->growing);
  if (trace->definitions)
    trace->definitions->tool = NULL; /* other images may share the definitions, but add none */
  hwi_definitions_destroy(trace->definitions);
  hwi_tool_area_release(&trace->tool);
  hwi_index_release(&trace->index);
  hwi_base_release(&trace->base);
  hwi_trace_info_release(trace);
  if (trace->source.fd >= 0)
    close(trace->source.fd);
  free(trace->path);
  free(trace);
}

const struct hwi_trace_info *hwi_trace_info(const struct hwi_trace *trace)
{
  return &trace->info;
}

int hwi_trace_fail(const struct hwi_trace *trace, int status, int os_error, struct hwi_error *error)
{
  if (status == HW_ERR_MEMORY)
    return out_of_memory(trace->path, error);
  errno = os_error;
  return hwi_error_set(error, status, "cannot read the trace %s: %s", trace->path, strerror(os_error));
}

int hwi_trace_next(struct hwi_trace *trace, struct hwi_event *events, int max, struct hwi_error *error)
{
  int count = hwi_merge_next(&trace->merge, &trace->source, events, max);
  if (count) {
    trace->had_late_events |= events[0].tick < trace->last_tick;
    if (events[count - 1].tick > trace->last_tick)
      trace->last_tick = events[count - 1].tick;
    return count;
  }
  hwi_trace_info_update(trace);
  if (trace->follows && trace->holds) { /* until the next look */
    trace->holds = false;
    hwi_hold_end(trace->source.fd);
  }
  if (trace->definitions->no_memory)
    trace->source.status = HW_ERR_MEMORY;
  if (trace->source.status)
    return hwi_trace_fail(trace, trace->source.status, trace->source.os_error, error);
  trace->complete = !trace->follows || trace->merge.until == UINT64_MAX;
  return 0;
}

int hwi_trace_seek(struct hwi_trace *trace, uint64_t tick, struct hwi_error *error)
{
  const struct hwi_liveness liveness = trace->merge.liveness;
  hwi_merge_release(&trace->merge);
  if (hwi_merge_init(&trace->merge, &trace->index, tick) < 0)
    return out_of_memory(trace->path, error);
  trace->merge.liveness = liveness;
  return 0;
}

const struct hwi_base *hwi_trace_base(const struct hwi_trace *trace)
{
  return trace->base.from_tick ? &trace->base : NULL;
}

void hwi_trace_set_liveness(struct hwi_trace *trace, bool (*is_live)(void *context, uint64_t address), void *context)
{
  trace->merge.liveness = (struct hwi_liveness){is_live, context};
}

void hwi_trace_progress(const struct hwi_trace *trace, uint64_t *done, uint64_t *all)
{
  *all = trace->index.event_bytes;
  *done = trace->source.read_bytes < *all ? trace->source.read_bytes : *all;
}

uint64_t hwi_trace_expected_events(const struct hwi_trace *trace)
{
  return trace->index.event_count;
}

struct hwi_node hwi_trace_node(const struct hwi_trace *trace, uint32_t number)
{
  return hwi_definitions_node(trace->definitions, number);
}

const struct hwi_module *hwi_trace_module(const struct hwi_trace *trace, uint32_t number)
{
  return hwi_definitions_module(trace->definitions, number);
}

const char *hwi_trace_name(const struct hwi_trace *trace, uint32_t number)
{
  return hwi_definitions_name(trace->definitions, number);
}

bool hwi_trace_want_text(struct hwi_trace *trace, uint32_t number)
{
  return hwi_instance_texts_want(&trace->definitions->texts, number);
}

const char *hwi_trace_text(const struct hwi_trace *trace, uint32_t number)
{
  return hwi_instance_texts_find(&trace->definitions->texts, number);
}

void hwi_trace_show_as(struct hwi_trace *trace, const char *path)
{
  trace->shown_path = path;
  hwi_trace_info_update(trace);
}

void hwi_trace_hold_texts(struct hwi_trace *trace)
{
  trace->definitions->texts.holds_all = true;
}

char *hwi_trace_take_text(struct hwi_trace *trace, uint32_t number)
{
  return hwi_instance_texts_take(&trace->definitions->texts, number);
}

size_t hwi_trace_call_counts(const struct hwi_trace *trace, const struct hwi_chunk_counts **counts)
{
  *counts = trace->definitions->call_counts.items;
  return hwi_call_counts_settle(&trace->definitions->call_counts);
}

struct hwi_thread hwi_trace_thread(const struct hwi_trace *trace, uint32_t number)
{
  struct hwi_thread thread = *hwi_definitions_thread(trace->definitions, number);
  const struct hw_thread_state *seen = hwi_tool_area_thread(&trace->tool, number);
  if (!seen || !thread.known)
    return thread;
  thread.policy = seen->policy;
  thread.priority = seen->priority;
  /* If the thread renamed itself to a name that no tool record has, that name is newer than the last tool record. */
  if (!thread.renamed || hwi_tool_area_saw_name(&trace->tool, number, thread.name))
    memcpy(thread.name, seen->name, sizeof thread.name - 1);
  return thread;
}

int hwi_trace_complete(struct hwi_trace *trace, struct hwi_error *error)
{
  if (trace->complete)
    return 0;
  int status = scan_definitions(trace, true), os_error = errno;
  hwi_trace_info_update(trace);
  if (status == 0 && trace->definitions->no_memory)
    status = HW_ERR_MEMORY;
  if (status < 0)
    return hwi_trace_fail(trace, status, os_error, error);
  trace->complete = true;
  return 0;
}

const struct hwi_clock *hwi_trace_clock(const struct hwi_trace *trace)
{
  return &trace->clock;
}

uint64_t hwi_trace_tick_ns(const struct hwi_trace *trace, uint64_t tick)
{
  return hwi_clock_tick_ns(&trace->clock, tick);
}

uint64_t hwi_trace_units_ns(const struct hwi_trace *trace, uint64_t units)
{
  return hwi_clock_span_ns(&trace->clock, units);
}
