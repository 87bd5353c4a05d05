/* process.c - information on other processes on Linux, from /proc */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base_name.h"
#include "base/preload_list.h"
#include "platform/linux/tools/proc.h"

enum { PATH_BYTES = 96, TASK_FILE_BYTES = 48, STAT_BYTES = 2048 };

FILE *hwi_proc_open(uint32_t pid, const char *name)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
  return fopen(path, "re");
}

/* --- stat files --- */

/* Fields of /proc/PID/stat, counted from 1. */
enum stat_field {
  STAT_NAME = 2,
  STAT_STATE = 3,
  STAT_THREADS = 20,
  STAT_START = 22,
  STAT_STACK = 28,
  STAT_RT_PRIORITY = 40,
  STAT_POLICY = 41,
};

/* Reads a stat file into `text`. Returns where the name ends, or NULL on failure. */
static char *read_stat(uint32_t pid, const char *name, char text[STAT_BYTES])
{
  FILE *file = hwi_proc_open(pid, name);
  if (!file)
    return NULL;
  size_t got = fread(text, 1, STAT_BYTES - 1, file);
  fclose(file);
  text[got] = 0;
  return strrchr(text, ')'); /* the name may contain blanks and brackets */
}

/* Returns the text of a field that comes after the name, or "" if there is none. */
static const char *field_text(const char *name_end, enum stat_field field)
{
  const char *at = name_end;
  for (int i = STAT_NAME; at && i < (int)field; i++)
    at = strchr(at + 1, ' ');
  return at ? at + 1 : "";
}

static uint64_t field_number(const char *name_end, enum stat_field field)
{
  return strtoull(field_text(name_end, field), NULL, 10);
}

uint64_t hwi_os_running_process_start(uint32_t pid)
{
  char text[STAT_BYTES];
  const char *name_end = read_stat(pid, "stat", text);
  if (!name_end)
    return 0;
  char state = *field_text(name_end, STAT_STATE);
  bool has_threads = field_number(name_end, STAT_THREADS) > 1; /* the main thread may end before others */
  return state == 'X' || (state == 'Z' && !has_threads) ? 0 : field_number(name_end, STAT_START);
}

uint64_t hwi_os_process_stack_start(uint32_t pid)
{
  char text[STAT_BYTES];
  const char *name_end = read_stat(pid, "stat", text);
  return name_end ? field_number(name_end, STAT_STACK) : 0;
}

bool hwi_os_process_thread(uint32_t pid, uint32_t tid, char name[HWI_OS_NAME_BYTES], uint8_t *policy, uint8_t *priority)
{
  char file[TASK_FILE_BYTES], text[STAT_BYTES];
  snprintf(file, sizeof file, "task/%u/stat", tid);
  char *name_end = read_stat(pid, file, text), *found = name_end ? strchr(text, '(') : NULL;
  if (!found)
    return false;
  size_t bytes = (size_t)(name_end - found) - 1;
  memset(name, 0, HWI_OS_NAME_BYTES);
  memcpy(name, found + 1, bytes < HWI_OS_NAME_BYTES - 1 ? bytes : HWI_OS_NAME_BYTES - 1);
  *priority = (uint8_t)field_number(name_end, STAT_RT_PRIORITY);
  *policy = (uint8_t)field_number(name_end, STAT_POLICY);
  return true;
}

/* --- which processes there are --- */

uint32_t hwi_os_inner_pid(uint32_t pid)
{
  static const char field[] = "NSpid:"; /* numbers from the outermost namespace to its own */
  char line[STAT_BYTES];
  unsigned long inner = 0;
  FILE *file = hwi_proc_open(pid, "status");
  while (file && inner == 0 && fgets(line, sizeof line, file)) {
    const char *last = strncmp(line, field, sizeof field - 1) == 0 ? strrchr(line, '\t') : NULL;
    inner = last ? strtoul(last, NULL, 10) : 0;
  }
  if (file)
    fclose(file);
  return (uint32_t)inner;
}

uint32_t hwi_os_find_process(bool (*is_it)(const void *context, uint32_t pid), const void *context)
{
  uint32_t found = 0;
  DIR *processes = opendir("/proc");
  for (struct dirent *entry = processes ? readdir(processes) : NULL; entry && !found; entry = readdir(processes)) {
    uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
    found = pid && is_it(context, pid) ? pid : 0;
  }
  if (processes)
    closedir(processes);
  return found;
}

/* In the first pid namespace all processes are visible. In another one only those of the same namespace and of those
 * below are visible. */
bool hwi_os_sees_all_processes(void)
{
  static const uint32_t FIRST_NAMESPACE = 0xEFFFFFFC; /* as the kernel has always numbered it */
  return hwi_os_pid_namespace(0) == FIRST_NAMESPACE;
}

static DIR *open_tasks(uint32_t pid)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "/proc/%u/task", pid);
  return opendir(path);
}

/* Opens a file of the next thread in `tasks`; *tid is set to the thread. Returns NULL if it cannot be opened, and *tid
 * is 0 if there is no thread left. */
