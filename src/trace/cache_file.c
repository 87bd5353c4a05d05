/* cache_file.c - a cache file next to a trace */
#define _GNU_SOURCE
#include "trace/cache_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_name.h"
#include "platform/os_tools.h"

enum { MODE_FILE = 0600 };

int hwi_cache_file_open(const char *path)
{
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
}

/* Returns whether `path` may be written: there is no file (*exists is false), or a cache file, or an empty one. */
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

/* Creates a file without a name in the folder of `path`, so that a process that is killed while writing leaves no file.
 * Returns -1 if the file system does not support that. */
static int open_nameless(const char *path)
{
  char *folder;
  if (asprintf(&folder, "%.*s.", (int)(hwi_base_name(path) - path), path) < 0)
    return -1;
  int fd = hwi_os_open_nameless(folder, MODE_FILE);
  free(folder);
  return fd;
}

/* Returns an unused path in the folder of `path`, or NULL if there is no memory. */
static char *choose_temporary(const char *path)
{
  uint64_t number;
  char *temporary;
  hwi_os_random(&number, sizeof number); /* if the name is taken, creating the file fails */
  return asprintf(&temporary, "%s.%016" PRIx64, path, number) < 0 ? NULL : temporary;
}

static int create(const char *path)
{
  return open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, MODE_FILE);
}

bool hwi_cache_file_begin(struct hwi_cache_file *file, const char *path, const uint8_t magic[HWI_CACHE_MAGIC_BYTES])
{
  bool exists;
  *file = (struct hwi_cache_file){.fd = -1};
  if (!may_replace(path, magic, &exists))
    return false;
  file->temporary = choose_temporary(path);
  if (!file->temporary)
    return false;
  file->fd = open_nameless(path);
  if (file->fd < 0) {
    file->fd = create(file->temporary);
    file->is_named = file->fd >= 0;
  }
  if (file->fd < 0)
    hwi_cache_file_discard(file);
  return file->fd >= 0;
}

/* Copies a file without a name into one that has a name, if no link can be made: without /proc, or where links are
 * refused. */
static bool copy_it(struct hwi_cache_file *file)
{
  uint64_t bytes = 0;
  const int named = create(file->temporary);
  if (named < 0)
    return false;
  bool done = lseek(file->fd, 0, SEEK_SET) == 0 && hwi_os_copy_rest(file->fd, named, &bytes);
  close(file->fd);
  file->fd = named;
  file->is_named = true;
  return done;
}

/* A link cannot replace an existing file, but a rename replaces it atomically. So a file without a name gets the
 * temporary one first. */
static bool name_it(struct hwi_cache_file *file)
{
  file->is_named = file->is_named || hwi_os_give_name(file->fd, file->temporary);
  return file->is_named || copy_it(file);
}

bool hwi_cache_file_commit(struct hwi_cache_file *file, const char *path)
{
  bool done = name_it(file);
  done = close(file->fd) == 0 && done; /* a remote file system may report a full disk only here */
  file->fd = -1;
  done = done && rename(file->temporary, path) == 0;
  file->is_named = file->is_named && !done;
  hwi_cache_file_discard(file);
  return done;
}

void hwi_cache_file_discard(struct hwi_cache_file *file)
{
  if (file->fd >= 0)
    close(file->fd);
  if (file->is_named)
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
