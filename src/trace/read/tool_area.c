/* tool_area.c - reads the records that tools have written into a trace */
#include "trace/read/tool_area.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/base_name.h"
#include "trace/grow.h"
#include "trace/read/index.h"

enum { RECORD_ALIGNMENT = 8, FIRST_READ_BYTES = 1 << 12 };

static int compare_marks(const void *left, const void *right)
{
  const struct hwi_mark *a = left, *b = right;
  return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int compare_rss(const void *left, const void *right)
{
  const struct hwi_rss_point *a = left, *b = right;
  return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* Sorts by number, then the latest first. */
static int compare_threads(const void *left, const void *right)
{
  const struct hwi_thread_state *a = left, *b = right;
  if (a->state.number != b->state.number)
    return a->state.number < b->state.number ? -1 : 1;
  return a->order > b->order ? -1 : a->order < b->order;
}

static bool add_mark(struct hwi_tool_area *area, uint64_t ns, uint32_t type, const uint8_t *text, size_t bytes)
{
  if (!hwi_grow((void **)&area->marks, &area->mark_capacity, area->mark_count + 1, sizeof *area->marks))
    return false;
  char *copy = strndup((const char *)text, bytes);
  if (!copy)
    return false;
  area->marks[area->mark_count++] = (struct hwi_mark){.ns = ns, .type = type, .text = copy};
  return true;
}

static bool add_rss(struct hwi_tool_area *area, uint64_t ns, const uint8_t *payload, size_t bytes)
{
  if (!hwi_grow((void **)&area->rss, &area->rss_capacity, area->rss_count + 1, sizeof *area->rss))
    return false;
  struct hwi_rss_point point = {.ns = ns};
  memcpy(&point.sample, payload, bytes < sizeof point.sample ? bytes : sizeof point.sample);
  area->rss[area->rss_count++] = point;
  return true;
}

static bool add_anchor(struct hwi_tool_area *area, uint64_t monotonic_ns, const uint8_t *payload)
{
  if (!hwi_grow((void **)&area->anchors, &area->anchor_capacity, area->anchor_count + 1, sizeof *area->anchors))
    return false;
  struct hw_anchor anchor = {.monotonic_ns = monotonic_ns};
  memcpy(&anchor.clock, payload, sizeof anchor.clock);
  area->anchors[area->anchor_count++] = anchor;
  return true;
}

static bool add_thread(struct hwi_tool_area *area, const uint8_t *payload)
{
  if (!hwi_grow((void **)&area->threads, &area->thread_capacity, area->thread_count + 1, sizeof *area->threads))
    return false;
  struct hwi_thread_state *thread = &area->threads[area->thread_count];
  memcpy(&thread->state, payload, sizeof thread->state);
  thread->order = area->thread_count++;
  return true;
}

static bool add_file(struct hwi_tool_area *area, const uint8_t *payload, size_t bytes)
{
  if (!hwi_grow((void **)&area->files, &area->file_capacity, area->file_count + 1, sizeof *area->files))
    return false;
  struct hwi_seen_file *file = &area->files[area->file_count];
  memcpy(&file->start, payload, sizeof file->start);
  file->path = strndup((const char *)payload + sizeof file->start, bytes - sizeof file->start);
  area->file_count += file->path != NULL;
  return file->path;
}

/* Returns false if there is no memory. A record with a payload that is too short for its type is skipped. */
static bool add_record(struct hwi_tool_area *area, const struct hw_tool_record *record, uint64_t ns,
                       const uint8_t *payload)
{
  switch (record->type) {
  case HW_TOOL_MARK:
  case HW_TOOL_PAUSED:
  case HW_TOOL_RESUMED:
    return add_mark(area, ns, record->type, payload, record->bytes);
  case HW_TOOL_RSS:
    return record->bytes < HW_RSS_SAMPLE_MIN_BYTES || add_rss(area, ns, payload, record->bytes);
  case HW_TOOL_ANCHOR:
    return record->bytes < sizeof(uint64_t) || add_anchor(area, record->monotonic_ns, payload);
  case HW_TOOL_THREAD:
    return record->bytes < sizeof(struct hw_thread_state) || add_thread(area, payload);
  case HW_TOOL_FILE:
    return record->bytes <= sizeof(uint64_t) || add_file(area, payload, record->bytes);
  case HW_TOOL_EXIT:
    if (record->bytes >= HW_EXIT_STATUS_MIN_BYTES) {
      area->exit = (struct hw_exit_status){0};
      memcpy(&area->exit, payload, record->bytes < sizeof area->exit ? record->bytes : sizeof area->exit);
      area->has_exit = true;
    }
    return true;
  case HW_TOOL_UNSEEN:
    if (record->bytes >= sizeof area->children_unseen)
      memcpy(&area->children_unseen, payload, sizeof area->children_unseen);
    return true;
  default: /* of a later version */
    return true;
  }
}

/* Returns where the records end within these bytes: at a record of type 0, or at an incomplete record. Sets *is_end if
 * it is the former. */
static size_t find_end(const uint8_t *bytes, size_t count, bool *is_end)
{
  struct hw_tool_record record;
  size_t at = 0;
  *is_end = false;
  while (at + sizeof record <= count) {
    memcpy(&record, bytes + at, sizeof record);
    size_t next =
        at + sizeof record + ((record.bytes + (size_t)RECORD_ALIGNMENT - 1) & ~(size_t)(RECORD_ALIGNMENT - 1));
    *is_end = !record.type;
    if (*is_end || next > count)
      break;
    at = next;
  }
  return at;
}

/* Reads the beginning first: most areas have only a few records, a run may have ten thousand images, and reading a hole
 * takes memory. */
ssize_t hwi_tool_area_load(int fd, size_t from, uint8_t *to)
{
  const size_t most = HW_TOOL_AREA_BYTES - from, first = most < FIRST_READ_BYTES ? most : FIRST_READ_BYTES;
  const off_t off = (off_t)(HW_TOOL_AREA_OFF + from);
  bool is_end = true;
  ssize_t got = pread(fd, to, first, off);
  size_t bytes = got > 0 ? find_end(to, (size_t)got, &is_end) : 0;
  if (got <= 0 || is_end || (size_t)got < first)
    return got < 0 ? got : (ssize_t)bytes;
  got = pread(fd, to, most, off);
  return got > 0 ? (ssize_t)find_end(to, (size_t)got, &is_end) : got;
}

/* Returns whether there is a record after those that were read, or HW_ERR_IO. */
static int has_more(const struct hwi_tool_area *area, int fd)
{
  struct hw_tool_record record;
  if (area->read_bytes + sizeof record > HW_TOOL_AREA_BYTES)
    return false;
  ssize_t got = pread(fd, &record, sizeof record, (off_t)(HW_TOOL_AREA_OFF + area->read_bytes));
  return got < 0 ? HW_ERR_IO : got == (ssize_t)sizeof record && record.type;
}

static int parse(struct hwi_tool_area *area, const struct hw_trace_header *header, const uint8_t *bytes, size_t count)
{
  size_t at = 0;
  while (at + sizeof(struct hw_tool_record) <= count) {
    struct hw_tool_record record;
    memcpy(&record, bytes + at, sizeof record);
    at += sizeof record;
    if (!record.type || record.bytes > count - at)
      break;
    uint64_t start = header->start.monotonic_ns;
    uint64_t ns = record.monotonic_ns > start ? record.monotonic_ns - start : 0;
    ns = ns < HWI_TRACE_LATEST_NS ? ns : HWI_TRACE_LATEST_NS;
    if (!add_record(area, &record, ns, bytes + at))
      return HW_ERR_MEMORY;
    if (ns > area->last_ns)
      area->last_ns = ns;
    if (ns > area->last_sign_ns && record.type != HW_TOOL_ANCHOR)
      area->last_sign_ns = ns;
    at += (record.bytes + (size_t)RECORD_ALIGNMENT - 1) & ~(size_t)(RECORD_ALIGNMENT - 1);
  }
  return 0;
}

static int read_raw_area(struct hwi_tool_area *area, int fd, const struct hw_trace_header *header)
{
  int status = has_more(area, fd);
  if (status <= 0)
    return status;
  uint8_t *bytes = malloc(HW_TOOL_AREA_BYTES);
  if (!bytes)
    return HW_ERR_MEMORY;
  ssize_t count = hwi_tool_area_load(fd, area->read_bytes, bytes);
  status = count < 0 ? HW_ERR_IO : parse(area, header, bytes, (size_t)count);
  area->read_bytes += count > 0 ? (size_t)count : 0;
  free(bytes);
  return status;
}

static void sort(struct hwi_tool_area *area)
{
  if (area->mark_count)
    qsort(area->marks, area->mark_count, sizeof *area->marks, compare_marks);
  if (area->rss_count)
    qsort(area->rss, area->rss_count, sizeof *area->rss, compare_rss);
  if (area->thread_count)
    qsort(area->threads, area->thread_count, sizeof *area->threads, compare_threads);
}

int hwi_tool_area_read(struct hwi_tool_area *area, int fd, const struct hw_trace_header *header,
                       const struct hwi_index *index)
{
  const size_t bytes_before = area->read_bytes, sections_before = area->read_sections;
  int status = header->kind == HW_TRACE_RAW ? read_raw_area(area, fd, header) : 0;
  while (area->read_sections < index->tool_count && status == 0) {
    struct hwi_unpacked loaded;
    status = hwi_piece_load(&loaded, fd, header, &index->tool_sections[area->read_sections++]);
    if (status == 0)
      status = parse(area, header, loaded.bytes, loaded.count);
    else if (status != HW_ERR_MEMORY && status != HW_ERR_IO)
      status = 0; /* this section is damaged; the others are still valid */
    hwi_unpacked_release(&loaded);
  }
  if (area->read_bytes > bytes_before || area->read_sections > sections_before)
    sort(area);
  return status;
}

const struct hw_thread_state *hwi_tool_area_thread(const struct hwi_tool_area *area, uint32_t number)
{
  size_t low = 0, high = area->thread_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (area->threads[middle].state.number < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < area->thread_count && area->threads[low].state.number == number ? &area->threads[low].state : NULL;
}

bool hwi_tool_area_saw_name(const struct hwi_tool_area *area, uint32_t number, const char *name)
{
  const struct hw_thread_state *latest = hwi_tool_area_thread(area, number);
  if (!latest)
    return false;
  size_t i = (size_t)((const struct hwi_thread_state *)(const void *)latest - area->threads);
  for (; i < area->thread_count && area->threads[i].state.number == number; i++)
    if (strncmp(area->threads[i].state.name, name, sizeof latest->name) == 0)
      return true;
  return false;
}

const char *hwi_tool_area_file(const struct hwi_tool_area *area, uint64_t start, const char *path)
{
  for (size_t i = 0; i < area->file_count; i++)
    if (area->files[i].start == start && strcmp(hwi_base_name(area->files[i].path), hwi_base_name(path)) == 0)
      return area->files[i].path;
  return NULL;
}

void hwi_tool_area_release(struct hwi_tool_area *area)
{
  for (size_t i = 0; i < area->mark_count; i++)
    free((char *)area->marks[i].text);
  free(area->marks);
  for (size_t i = 0; i < area->file_count; i++)
    free(area->files[i].path);
  free(area->files);
  free(area->rss);
  free(area->anchors);
  free(area->threads);
  *area = (struct hwi_tool_area){0};
}
