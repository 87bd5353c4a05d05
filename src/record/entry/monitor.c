/* monitor.c - the recorder's functions for programs that use heapwright/monitor.h */
#include "heapwright/detail/monitor_table.h"

#include "record/events/scope_names.h"
#include "record/events/scopes.h"

static uint32_t begin(uint32_t name)
{
  return hwi_scope_begin(name, HW_SCOPE_BEGIN, 0);
}

static uint32_t begin_number(uint32_t name, uint64_t number)
{
  return hwi_scope_begin(name, HW_SCOPE_BEGIN_NUMBER, number);
}

extern const struct hw_monitor heapwright_monitor;
__attribute__((visibility("default"))) const struct hw_monitor heapwright_monitor = {
    .bytes = sizeof heapwright_monitor,
    .name = hwi_names_number,
    .begin = begin,
    .begin_number = begin_number,
    .begin_text = hwi_scope_begin_text,
    .end = hwi_scope_end,
};
