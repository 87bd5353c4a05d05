/* cache_file.c - a file beside a trace that spares its readers work */
#define _GNU_SOURCE
#include "trace/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_name.h"

enum { MODE_FILE = 0600 };

int hwi_cache_file_open(const char *path)
{
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
}

/* Nothing is at `path` (*exists is false), or what once was such a file: an empty one, too, which tells nobody anything. */
static bool may_replace(const char *path, const uint8_t magic[HWI_CACHE_MAGIC_BYTES], bool *exists)
{
  uint8_t found[HWI_CACHE_MAGIC_BYTES] = {0};
  struct stat about;
  *exists = lstat(path, &about) == 0;
  if (!*exists)
    return true;
  int fd = S_ISREG(about.st_mode) ? hwi_cache_file_open(path) : -1;
  if (fd < 0)
    return false;
  const ssize_t bytes = read(fd, found, sizeof found);
  bool ours = bytes == 0 || (bytes == (ssize_t)sizeof found && memcmp(found, magic, sizeof found) == 0);
  close(fd);
  return ours;
}

/* A file without a name, in the folder of `path`: whoever is killed while writing it leaves nothing. -1: the file system has none. */
static int open_nameless(const char *path)
{
  char *folder;
  if (asprintf(&folder, "%.*s.", (int)(hwi_base_name(path) - path), path) < 0)
    return -1;
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE_FILE);
  free(folder);
  return fd;
}

bool hwi_cache_file_begin(struct hwi_cache_file *file, const char *path, const uint8_t magic[HWI_CACHE_MAGIC_BYTES])
{
  bool exists;
  *file = (struct hwi_cache_file){.fd = -1};
  if (!may_replace(path, magic, &exists))
    return false;
  file->fd = open_nameless(path);
  if (file->fd >= 0)
    return true;
  if (asprintf(&file->temporary, "%s.XXXXXX", path) < 0) {
    file->temporary = NULL;
    return false;
  }
  file->fd = mkostemp(file->temporary, O_CLOEXEC); /* 0600 */
  if (file->fd < 0) {
    free(file->temporary); /* no such file */
    file->temporary = NULL;
  }
  return file->fd >= 0;
}

/* A link replaces nothing: what has the name goes first. Killed in between, there is none. */
static bool name_it(int fd, const char *path)
{
  char self[sizeof "/proc/self/fd/" + 3 * sizeof fd];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  while (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0) {
    if (errno != EEXIST || unlink(path) < 0)
      return false;
  }
  return true;
}

static bool rename_it(struct hwi_cache_file *file, const char *path)
{
  bool done = close(file->fd) == 0; /* a remote file system may tell of a full disk as late as that */
  file->fd = -1;
  return done && rename(file->temporary, path) == 0;
}

bool hwi_cache_file_keep(struct hwi_cache_file *file, const char *path)
{
  bool done = file->temporary ? rename_it(file, path) : name_it(file->fd, path);
  if (done) {
    free(file->temporary);
    file->temporary = NULL;
  }
  hwi_cache_file_drop(file);
  return done;
}

void hwi_cache_file_drop(struct hwi_cache_file *file)
{
  if (file->fd >= 0)
    close(file->fd);
  if (file->temporary)
    unlink(file->temporary);
  free(file->temporary);
  *file = (struct hwi_cache_file){.fd = -1};
}

void hwi_cache_file_remove(const char *path, const uint8_t magic[HWI_CACHE_MAGIC_BYTES])
{
  bool exists;
  if (may_replace(path, magic, &exists) && exists)
    unlink(path);
}
