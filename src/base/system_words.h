/* system_words.h - words of messages that depend on the system: what a user does next, and where a library comes from
 *
 * system_words.c has those of Linux, src/windows/system_words.c those of Windows.
 */
#ifndef HWI_BASE_SYSTEM_WORDS_H
#define HWI_BASE_SYSTEM_WORDS_H

#include "base/error.h"
#include "base/library.h"

extern const char hwi_first_steps[];     /* the lines for a new user at the end of the help */
extern const char hwi_where_to_record[]; /* "make one%s with: heapwright record": "", or " on ..." if not here */

/* Fills *error: the library cannot be loaded, why, and where it is to be found. Returns HW_ERR_USAGE. */
int hwi_library_missing(const struct hwi_library *library, const char *why, struct hwi_error *error);

#endif
