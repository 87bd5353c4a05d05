/* monitor_table.h - the functions of the recorder that heapwright/monitor.h calls: its symbol heapwright_monitor
 *
 * Private: programs use heapwright/monitor.h.
 */
#ifndef HEAPWRIGHT_DETAIL_MONITOR_TABLE_H
#define HEAPWRIGHT_DETAIL_MONITOR_TABLE_H

#include <stdint.h>

struct hw_monitor {
  uint32_t bytes; /* of the structure: a later recorder has more functions at its end */
  uint32_t (*name)(const char *text);
  uint32_t (*begin)(uint32_t name);
  uint32_t (*begin_number)(uint32_t name, uint64_t number);
  uint32_t (*begin_text)(uint32_t name, const char *text);
  void (*end)(uint32_t depth);
};

#endif
