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
#include "record/start_texts.h"

static const char own_name[] = "libheapwright-record.so";
static const char runtime_mark[] = "__sanitizer_get_allocated_size"; /* all runtimes with a malloc export it */
static const char preload[] = "LD_PRELOAD=";

static bool is_separator(char c)
{
  return c == ':' || c == ' ';
}

/* Returns whether the entry of LD_PRELOAD that is `bytes` long is this library, or a link to it: see
 * src/launch/target/preload.c. */
static bool is_own(const char *entry, size_t bytes)
{
  size_t own = sizeof own_name - 1;
  return bytes >= own && memcmp(entry + bytes - own, own_name, own) == 0;
}

/* Removes this library from the list at `value`, in place. Returns false if it is not in the list. */
static bool take_out(char *value)
{
  char *to = value;
  bool is_there = false;
  for (const char *at = value; *at;) {
    size_t bytes = 0;
    while (at[bytes] && !is_separator(at[bytes]))
      bytes++;
    size_t with_separator = bytes + (at[bytes] != 0);
    if (is_own(at, bytes)) {
      is_there = true;
    } else {
      memmove(to, at, with_separator);
      to += with_separator;
    }
    at += with_separator;
  }
  *to = 0;
  return is_there;
}

/* Removes this library from LD_PRELOAD, and LD_PRELOAD itself if it had no other entry. Returns false if LD_PRELOAD did
 * not load us. */
static bool take_out_of_preload(char **variables)
{
  bool is_there = false;
  char **to = variables;
  for (char **at = variables; *at; at++) {
    bool is_list = strncmp(*at, preload, sizeof preload - 1) == 0;
    char *value = *at + sizeof preload - 1;
    is_there |= is_list && take_out(value);
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
