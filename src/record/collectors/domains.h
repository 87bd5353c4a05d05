/* domains.h - the domains of collectors: names by which programs and libraries group what they state */
#ifndef HWI_RECORD_COLLECTORS_DOMAINS_H
#define HWI_RECORD_COLLECTORS_DOMAINS_H

#include <stdbool.h>

#include "record/session.h"

/* Returns whether the user switched the domain off (HEAPWRIGHT_ITT_IGNORE). */
static inline bool hwi_domain_is_ignored(const char *name)
{
  return hwi_options_list_matches(hwi_session.options.itt_ignore, name);
}

#endif
