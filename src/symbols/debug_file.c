/* debug_file.c - finds the separate file that holds a module's debug information */
#include "symbols/debug_file.h"

#include <elfutils/libdwelf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_name.h"
#include "symbols/paths.h"

enum { SHORTEST_BUILD_ID = 2, LONGEST_BUILD_ID = 64, NAMED_PLACES = 3 };

/* Returns the part of the path after DIR/.build-id, "/12/3456.debug"; the caller frees it. */
static char *build_id_name(const uint8_t *build_id, size_t bytes)
{
  static const char digits[] = "0123456789abcdef";
  static const char suffix[] = ".debug";
  char *name = malloc(bytes * 2 + sizeof "//" + sizeof suffix);
  if (!name)
    return NULL;
  char *end = name;
  *end++ = '/';
  for (size_t i = 0; i < bytes; i++) {
    *end++ = digits[build_id[i] >> 4];
    *end++ = digits[build_id[i] & 15];
    if (i == 0)
      *end++ = '/';
  }
  memcpy(end, suffix, sizeof suffix);
  return name;
}

char *hwi_debug_path_of_build_id(const char *dir, const uint8_t *build_id, size_t bytes)
{
  if (bytes < SHORTEST_BUILD_ID || bytes > LONGEST_BUILD_ID)
    return NULL;
  char *name = build_id_name(build_id, bytes);
  char *path = name ? hwi_path_concat(dir, "/.build-id", name, NULL) : NULL;
  free(name);
  return path;
}

/* Opens `path` (freed here) if it is the file with that build-id. */
static bool open_checked(struct hwi_elf_file *file, char *path, const uint8_t *build_id, size_t bytes)
{
  struct hwi_elf_file found;
  bool opened = path && hwi_elf_file_open(&found, path) == HWI_SYMBOL_OK;
  free(path);
  if (!opened)
    return false;
  if (!hwi_elf_file_has_build_id(&found, build_id, bytes)) {
    hwi_elf_file_close(&found);
    return false;
  }
  *file = found;
  return true;
}

bool hwi_debug_file_by_build_id(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs, const uint8_t *build_id,
                                size_t bytes)
{
  bool found = false;
  for (size_t i = 0; !found && i < dirs->count; i++)
    found = open_checked(file, hwi_debug_path_of_build_id(dirs->dirs[i], build_id, bytes), build_id, bytes);
  return found;
}

/* Returns where a directory may have a module's file: at its path, by its name, and by its name as a debug file. The caller frees it. */
static char *named_path(const char *dir, const char *module_path, int place)
{
  const char *name = place == 0 ? module_path : hwi_base_name(module_path);
  return hwi_path_concat(dir, "/", name, place == NAMED_PLACES - 1 ? ".debug" : "", NULL);
}

bool hwi_debug_file_by_name(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs, const char *module_path,
                            const uint8_t *build_id, size_t bytes)
{
  bool found = false;
  for (size_t i = 0; !found && i < dirs->count; i++)
    for (int place = 0; !found && place < NAMED_PLACES; place++)
      found = open_checked(file, named_path(dirs->dirs[i], module_path, place), build_id, bytes);
  return found;
}

static bool is_elf(char *path)
{
  struct hwi_elf_file file;
  bool opened = path && hwi_elf_file_open(&file, path) == HWI_SYMBOL_OK;
  free(path);
  if (opened)
    hwi_elf_file_close(&file);
  return opened;
}

bool hwi_debug_file_is_named(const struct hwi_debug_dirs *dirs, const char *module_path)
{
  bool found = false;
  for (size_t i = 0; !found && i < dirs->count; i++)
    for (int place = 0; !found && place < NAMED_PLACES; place++)
      found = is_elf(named_path(dirs->dirs[i], module_path, place));
  return found;
}

static bool has_checksum(const struct hwi_elf_file *file, uint32_t wanted)
{
  size_t bytes;
  const char *all = elf_rawfile(file->elf, &bytes);
  return all && lzma_crc32((const uint8_t *)all, bytes, 0) == wanted;
}

/* If the module has a build-id, it is compared instead of the checksum, for which a gigabyte may have to be read. */
static bool open_linked(struct hwi_elf_file *file, char *path, const struct hwi_elf_file *of, uint32_t checksum)
{
  const void *build_id;
  ssize_t bytes = dwelf_elf_gnu_build_id(of->elf, &build_id);
  if (bytes > 0)
    return open_checked(file, path, build_id, (size_t)bytes);
  struct hwi_elf_file found;
  bool opened = path && hwi_elf_file_open(&found, path) == HWI_SYMBOL_OK;
  free(path);
  if (!opened)
    return false;
  if (!has_checksum(&found, checksum)) {
    hwi_elf_file_close(&found);
    return false;
  }
  *file = found;
  return true;
}

bool hwi_debug_file_by_link(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs, const struct hwi_elf_file *of)
{
  GElf_Word checksum;
  const char *name = dwelf_elf_gnu_debuglink(of->elf, &checksum);
  if (!name || !name[0] || strchr(name, '/') || !of->path)
    return false;
  char *dir = hwi_path_parent(of->path);
  if (!dir)
    return false;
  char *path = hwi_path_concat(dir, "/", name, NULL);
  bool found = path && strcmp(path, of->path) != 0 && open_linked(file, strdup(path), of, checksum);
  free(path);
  found = found || open_linked(file, hwi_path_concat(dir, "/.debug/", name, NULL), of, checksum);
  for (size_t i = 0; !found && i < dirs->count; i++)
    found = open_linked(file, hwi_path_concat(dirs->dirs[i], dir, "/", name, NULL), of, checksum);
  free(dir);
  return found;
}

/* The section has the file's name, a NUL, and the file's build-id. Returns the name, or NULL. */
static const char *alternate_link(const struct hwi_elf_file *of, const uint8_t **build_id, size_t *bytes)
{
  Elf_Scn *section = hwi_elf_file_section(of, ".gnu_debugaltlink");
  const Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
  const char *name = data ? data->d_buf : NULL, *end = name ? memchr(name, '\0', data->d_size) : NULL;
  if (!end)
    return NULL;
  *build_id = (const uint8_t *)end + 1;
  *bytes = data->d_size - (size_t)(end + 1 - name);
  return name;
}

bool hwi_debug_file_alternate(struct hwi_elf_file *file, const struct hwi_debug_dirs *dirs,
                              const struct hwi_elf_file *of)
{
  const uint8_t *build_id;
  size_t bytes;
  const char *name = alternate_link(of, &build_id, &bytes);
  if (!name || bytes == 0)
    return false;
  if (hwi_debug_file_by_build_id(file, dirs, build_id, bytes))
    return true;
  char *dir = of->path ? hwi_path_parent(of->path) : NULL;
  bool found = open_checked(file, hwi_path_join(dir, name), build_id, bytes);
  free(dir);
  return found;
}
