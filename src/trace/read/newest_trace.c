/* newest_trace.c - finds the newest trace in a folder, for commands whose arguments name no trace */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_words.h"
#include "trace/read/trace.h"
#include "trace/reader.h"

struct candidate {
  char path[4096];
  struct timespec time;
};

static bool is_later(struct timespec a, struct timespec b)
{
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

static bool is_trace(const char *path, mode_t mode)
{
  struct hw_trace_header header;
  char why[HW_NO_TRACE_BYTES];
  if (S_ISLNK(mode)) /* also found if it stands for a missing trace: the error when it is opened explains why */
    return hwi_trace_file_is_missing(path, why);
  int fd = hwi_trace_file_open(path, &header, NULL);
  if (fd >= 0)
    close(fd);
  /* A trace of a newer version is found, too: the error when it is opened says so. */
  return fd >= 0 || fd == HW_ERR_VERSION;
}

/* A file is opened only if its time makes it the newest so far. */
static void consider(struct candidate *best, const char *dir, const char *name)
{
  char path[sizeof best->path];
  struct stat about;
  if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path || lstat(path, &about) < 0 ||
      !(S_ISREG(about.st_mode) || S_ISLNK(about.st_mode)) || about.st_uid != geteuid())
    return;
  if ((best->path[0] && !is_later(about.st_mtim, best->time)) || !is_trace(path, about.st_mode))
    return;
  memcpy(best->path, path, sizeof path);
  best->time = about.st_mtim;
}

int hwi_trace_newest(const char *dir, char *to, size_t to_bytes, struct hwi_error *error)
{
  DIR *open_dir = opendir(dir);
  if (!open_dir)
    return hwi_error_set(error, HW_ERR_IO, "cannot look for traces in %s: %s", dir, strerror(errno));
  struct candidate best = {.path = ""};
  for (struct dirent *entry = readdir(open_dir); entry; entry = readdir(open_dir))
    consider(&best, dir, entry->d_name);
  closedir(open_dir);
  if (!best.path[0])
    return hwi_error_set(
        error, HW_ERR_NOT_A_TRACE,
        "there is no heapwright trace of yours in %s; name one, or make one%s with: heapwright record COMMAND", dir,
        hwi_where_to_record);
  const char *path = !strncmp(best.path, "./", 2) ? best.path + 2 : best.path;
  if (strlen(path) >= to_bytes)
    return hwi_error_set(error, HW_ERR_LIMIT, "the path of the trace %s is too long", path);
  memcpy(to, path, strlen(path) + 1);
  return 0;
}
