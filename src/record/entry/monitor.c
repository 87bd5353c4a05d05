/* monitor.c - the recorder's functions for programs that use heapwright/monitor.h */
#include "heapwright/detail/monitor_table.h"

#include "record/events/heaps.h"
#include "record/events/scope_names.h"
#include "record/events/scopes.h"
#include "record/events/tasks.h"
#include "record/live_view.h"
#include "record/record.h"

/* A program may pass NULL: without a recorder it runs on, so it must do so with one. */
static const char *text_or_empty(const char *text)
{
  return text ? text : "";
}

static uint32_t number_of(const char *name)
{
  return hwi_names_number(text_or_empty(name));
}

static uint64_t begin(uint32_t name)
{
  return hwi_scope_begin(name, HW_SCOPE_BEGIN, 0);
}

static uint64_t begin_number(uint32_t name, uint64_t number)
{
  return hwi_scope_begin(name, HW_SCOPE_BEGIN_NUMBER, number);
}

static uint64_t begin_text(uint32_t name, const char *text)
{
  return hwi_scope_begin_text(name, text_or_empty(text));
}

static uint64_t begin_forbidden(uint32_t name)
{
  return hwi_scope_begin(name, HW_SCOPE_BEGIN_FORBIDDEN, 0);
}

static void mark(uint32_t name)
{
  hwi_scope_note(name, HW_SCOPE_MARK, 0);
}

static void counter(uint32_t name, double value)
{
  hwi_scope_note(name, HW_SCOPE_COUNTER, hw_counter_encode(value));
}

static void thread_name(const char *name)
{
  if (name)
    hwi_record_thread_name(name);
}

static void counts(struct hw_counts *counts)
{
  struct hwi_thread_counts found = hwi_record_counts();
  *counts = (struct hw_counts){
      .allocation_calls = found.allocation_calls,
      .free_calls = found.free_calls,
      .failed_calls = found.failed_calls,
      .allocated_bytes = found.allocated_bytes,
      .net_bytes = found.net_bytes,
      .is_counted = found.is_on,
  };
}

static void heap_alloc(const struct hw_custom_heap *heap, const void *block, uint64_t size)
{
  const struct hwi_caller caller = HWI_CALLER();
  hwi_heap_alloc(heap, &caller, block, size);
}

extern const struct hw_monitor heapwright_monitor;
__attribute__((visibility("default"))) const struct hw_monitor heapwright_monitor = {
    .bytes = sizeof heapwright_monitor,
    .name = number_of,
    .begin = begin,
    .begin_number = begin_number,
    .begin_text = begin_text,
    .end = hwi_scope_end,
    .counts = counts,
    .begin_forbidden = begin_forbidden,
    .mark = mark,
    .counter = counter,
    .thread_name = thread_name,
    .task_create = hwi_task_create,
    .task_enter = hwi_task_enter,
    .task_leave = hwi_task_leave,
    .task_finish = hwi_task_finish,
    .heap_create = hwi_heap_create,
    .heap_alloc = heap_alloc,
    .heap_free = hwi_heap_free,
    .heap_reset = hwi_heap_reset,
    .heap_destroy = hwi_heap_destroy,
    .live_start = hwi_live_view_start,
    .live_url = hwi_live_view_url,
    .live_stop = hwi_live_view_stop,
};
