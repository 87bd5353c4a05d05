/* scopes.h - the paths of scopes with their own rows in a document
 *
 * row        one path; an outer path comes before those inside it. Paths without a row are left out.
 */
#ifndef HWI_PAGE_SCOPES_H
#define HWI_PAGE_SCOPES_H

#include "report/content/scopes.h"
#include "report/json/json.h"

enum { HWI_PAGE_SCOPES_MAX = 1000 };

/* All zero: the program marked no scopes. */
struct hwi_page_scopes {
  const struct hwi_profile *profile;
  struct hwi_scope_row *figures; /* by path */
  uint32_t *row_of;              /* by path: its row plus 1; 0: none */
  uint32_t row_count;
};

/* Chooses the paths that allocated most, and of others the ones that took longest, each with those around it. Returns
 * false if there is no memory. Release `scopes` even after a failure. */
bool hwi_page_scopes_init(struct hwi_page_scopes *scopes, const struct hwi_profile *profile);
void hwi_page_scopes_release(struct hwi_page_scopes *scopes);

/* Writes "scopes" into the current object, if there are any. */
void hwi_json_page_scopes(struct hwi_json *json, const struct hwi_page_scopes *scopes);

#endif
