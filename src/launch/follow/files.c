/* files.c - notes the paths of the libraries of a process that changed its folder */
#include "launch/follow/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "launch/target/process.h"
#include "trace/grow.h"

enum { NOTED_MAX = 1024, PATH_BYTES_MAX = 4096, LINK_BYTES = 64 };
static const uint64_t first_interval_ns = 50000000u, last_interval_ns = 5000000000u;

/* A file that is noted in the trace. */
struct hwi_noted_file {
  uint64_t start, path_hash;
};

/* Compares with the launcher's folder, in which the command started. */
static bool is_elsewhere(uint32_t pid)
{
  char link[LINK_BYTES], own[PATH_BYTES_MAX], folder[PATH_BYTES_MAX];
  snprintf(link, sizeof link, "/proc/%u/cwd", pid);
  ssize_t bytes = readlink(link, folder, sizeof folder), own_bytes = readlink("/proc/self/cwd", own, sizeof own);
  return bytes > 0 && (bytes != own_bytes || memcmp(folder, own, (size_t)bytes) != 0);
}

struct look {
  struct hwi_files *files;
  struct hwi_drain *drain;
  uint64_t now_ns;
};

static bool is_noted(const struct hwi_files *files, const struct hwi_noted_file *file)
{
  for (size_t i = 0; i < files->count; i++)
    if (files->noted[i].start == file->start && files->noted[i].path_hash == file->path_hash)
      return true;
  return false;
}

/* Returns true if no more are wanted. */
static bool note(void *context, uint64_t start, const char *path)
{
  struct look *look = context;
  struct hwi_files *files = look->files;
  struct hwi_noted_file file = {start, hwi_fnv_text(path)};
  char payload[sizeof start + PATH_BYTES_MAX];
  size_t bytes = strlen(path);
  if (is_noted(files, &file) || bytes > PATH_BYTES_MAX)
    return false;
  if (files->count == NOTED_MAX ||
      !hwi_grow((void **)&files->noted, &files->capacity, files->count + 1, sizeof *files->noted))
    return true;
  memcpy(payload, &start, sizeof start);
  memcpy(payload + sizeof start, path, bytes);
  if (hwi_tool_log_append(&look->drain->log, HW_TOOL_FILE, look->now_ns, payload, (uint32_t)(sizeof start + bytes)) ==
      0)
    files->noted[files->count++] = file;
  return false;
}

void hwi_files_look(struct hwi_files *files, struct hwi_drain *drain, uint64_t now_ns)
{
  uint32_t pid = drain->pid;
  if (now_ns < files->next_ns)
    return;
  if (!files->moved && is_elsewhere(pid)) {
    files->moved = true;
    files->interval_ns = first_interval_ns;
  }
  if (files->moved) {
    hwi_process_each_library(pid, note, &(struct look){files, drain, now_ns});
    files->next_ns = now_ns + files->interval_ns;
    files->interval_ns = files->interval_ns * 2 < last_interval_ns ? files->interval_ns * 2 : last_interval_ns;
  }
}

void hwi_files_release(struct hwi_files *files)
{
  free(files->noted);
  *files = (struct hwi_files){0};
}
