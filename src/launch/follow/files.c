/* files.c - notes the paths of the libraries of a process that changed its folder */
#include "launch/follow/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "platform/os_tools.h"
#include "trace/grow.h"

enum { NOTED_MAX = 1024, PATH_BYTES_MAX = 4096 };
static const uint64_t first_interval_ns = 50000000u, last_interval_ns = 5000000000u;

/* A file that is noted in the trace. */
struct hwi_noted_file {
  uint64_t start, path_hash;
};

struct look {
  struct hwi_files *files;
  struct hwi_drain *drain;
  uint64_t now_ns;
  char path[PATH_BYTES_MAX + 1]; /* of the file whose mappings are being read */
  uint64_t start;                /* of its first mapping */
  bool is_noted;
};

static bool is_noted(const struct hwi_files *files, const struct hwi_noted_file *file)
{
  for (size_t i = 0; i < files->count; i++)
    if (files->noted[i].start == file->start && files->noted[i].path_hash == file->path_hash)
      return true;
  return false;
}

/* Returns true if no more are wanted. */
static bool note(struct look *look)
{
  struct hwi_files *files = look->files;
  struct hwi_noted_file file = {look->start, hwi_fnv_text(look->path)};
  char payload[sizeof look->start + PATH_BYTES_MAX];
  size_t bytes = strlen(look->path);
  if (is_noted(files, &file))
    return false;
  if (files->count == NOTED_MAX ||
      !hwi_grow((void **)&files->noted, &files->capacity, files->count + 1, sizeof *files->noted))
    return true;
  memcpy(payload, &look->start, sizeof look->start);
  memcpy(payload + sizeof look->start, look->path, bytes);
  if (hwi_tool_log_append(&look->drain->log, HW_TOOL_FILE, look->now_ns, payload,
                          (uint32_t)(sizeof look->start + bytes)) == 0)
    files->noted[files->count++] = file;
  return false;
}

/* A file with code is noted with the start of the first of its mappings, which follow each other. */
static bool look_at(void *context, const struct hwi_os_mapping *mapping)
{
  struct look *look = context;
  if (strlen(mapping->name) > PATH_BYTES_MAX)
    return false;
  if (strcmp(mapping->name, look->path) != 0) { /* another file begins */
    memcpy(look->path, mapping->name, strlen(mapping->name) + 1);
    look->start = mapping->start;
    look->is_noted = false;
  }
  if (look->is_noted || *look->path != '/' || !(mapping->access & HWI_OS_EXECUTE))
    return false;
  look->is_noted = true;
  return note(look);
}

void hwi_files_look(struct hwi_files *files, struct hwi_drain *drain, uint64_t now_ns)
{
  uint32_t pid = drain->pid;
  if (now_ns < files->next_ns)
    return;
  if (!files->moved && hwi_os_process_is_elsewhere(pid)) {
    files->moved = true;
    files->interval_ns = first_interval_ns;
  }
  if (files->moved) {
    hwi_os_each_mapping(pid, look_at, &(struct look){.files = files, .drain = drain, .now_ns = now_ns});
    files->next_ns = now_ns + files->interval_ns;
    files->interval_ns = files->interval_ns * 2 < last_interval_ns ? files->interval_ns * 2 : last_interval_ns;
  }
}

void hwi_files_release(struct hwi_files *files)
{
  free(files->noted);
  *files = (struct hwi_files){0};
}
