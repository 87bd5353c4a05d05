/* allocator.c - the library that a user names as an allocator */
#include "launch/allocator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "launch/helper.h"
#include "launch/preload.h"

/* What the allocators that people know are called where they are installed, newest first. */
static const struct {
  const char *name, *file;
} known[] = {
    {"jemalloc", "libjemalloc.so.2"},   {"tcmalloc", "libtcmalloc_minimal.so.4"}, {"tcmalloc", "libtcmalloc.so.4"},
    {"mimalloc", "libmimalloc.so.3"},   {"mimalloc", "libmimalloc.so.2"},         {"mimalloc", "libmimalloc.so.2.0"},
    {"tbb", "libtbbmalloc_proxy.so.2"},
};

int hwi_allocator_provider(char **library, const char *preload, struct hwi_error *error)
{
  enum { SECONDS = 10 };
  static const char *const arguments[] = {"--where", NULL};
  struct hwi_helper_run run = {arguments, preload, SECONDS};
  struct hwi_helper_end end;
  *library = NULL;
  int status = hwi_helper_run(&run, &end, error);
  if (status < 0 || end.is_late || end.wait_status != 0)
    return status;
  *library = strdup(end.said);
  return *library ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory");
}

/* With the library preloaded, malloc is no longer libc's: it can be loaded, and defines malloc. True also where the program
 * dies: that is for its user to see. */
static bool provides_malloc(const char *preload, struct hwi_error *error)
{
  char *plain = NULL, *replaced = NULL;
  bool provides = hwi_allocator_provider(&plain, NULL, error) == 0 &&
                  hwi_allocator_provider(&replaced, preload, error) == 0 &&
                  (!plain || !replaced || strcmp(plain, replaced) != 0);
  free(plain);
  free(replaced);
  return provides;
}

static int use(char **preload, char *found, const char *name, struct hwi_error *error)
{
  *preload = found;
  int status = hwi_preload_name(preload, "allocator.so", error);
  if (status < 0)
    return status;
  error->status = HW_OK;
  if (provides_malloc(*preload, error))
    return 0;
  status = error->status;
  if (status == HW_OK)
    status =
        hwi_error_set(error, HW_ERR_USAGE, "%s: no library that the loader can preload and that defines malloc", name);
  free(*preload);
  *preload = NULL;
  return status;
}

static int use_path(char **preload, const char *path, struct hwi_error *error)
{
  char *found = realpath(path, NULL);
  if (!found)
    return hwi_error_set(error, HW_ERR_IO, "%s: %s", path, strerror(errno));
  return use(preload, found, path, error);
}

static int use_own(char **preload, const char *name, struct hwi_error *error)
{
  char *file = NULL, *found = NULL;
  if (asprintf(&file, "libheapwright-%s.so", name) < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  int status = hwi_installed_find(&found, file, error);
  free(file);
  return status < 0 ? status : use(preload, found, name, error);
}

/* A name that the dynamic loader looks up in its own places. */
static int use_loaders(char **preload, const char *file, struct hwi_error *error)
{
  char *copy = strdup(file);
  return copy ? use(preload, copy, file, error) : hwi_error_set(error, HW_ERR_MEMORY, "no memory");
}

int hwi_allocator_find(char **preload, const char *name, struct hwi_error *error)
{
  struct stat about;
  *preload = NULL;
  if (strchr(name, '/') || (stat(name, &about) == 0 && S_ISREG(about.st_mode)))
    return use_path(preload, name, error);
  if (strstr(name, ".so"))
    return use_loaders(preload, name, error);
  if (use_own(preload, name, error) == 0)
    return 0;
  bool is_known = false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, name) == 0) {
      is_known = true;
      if (use_loaders(preload, known[i].file, error) == 0)
        return 0;
    }
  return hwi_error_set(error, HW_ERR_USAGE,
                       is_known ? "%s is not installed here; name the library's file"
                                : "there is no allocator '%s'; name a library's file, ./%s.so say",
                       name, name);
}
