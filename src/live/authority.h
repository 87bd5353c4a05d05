/* authority.h - who may ask a server of endpoints: those who have the token of a file, or, without one, everyone */
#ifndef HWI_LIVE_AUTHORITY_H
#define HWI_LIVE_AUTHORITY_H

#include <stdbool.h>

#include "base/error.h"

enum { HWI_AUTHORITY_LEAST = 16, HWI_AUTHORITY_MOST = 256 }; /* bytes of a token */

struct hwi_authority {
  char token[HWI_AUTHORITY_MOST + 1]; /* "": there is none */
};

/* Reads the token, the file's only line. `path` NULL: there is none. Returns 0 or a negative status. */
int hwi_authority_init(struct hwi_authority *authority, const char *path, struct hwi_error *error);

static inline bool hwi_authority_has_token(const struct hwi_authority *authority)
{
  return *authority->token;
}

/* Returns whether a request with this header "Authorization" is allowed, in a time that does not depend on where a wrong token
 * differs. NULL: it has none. */
bool hwi_authority_allows(const struct hwi_authority *authority, const char *header);

#endif
