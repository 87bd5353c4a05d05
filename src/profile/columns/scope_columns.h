/* scope_columns.h - writes and reads what a summary has of the program's own words: scopes, breaches, marks, counters,
 * heaps */
#ifndef HWI_PROFILE_COLUMNS_SCOPE_COLUMNS_H
#define HWI_PROFILE_COLUMNS_SCOPE_COLUMNS_H

#include "profile/columns/pass.h"
#include "profile/profile.h"

/* The data to which the profile points. All zero: empty. */
struct hwi_restored_scopes {
  struct hwi_scope *scopes;
  struct hwi_breach *breaches;
  struct hwi_program_mark *marks;
  struct hwi_program_counter *counters;
  struct hwi_counter_point *points; /* of all counters, one after the other */
  struct hwi_heap *heaps;
  char *texts; /* the names, each ended by NUL */
};

/* Writes these lists of the profile, without the worst instances; or reads them: then they point into *restored. A profile
 * that is read must have its stacks and threads. */
void hwi_pass_scopes(struct hwi_pass *pass, struct hwi_profile *profile, struct hwi_restored_scopes *restored);
void hwi_restored_scopes_release(struct hwi_restored_scopes *restored);

#endif
