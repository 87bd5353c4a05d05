/* cgroup.c - the memory and the CPU time of a process's control group on Linux, version 2 or 1
 *
 * Version 1 is used where it has the controller of these: it has a group for each. A limit may be that of a group that includes the process's own
 * one; the lowest is what counts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform/linux/tools/proc.h"

static const uint64_t NO_LIMIT = UINT64_C(1) << 62; /* version 1 has a number near 2^63 for none */

/* --- the folder of a process's group --- */

/* Returns whether a list such as "cpu,cpuacct" has the word. */
static bool has_word(const char *list, const char *word)
{
  const size_t bytes = strlen(word);
  for (; list; list = strchr(list, ',')) {
    list += *list == ',';
    if (strncmp(list, word, bytes) == 0 && (list[bytes] == 0 || list[bytes] == ','))
      return true;
  }
  return false;
}

/* Returns the group's path in a line of /proc/PID/cgroup, "4:memory:/a" or "0::/a"; NULL if the line is of others. */
static char *group_in(char *line, const char *controller, bool *is_v1)
{
  char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!path)
    return NULL;
  line[strcspn(line, "\n")] = 0;
  *path++ = 0;
  *is_v1 = has_word(controllers + 1, controller);
  return *is_v1 || controllers[1] == 0 ? path : NULL;
}

/* Reads a line of /proc/PID/mountinfo. `controller`: of version 1; NULL: version 2. Returns whether it is of the hierarchy, with the
 * group at its root, and its place. */
static bool is_mount(char *line, const char *controller, const char **root, const char **place)
{
  char *rest, *after = strstr(line, " - ");
  const char *words[5];
  if (!after)
    return false;
  *after = 0;
  line[strcspn(line, "\n")] = 0;
  words[0] = strtok_r(line, " ", &rest);
  for (int i = 1; i < 5; i++)
    words[i] = words[i - 1] ? strtok_r(NULL, " ", &rest) : NULL;
  const char *type = strtok_r(after + 3, " ", &rest), *source = strtok_r(NULL, " ", &rest);
  const char *options = strtok_r(NULL, " \n", &rest);
  *root = words[3];
  *place = words[4];
  if (!*place || !source || strcmp(type, controller ? "cgroup" : "cgroup2") != 0)
    return false;
  return !controller || has_word(options, controller);
}

bool hwi_proc_find_cgroup(FILE *groups, FILE *mounts, const char *controller, char folder[HWI_OS_PATH_BYTES])
{
  static char line[HWI_PROC_LINE_BYTES], group[HWI_PROC_LINE_BYTES];
  const char *root, *place;
  bool is_v1 = false, found = false;
  group[0] = 0;
  while (!is_v1 && fgets(line, sizeof line, groups)) {
    const char *path = group_in(line, controller, &is_v1);
    if (path)
      memcpy(group, path, strlen(path) + 1);
  }
  if (group[0] != '/' || strncmp(group, "/..", 3) == 0) /* it is outside of what is visible here */
    return false;
  while (!found && fgets(line, sizeof line, mounts)) {
    if (!is_mount(line, is_v1 ? controller : NULL, &root, &place))
      continue;
    const size_t bytes = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const bool is_below = strncmp(group, root, bytes) == 0 && (group[bytes] == 0 || group[bytes] == '/');
    const char *below = strcmp(group + bytes, "/") == 0 ? "" : group + bytes;
    found = is_below && snprintf(folder, HWI_OS_PATH_BYTES, "%s%s", place, below) < HWI_OS_PATH_BYTES;
  }
  return found;
}

bool hwi_os_process_cgroup(uint32_t pid, const char *controller, char folder[HWI_OS_PATH_BYTES])
{
  FILE *groups = hwi_proc_open(pid, "cgroup"), *mounts = fopen("/proc/self/mountinfo", "re");
  const bool found = groups && mounts && hwi_proc_find_cgroup(groups, mounts, controller, folder);
  if (groups)
    fclose(groups);
  if (mounts)
    fclose(mounts);
  return found;
}

/* --- its figures --- */

/* Reads a file of the folder as text. Returns false if there is none. */
static bool read_file(const char *folder, const char *name, char *text, size_t room)
{
  char path[HWI_OS_PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  const ssize_t got = read(fd, text, room - 1);
  close(fd);
  text[got > 0 ? got : 0] = 0;
  return got > 0;
}

/* Returns 0 if there is no such file, and for "max". */
static uint64_t read_number(const char *folder, const char *name)
{
  char text[64];
  return read_file(folder, name, text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

static uint64_t read_kills(const char *folder, const char *name)
{
  static const char key[] = "oom_kill ";
  char text[1024];
  if (!read_file(folder, name, text, sizeof text))
    return 0;
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, key, sizeof key - 1) == 0)
      return strtoull(line + sizeof key - 1, NULL, 10);
  }
  return 0;
}

bool hwi_os_cgroup_memory(const char *folder, struct hwi_os_cgroup_memory *memory)
{
  char group[HWI_OS_PATH_BYTES], ignored[64];
  const bool is_v2 = read_file(folder, "memory.current", ignored, sizeof ignored);
  const char *current = is_v2 ? "memory.current" : "memory.usage_in_bytes";
  const char *limit = is_v2 ? "memory.max" : "memory.limit_in_bytes";
  *memory = (struct hwi_os_cgroup_memory){.current = read_number(folder, current)};
  if (strlen(folder) >= sizeof group || memory->current == 0)
    return false;
  memory->oom_kills = read_kills(folder, is_v2 ? "memory.events" : "memory.oom_control");
  memcpy(group, folder, strlen(folder) + 1);
  for (char *slash; (slash = strrchr(group, '/')) && read_file(group, current, ignored, sizeof ignored); *slash = 0) {
    const uint64_t bytes = read_number(group, limit);
    if (bytes == 0 || bytes >= NO_LIMIT || (memory->limit > 0 && bytes >= memory->limit))
      continue;
    memory->limit = bytes;
    memory->current = strtoull(ignored, NULL, 10);
  }
  return true;
}

/* Version 2 has "max 100000" or the time that may be used in each period, version 1 -1 or the time. */
bool hwi_os_cgroup_limits_cpu(const char *folder)
{
  char group[HWI_OS_PATH_BYTES], text[64];
  if (strlen(folder) >= sizeof group)
    return false;
  memcpy(group, folder, strlen(folder) + 1);
  for (char *slash; (slash = strrchr(group, '/')); *slash = 0)
    if ((read_file(group, "cpu.max", text, sizeof text) && strncmp(text, "max", 3) != 0) ||
        (read_file(group, "cpu.cfs_quota_us", text, sizeof text) && text[0] != '-'))
      return true;
  return false;
}
