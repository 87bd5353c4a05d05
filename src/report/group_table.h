/* group_table.h - which functions, source files, source lines or modules are one group
 *
 * group      a number for what is the same: by content, so that a function inlined in many places, or whose debug information
 *            several files hold, is one. Where a name is missing, it is where the function begins, and else the module.
 */
#ifndef HWI_REPORT_GROUP_TABLE_H
#define HWI_REPORT_GROUP_TABLE_H

#include "report/report.h"

/* A symbol, and what is known of it. */
struct hwi_group_member {
  const struct hwi_symbol *symbol; /* NULL: of HWI_GROUP_UNKNOWN and HWI_GROUP_LEFT_OUT */
  uint32_t module;                 /* of the profile; 0: none */
  uint32_t group;
  bool wraps;   /* the function only passes an allocation on */
  bool unnamed; /* it has no name, but a module */
  bool vague;   /* ... and stands for many functions */
};

/* Groups that are no symbol's, and the numbers of their members: stacks not known; frames that the recorder left out. */
enum { HWI_GROUP_UNKNOWN = 0, HWI_GROUP_LEFT_OUT = 1 };

struct hwi_group_slots {
  uint32_t *members; /* a power of two of them, at most half of them used; 0: free */
  uint32_t count, used;
};

struct hwi_group_table {
  enum hwi_by by; /* FUNCTION, FILE, LINE or MODULE */
  struct hwi_group_member *members;
  uint32_t member_count, member_room, group_count;
  struct hwi_group_slots by_address, by_content; /* private */
};

bool hwi_group_table_init(struct hwi_group_table *table, enum hwi_by by); /* false: no memory */
void hwi_group_table_release(struct hwi_group_table *table);

/* The number of the member that `symbol` of `module` is. 0: no memory. */
uint32_t hwi_group_table_find(struct hwi_group_table *table, const struct hwi_symbol *symbol, uint32_t module);

#endif
