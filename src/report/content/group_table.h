/* group_table.h - the groups of equal functions, source files, source lines or modules
 *
 * group      a number for symbols that have the same content. A function that is inlined in many places, or
 *            described in the debug information of several files, is one group. A function without a name is
 *            identified by its start address, else by its module.
 */
#ifndef HWI_REPORT_CONTENT_GROUP_TABLE_H
#define HWI_REPORT_CONTENT_GROUP_TABLE_H

#include "report/report.h"
#include "trace/numbering.h"

/* A symbol, and what is known about it. */
struct hwi_group_member {
  const struct hwi_symbol *symbol; /* NULL for HWI_GROUP_UNKNOWN and HWI_GROUP_LEFT_OUT */
  uint32_t module;                 /* of the profile; 0: none */
  uint32_t group;
  bool wraps;   /* the function only passes an allocation on */
  bool unnamed; /* it has no name, but a module */
  bool vague;   /* ... and the member represents many functions */
};

/* Groups without a symbol, and the numbers of their members: unknown stacks; frames that the recorder left out. */
enum { HWI_GROUP_UNKNOWN = 0, HWI_GROUP_LEFT_OUT = 1 };

struct hwi_group_table {
  enum hwi_by by; /* FUNCTION, FILE, LINE or MODULE */
  struct hwi_group_member *members;
  uint32_t member_count, group_count;
  size_t member_room;
  struct hwi_numbering by_address;  /* private: numbers of members with a symbol, less HWI_GROUP_LEFT_OUT */
  struct hwi_hash_table by_content; /* private: the first member of each group */
};

bool hwi_group_table_init(struct hwi_group_table *table, enum hwi_by by); /* false: no memory */
void hwi_group_table_release(struct hwi_group_table *table);

/* Returns the number of the member for `symbol` of `module`; 0 if there is no memory. */
uint32_t hwi_group_table_find(struct hwi_group_table *table, const struct hwi_symbol *symbol, uint32_t module);

#endif
