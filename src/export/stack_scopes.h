/* stack_scopes.h - a chosen stack's figures by the path of scopes in which its blocks were allocated */
#ifndef HWI_EXPORT_STACK_SCOPES_H
#define HWI_EXPORT_STACK_SCOPES_H

#include "export/export.h"

/* The stack that was loaded last allocated in paths[0, count), of which 0 means no scope. If the program marked no
 * scopes, or they are not wanted, that is always 0. */
struct hwi_stack_scopes {
  const struct hwi_export *export;
  bool wanted;
  struct hwi_amount *sums; /* by path */
  uint32_t *paths;
  uint32_t count;
};

/* Returns 0 or a negative status. Release `scopes` even after a failure. */
int hwi_stack_scopes_init(struct hwi_stack_scopes *scopes, const struct hwi_export *export, bool wanted,
                          struct hwi_error *error);
void hwi_stack_scopes_release(struct hwi_stack_scopes *scopes);

/* Loads a chosen stack. */
void hwi_stack_scopes_load(struct hwi_stack_scopes *scopes, uint32_t stack);

#endif
