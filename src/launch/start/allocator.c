/* allocator.c - the library that a user names as an allocator */
#include "launch/start/allocator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "launch/start/conform.h"
#include "launch/target/preload.h"
#include "launch/target/program.h"
#include "symbols/program_allocator.h"

/* File names of well-known allocators where they are installed, newest first. */
static const struct {
  const char *name, *file;
} known[] = {
    {"jemalloc", "libjemalloc.so.2"},   {"tcmalloc", "libtcmalloc_minimal.so.4"}, {"tcmalloc", "libtcmalloc.so.4"},
    {"mimalloc", "libmimalloc.so.3"},   {"mimalloc", "libmimalloc.so.2"},         {"mimalloc", "libmimalloc.so.2.0"},
    {"tbb", "libtbbmalloc_proxy.so.2"},
};

int hwi_allocator_provider(char **library, char **printed, const char *preload, struct hwi_error *error)
{
  enum { SECONDS = 60 };
  static const char *const arguments[] = {"--where", NULL};
  struct hwi_conform_run run = {arguments, preload, SECONDS, SECONDS};
  struct hwi_conform_end end;
  *library = NULL;
  if (printed)
    *printed = NULL;
  int status = hwi_conform_run(&run, &end, error);
  if (status < 0 || end.is_late || end.wait_status != 0)
    return status;
  *library = strdup(end.output);
  if (printed)
    *printed = strdup(end.errors);
  return *library && (!printed || *printed) ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory");
}

bool hwi_allocator_is_loaded(const char *preload, struct hwi_error *error)
{
  char *plain = NULL, *replaced = NULL;
  bool is_loaded = hwi_allocator_provider(&plain, NULL, NULL, error) == 0 &&
                   hwi_allocator_provider(&replaced, NULL, preload, error) == 0 &&
                   (!plain || !replaced || strcmp(plain, replaced) != 0);
  free(plain);
  free(replaced);
  return is_loaded;
}

static int refuse(const char *name, struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_USAGE, "%s: no library that the loader can preload and that defines malloc", name);
}

static int use_path(char **preload, const char *path, struct hwi_error *error)
{
  *preload = realpath(path, NULL);
  if (!*preload)
    return hwi_error_set(error, HW_ERR_IO, "%s: %s", path, strerror(errno));
  if (hwi_program_allocator(*preload).exports_malloc)
    return hwi_preload_name(preload, "allocator.so", error);
  free(*preload);
  *preload = NULL;
  return refuse(path, error);
}

static int use_own(char **preload, const char *name, struct hwi_error *error)
{
  char *file = NULL;
  if (asprintf(&file, "libheapwright-%s.so", name) < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  char *path = NULL;
  int status = hwi_installed_find(&path, file, error);
  if (status == 0)
    status = hwi_program_allocator(path).exports_malloc ? hwi_preload_find(preload, file, error) : refuse(name, error);
  free(path);
  free(file);
  return status;
}

/* `file` is looked up by the dynamic loader in its own folders: loads it to find its path. */
static int use_loaders(char **preload, const char *file, struct hwi_error *error)
{
  error->status = HW_OK;
  if (!hwi_allocator_is_loaded(file, error))
    return error->status != HW_OK ? error->status : refuse(file, error);
  *preload = strdup(file);
  return *preload ? 0 : hwi_error_set(error, HW_ERR_MEMORY, "no memory");
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
                                : "there is no allocator '%s'; name a library's file, for example ./%s.so",
                       name, name);
}

/* A name without a folder is that of a library for glibc, whose loader has found it: musl's looks in other folders, and continues
 * without it. */
const char *hwi_allocator_obstacle(const char *preload, const struct hwi_program *program)
{
  if (program->is_static)
    return "is statically linked, so that nothing can be preloaded into it";
  if (program->allocator.exports_malloc)
    return "defines malloc itself, which comes before that of a library";
  if (program->is_on_musl && (hwi_serves_only_glibc(preload) || !strchr(preload, '/')))
    return "is a program on musl, which this allocator does not serve";
  return NULL;
}