static FILE *open_next_task(uint32_t pid, DIR *tasks, const char *name, uint32_t *tid)
{
  char file[TASK_FILE_BYTES];
  *tid = 0;
  for (struct dirent *task; !*tid && (task = readdir(tasks));)
    *tid = (uint32_t)strtoul(task->d_name, NULL, 10);
  snprintf(file, sizeof file, "task/%u/%s", *tid, name);
  return *tid ? hwi_proc_open(pid, file) : NULL;
}

size_t hwi_os_process_children(uint32_t pid, uint32_t *children, size_t max)
{
  size_t count = 0;
  DIR *tasks = open_tasks(pid);
  for (uint32_t tid = pid; tasks && tid && count < max;) {
    FILE *file = open_next_task(pid, tasks, "children", &tid);
    while (file && count < max && fscanf(file, "%" SCNu32, &children[count]) == 1)
      count++;
    if (file)
      fclose(file);
  }
  if (tasks)
    closedir(tasks);
  return count;
}

/* --- what a process was started with --- */

bool hwi_os_process_preloads(uint32_t pid, const char *library)
{
  static const char name[] = "LD_PRELOAD=";
  char *variable = NULL;
  size_t room = 0;
  bool does = false;
  FILE *file = hwi_proc_open(pid, "environ");
  while (file && !does && getdelim(&variable, &room, 0, file) > 0)
    does = strncmp(variable, name, sizeof name - 1) == 0 && hwi_preload_has(variable + sizeof name - 1, library);
  free(variable);
  if (file)
    fclose(file);
  return does;
}

bool hwi_os_process_is_elsewhere(uint32_t pid)
{
  char link[HWI_OS_LINK_PATH_BYTES], own[HWI_OS_PATH_BYTES], folder[HWI_OS_PATH_BYTES];
  snprintf(link, sizeof link, "/proc/%u/cwd", pid);
  ssize_t bytes = readlink(link, folder, sizeof folder), own_bytes = readlink("/proc/self/cwd", own, sizeof own);
  return bytes > 0 && (bytes != own_bytes || memcmp(folder, own, (size_t)bytes) != 0);
}

void hwi_os_process_executable(char path[HWI_OS_LINK_PATH_BYTES], uint32_t pid)
{
  snprintf(path, HWI_OS_LINK_PATH_BYTES, "/proc/%u/exe", pid);
}

/* --- mappings --- */

static unsigned access_of(const char *rights)
{
  return (rights[0] == 'r' ? HWI_OS_READ : 0u) | (rights[1] == 'w' ? HWI_OS_WRITE : 0u) |
         (rights[2] == 'x' ? HWI_OS_EXECUTE : 0u) | (rights[3] == 's' ? HWI_OS_SHARED : 0u);
}

bool hwi_proc_parse_mapping(char *line, struct hwi_os_mapping *mapping)
{
  int name_at = 0;
  char rights[8] = "";
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*x:%*x %" SCNu64 " %n", &mapping->start, &mapping->end,
             rights, &mapping->off, &mapping->inode, &name_at) < 5)
    return false;
  line[strcspn(line, "\n")] = 0;
  mapping->name = name_at ? line + name_at : "";
  mapping->access = access_of(rights);
  mapping->is_brk_heap = strcmp(mapping->name, "[heap]") == 0;
  return true;
}

/* Opens the maps of any thread that is left, since those of an ended main thread are empty. */
static FILE *open_maps(uint32_t pid)
{
  char text[STAT_BYTES];
  const char *name_end = read_stat(pid, "stat", text);
  if (!name_end || *field_text(name_end, STAT_STATE) != 'Z' || !hwi_os_running_process_start(pid))
    return hwi_proc_open(pid, "maps");
  DIR *tasks = open_tasks(pid);
  FILE *file = NULL;
  for (uint32_t tid = pid; tasks && tid && !file;) {
    file = open_next_task(pid, tasks, "maps", &tid);
    if (file && tid == pid) {
      fclose(file);
      file = NULL;
    }
  }
  if (tasks)
    closedir(tasks);
  return file;
}

bool hwi_os_each_mapping(uint32_t pid, bool (*each)(void *context, const struct hwi_os_mapping *mapping), void *context)
{
  char line[HWI_PROC_LINE_BYTES];
  struct hwi_os_mapping mapping;
  FILE *file = open_maps(pid);
  if (!file)
    return false;
  bool is_done = false;
  while (!is_done && fgets(line, sizeof line, file))
    is_done = hwi_proc_parse_mapping(line, &mapping) && each(context, &mapping);
  fclose(file);
  return true;
}

/* A mapping without a file never matches, even if `name` is "" because the file's name is unknown. */
bool hwi_os_mapping_is_called(const struct hwi_os_mapping *mapping, const char *name)
{
  return strchr(mapping->name, '/') && strcmp(hwi_base_name(mapping->name), name) == 0;
}

/* On stacked file systems, the device and inode numbers in maps differ from those of stat: then the name decides. */
bool hwi_os_mapping_is_of(const struct hwi_os_mapping *mapping, const struct hwi_os_file *file)
{
  return (mapping->inode && mapping->inode == file->inode) ||
         hwi_os_mapping_is_called(mapping, hwi_base_name(file->path));
}
