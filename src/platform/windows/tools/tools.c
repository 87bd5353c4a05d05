/* tools.c - the interface to Windows for the tools (os_tools.h)
 *
 * Recordings come from Linux: the process that wrote one, or its launcher, is never a process of this system.
 */
#include "platform/os_tools.h"

#include <windows.h>

uint64_t hwi_os_running_process_start(uint32_t pid)
{
  (void)pid;
  return 0;
}

uint32_t hwi_os_inner_pid(uint32_t pid)
{
  (void)pid;
  return 0;
}

uint32_t hwi_os_pid_namespace(uint32_t pid)
{
  (void)pid;
  return 0;
}

uint32_t hwi_os_find_process(bool (*is_it)(const void *context, uint32_t pid), const void *context)
{
  (void)is_it, (void)context;
  return 0;
}

bool hwi_os_sees_all_processes(void)
{
  return true; /* of those that could still write to a file here, which is none */
}

bool hwi_os_each_mapping(uint32_t pid, bool (*each)(void *context, const struct hwi_os_mapping *mapping), void *context)
{
  (void)pid, (void)each, (void)context;
  errno = ESRCH;
  return false;
}

bool hwi_os_mapping_is_of(const struct hwi_os_mapping *mapping, const struct hwi_os_file *file)
{
  (void)mapping, (void)file;
  return false;
}

struct hwi_os_file hwi_os_file_of_fd(int fd, char path[HWI_OS_PATH_BYTES])
{
  (void)fd;
  path[0] = '\0';
  return (struct hwi_os_file){path, 0};
}

unsigned hwi_os_processors(void)
{
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  return system.dwNumberOfProcessors ? system.dwNumberOfProcessors : 1;
}

/* --- files --- */

int hwi_os_open_nameless(const char *folder, unsigned mode)
{
  (void)folder, (void)mode;
  return -1; /* no file system of Windows has files without names */
}

bool hwi_os_give_name(int fd, const char *path)
{
  (void)fd, (void)path;
  return false;
}

bool hwi_os_copy_rest(int from, int to, uint64_t *copied)
{
  enum { BUFFER_BYTES = 1 << 16 };
  static char buffer[BUFFER_BYTES];
  ssize_t got;
  while ((got = read(from, buffer, sizeof buffer)) > 0) {
    if (write(to, buffer, (size_t)got) != got)
      return false;
    *copied += (uint64_t)got;
  }
  return got == 0;
}
