/* sanitizers.c - does not record programs built with AddressSanitizer, ThreadSanitizer, LeakSanitizer and the like
 *
 * Their runtimes, as shared libraries, require to be the first definition of malloc, replace functions of libc that the
 * recorder calls, and use malloc before all that works. A recording is not worth a wrong report of theirs. So the
 * program is executed a second time without us in LD_PRELOAD, before any of its own code has run: same process, same
 * arguments, same files. Everything that exec resets was already reset by the first exec.
 *
 * A runtime inside the executable, as clang links it, comes before us in the search order, so that no call of malloc
 * would be seen anyway.
 */
#include "record/runtime/sanitizers.h"

#include <string.h>

#include "platform/os.h"
#include "record/preload_list.h"
#include "record/start_texts.h"

static const char runtime_mark[] = "__sanitizer_get_allocated_size"; /* all runtimes with a malloc export it */
static const char preload[] = "LD_PRELOAD=";

/* Removes this library from LD_PRELOAD, and LD_PRELOAD itself if it had no other entry. Returns false if LD_PRELOAD did
 * not load us. */
static bool take_out_of_preload(char **variables)
{
  bool is_there = false;
  char **to = variables;
  for (char **at = variables; *at; at++) {
    bool is_list = strncmp(*at, preload, sizeof preload - 1) == 0;
    char *value = *at + sizeof preload - 1;
    is_there |= is_list && hwi_preload_take_out(value);
    if (!is_list || *value)
      *to++ = *at;
  }
  *to = NULL;
  return is_there;
}

bool hwi_sanitizers_leave(void)
{
  struct hwi_start_texts arguments = {0}, variables = {0};
  if (!hwi_os_symbol_after(runtime_mark) && !hwi_os_symbol_before(runtime_mark))
    return false;
  if (hwi_start_texts_read(&arguments, hwi_os_command_line) && hwi_start_texts_read(&variables, hwi_os_environment) &&
      take_out_of_preload(variables.list))
    hwi_os_execute(hwi_os_program_path(), arguments.list, variables.list);
  hwi_start_texts_release(&arguments);
  hwi_start_texts_release(&variables);
  return true;
}
