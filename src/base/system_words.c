/* system_words.c - words of messages that depend on the system: Linux */
#include "base/system_words.h"

const char hwi_first_steps[] = "Begin with:\n"
                               "  heapwright record ./program\n"
                               "  heapwright report\n";
const char hwi_where_to_record[] = "";

int hwi_library_missing(const struct hwi_library *library, const char *why, struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_USAGE, "%s needs %s, in Debian's package %s: %s", library->user, library->file,
                       library->package, why);
}
