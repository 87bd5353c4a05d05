/* system_words.c - words of messages that depend on the system: Windows */
#include "base/system_words.h"

const char hwi_first_steps[] = "Begin on Linux with:\n"
                               "  heapwright record -o run.hwt ./program\n"
                               "  heapwright report --keep-names run.hwt\n"
                               "Copy run.hwt and run.hwt.names here, and go on with:\n"
                               "  heapwright report run.hwt\n";
const char hwi_where_to_record[] = " on Linux";

int hwi_library_missing(const struct hwi_library *library, const char *why, struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_USAGE, "%s needs a 64-bit %s in the folder of heapwright.exe: %s", library->user,
                       library->file, why);
}
