/* preload.c - finds the installed parts of heapwright, and makes library paths that LD_PRELOAD can hold */
#include "launch/target/preload.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "platform/os_tools.h"

static bool can_be_preloaded(const char *path)
{
  return !strpbrk(path, " :\t\n$");
}

/* Makes a folder that no other user can write to; *path is malloc'd. */
static int private_folder(char **path)
{
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  bool is_usable = runtime && *runtime == '/' && can_be_preloaded(runtime) && access(runtime, W_OK | X_OK) == 0;
  int made = is_usable ? asprintf(path, "%s/heapwright", runtime) : asprintf(path, "/tmp/heapwright-%u", geteuid());
  if (made < 0) {
    *path = NULL;
    return HW_ERR_MEMORY;
  }
  struct stat about;
  if (mkdir(*path, 0700) < 0 && errno != EEXIST)
    return HW_ERR_IO;
  if (lstat(*path, &about) < 0)
    return HW_ERR_IO;
  if (!S_ISDIR(about.st_mode) || about.st_uid != geteuid() || (about.st_mode & 022)) {
    errno = EPERM;
    return HW_ERR_IO;
  }
  return 0;
}

/* The name of the link contains a hash of its target, so the link stays valid for ever: children that start later still
 * need it. */
static int link_to(const char *library, const char *name, char **path, struct hwi_error *error)
{
  char *folder = NULL, *link = NULL, *target = NULL;
  int status = private_folder(&folder);
  if (status == 0 && (asprintf(&link, "%s/%016llx-%s", folder, (unsigned long long)hwi_fnv_text(library), name) < 0))
    status = HW_ERR_MEMORY;
  if (status == 0 && symlink(library, link) < 0 && errno != EEXIST)
    status = HW_ERR_IO;
  if (status == 0) {
    target = realpath(link, NULL);
    if (!target || strcmp(target, library) != 0) {
      errno = EEXIST;
      status = HW_ERR_IO;
    }
  }
  if (status < 0) {
    hwi_error_set(error, status,
                  "%s has a blank, ':' or '$' in its path, which the dynamic loader would split or expand, and no link "
                  "to it can be made in %s: %s; install heapwright elsewhere",
                  library, folder ? folder : "/tmp", strerror(errno));
    free(link);
    link = NULL;
  }
  *path = link;
  free(folder);
  free(target);
  return status;
}

int hwi_installed_find(char **path, const char *name, struct hwi_error *error)
{
  /* where they are installed (cmake/Packaging.cmake), and in the build tree */
  static const char *const places[] = {HWI_LIB_FROM_BIN, HWI_LIBEXEC_FROM_BIN "/heapwright", "../lib",
                                       "../libexec/heapwright"};
  char self[PATH_MAX];
  ssize_t bytes = readlink(HWI_OS_OWN_EXECUTABLE, self, sizeof self - 1);
  *path = NULL;
  if (bytes < 0)
    return hwi_error_set(error, HW_ERR_IO, "cannot find %s: " HWI_OS_OWN_EXECUTABLE ": %s", name, strerror(errno));
  self[bytes] = 0;
  *strrchr(self, '/') = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places && !*path; i++) {
    char *candidate = NULL;
    if (asprintf(&candidate, "%s/%s/%s", self, places[i], name) < 0)
      return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
    *path = realpath(candidate, NULL);
    free(candidate);
  }
  if (!*path)
    return hwi_error_set(error, HW_ERR_IO, "cannot find %s near %s; build or install all of heapwright", name, self);
  return 0;
}

int hwi_preload_name(char **path, const char *name, struct hwi_error *error)
{
  if (can_be_preloaded(*path))
    return 0;
  char *library = *path;
  int status = link_to(library, name, path, error);
  free(library);
  return status;
}

/* --- the names of our own libraries --- */

/* A variable of the dynamic loader: each loader replaces it by the name of its own platform. So the loader of a 32-bit
 * program finds a library that it can load, and prints no error. */
#define ANY_PLATFORM "$PLATFORM"

/* AddressSanitizer ends a program if any library was loaded before its own, which it recognizes by "libasan.so" in the
 * path. With such a path the program starts and loads the recorder, which then does nothing. */
#define NAME_FOR_SANITIZER "not-libasan.so"

/* Returns true if the library is in the platform's subfolder of `folder`. */
static bool is_there(const char *folder, const char *platform, const char *library)
{
  char *path = NULL;
  if (!platform || asprintf(&path, "%s/%s/%s", folder, platform, library) < 0)
    return false;
  bool is_readable = access(path, R_OK) == 0;
  free(path);
  return is_readable;
}

/* Returns the platform's part of the path in LD_PRELOAD, or NULL if there are no such folders, for example because only
 * the library was copied. */
static const char *platform_in(const char *folder, const char *library)
{
  const char *own = hwi_os_platform();
  if (!is_there(folder, own, library))
    return NULL;
  return is_there(folder, "i686", library) ? ANY_PLATFORM : own;
}

/* `names` is a folder next to the library; it contains a folder for each platform. */
static int put_platform(char **path, const char *names, const char *library, struct hwi_error *error)
{
  char *folder = NULL, *name = NULL;
  if (asprintf(&folder, "%.*s/%s", (int)(strrchr(*path, '/') - *path), *path, names) < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  const char *platform = platform_in(folder, library);
  int bytes = platform ? asprintf(&name, "%s/%s/%s", folder, platform, library) : 0;
  free(folder);
  if (bytes < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  if (platform) {
    free(*path);
    *path = name;
  }
  return 0;
}

int hwi_preload_find(char **path, const char *library, struct hwi_error *error)
{
  int status = hwi_installed_find(path, library, error);
  if (status < 0)
    return status;
  return can_be_preloaded(*path) ? put_platform(path, "heapwright", library, error)
                                 : hwi_preload_name(path, library, error);
}

int hwi_preload_find_recorder(char **path, struct hwi_error *error)
{
  int status = hwi_installed_find(path, HWI_RECORDER_NAME, error);
  if (status < 0)
    return status;
  return can_be_preloaded(*path) ? put_platform(path, "heapwright/" NAME_FOR_SANITIZER, HWI_RECORDER_NAME, error)
                                 : hwi_preload_name(path, NAME_FOR_SANITIZER "-" HWI_RECORDER_NAME, error);
}
