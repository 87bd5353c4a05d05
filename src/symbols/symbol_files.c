/* symbol_files.c - copies the files with a module's symbols */
#define _GNU_SOURCE
#include "symbols/symbol_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/os_tools.h"
#include "symbols/debug_file.h"
#include "symbols/module_file.h"
#include "symbols/paths.h"

enum { MODE_DIR = 0777, MODE_FILE = 0444 };

char *hwi_path_next_to_recording(const char *path, const char *suffix)
{
  static const char children[] = ".children";
  size_t bytes = strlen(path);
  for (const char *at = path; (at = strstr(at, children)); at += sizeof children - 1) {
    const char *end = at + sizeof children - 1;
    if (*end == '/' || *end == '\0')
      bytes = (size_t)(at - path);
  }
  char *joined;
  return asprintf(&joined, "%.*s%s", (int)bytes, path, suffix) >= 0 ? joined : NULL;
}

char *hwi_symbol_files_folder(const char *path)
{
  return hwi_path_next_to_recording(path, ".files");
}

/* Makes "DIR", "DIR/.build-id" and "DIR/.build-id/12" for a path "DIR/.build-id/12/3456.debug". */
static int make_folders(const char *dir, const char *path)
{
  char *part = strdup(path);
  int status = part ? 0 : HW_ERR_MEMORY;
  for (char *slash = part ? part + strlen(dir) : NULL; slash && status == 0;) {
    *slash = '\0';
    if (mkdir(part, MODE_DIR) != 0 && errno != EEXIST)
      status = HW_ERR_IO;
    *slash = '/';
    slash = strchr(slash + 1, '/');
  }
  free(part);
  return status;
}

char *hwi_symbol_file_place(const char *folder, const uint8_t *build_id, size_t bytes)
{
  char *path = hwi_debug_path_of_build_id(folder, build_id, bytes);
  if (path && make_folders(folder, path) == 0)
    return path;
  free(path);
  return NULL;
}

static int copy(const char *source, const char *path, uint64_t *copied)
{
  char *part = hwi_path_concat(path, ".XXXXXX", NULL);
  if (!part)
    return HW_ERR_MEMORY;
  int from = open(source, O_RDONLY | O_CLOEXEC), to = from >= 0 ? mkostemp(part, O_CLOEXEC) : -1;
  bool done = to >= 0 && hwi_os_copy_rest(from, to, copied) && fchmod(to, MODE_FILE) == 0;
  int os_error = errno;
  if (to >= 0 && close(to) != 0 && done) {
    done = false;
    os_error = errno;
  }
  if (done && rename(part, path) != 0) {
    done = false;
    os_error = errno;
  }
  if (to >= 0 && !done)
    unlink(part);
  if (from >= 0)
    close(from);
  free(part);
  errno = os_error;
  return done ? 0 : HW_ERR_IO;
}

/* Returns the path of the file with the module's debug information, or else with its symbols. The caller frees it.
 * Returns NULL if there is none. */
static char *find_source(const struct hwi_symbol_module *module)
{
  char *default_dirs[] = {(char *)HWI_DEBUG_DIR};
  const struct hwi_debug_dirs dirs = {.dirs = default_dirs, .count = 1};
  struct hwi_module_file file;
  hwi_module_file_open(&file, module, &dirs);
  const struct hwi_elf_file *source = hwi_module_file_with_dwarf(&file);
  if (!source)
    source = file.debug.elf ? &file.debug : &file.own;
  char *path = source->elf && source->path ? strdup(source->path) : NULL;
  hwi_module_file_close(&file);
  return path;
}

int hwi_symbol_files_copy(struct hwi_symbol_files *files, const char *dir, const struct hwi_symbol_module *module,
                          struct hwi_error *error)
{
  if (module->build_id_bytes == 0) {
    files->nameless++;
    return HW_OK;
  }
  char *path = hwi_debug_path_of_build_id(dir, module->build_id, module->build_id_bytes);
  if (!path)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory to copy %s", module->path);
  int status = HW_OK;
  if (access(path, F_OK) != 0) {
    char *source = find_source(module);
    files->not_found += source == NULL;
    if (source)
      status = make_folders(dir, path);
    if (source && status == 0)
      status = copy(source, path, &files->copied_bytes);
    files->copied += source != NULL && status == 0;
    free(source);
  } else {
    files->copied++;
  }
  if (status < 0)
    hwi_error_set(error, status, "cannot copy %s to %s: %s", module->path, dir,
                  status == HW_ERR_IO ? strerror(errno) : hwi_status_text(status));
  free(path);
  return status;
}
