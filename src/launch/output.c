/* output.c - the output path NAME of a recording, and what exists there already */
#include "launch/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_name.h"
#include "base/name_part.h"
#include "profile/summary/summary.h"
#include "symbols/name_cache.h"
#include "trace/format.h"
#include "trace/read/alive.h"
#include "trace/read/trace.h"

static const char FOLDER_SUFFIX[] = ".children", ASIDE_SUFFIX[] = ".earlier";

/* --- the name --- */

static int expand(FILE *to, const char *pattern, const char *command, pid_t pid)
{
  for (enum hwi_name_part part; (part = hwi_name_next(&pattern)) != HWI_NAME_END;) {
    if (part == HWI_NAME_PROCESS)
      fprintf(to, "%ld", (long)pid);
    else if (part == HWI_NAME_COMMAND)
      fputs(hwi_base_name(command), to);
    else
      fputc(pattern[-1], to);
  }
  return ferror(to) ? HW_ERR_MEMORY : 0;
}

int hwi_output_init(struct hwi_output *output, const char *pattern, const char *command, pid_t pid,
                    struct hwi_error *error)
{
  char folder[PATH_MAX] = "";
  size_t bytes = 0;
  *output = (struct hwi_output){0};
  if (*pattern != '/' && !getcwd(folder, sizeof folder))
    return hwi_error_set(error, HW_ERR_IO,
                         "cannot find the current directory: %s; give the absolute path of the output",
                         strerror(errno));
  FILE *to = open_memstream(&output->name, &bytes);
  if (!to)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  if (*pattern != '/')
    fprintf(to, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
  int status = expand(to, pattern, command, pid);
  if (fclose(to) != 0 || status < 0)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  if (bytes + sizeof FOLDER_SUFFIX + NAME_MAX >= PATH_MAX)
    return hwi_error_set(error, HW_ERR_LIMIT, "the name of the output is too long: %.100s...", output->name);
  return 0;
}

void hwi_output_release(struct hwi_output *output)
{
  free(output->name);
  free(output->aside);
  *output = (struct hwi_output){0};
}

char *hwi_output_pattern(const char *name)
{
  char *pattern = malloc(2 * strlen(name) + 1), *to = pattern;
  for (; to && *name; name++) {
    *to++ = *name;
    if (*name == '%')
      *to++ = '%';
  }
  if (to)
    *to = 0;
  return pattern;
}

/* --- what is there --- */

/* Returns the folder of `name`, malloc'd. */
static char *folder_of(const char *name)
{
  const char *slash = strrchr(name, '/');
  return slash == name ? strdup("/") : strndup(name, (size_t)(slash - name));
}

static int check_folder(const struct hwi_output *output, struct hwi_error *error)
{
  char *folder = folder_of(output->name);
  struct stat about;
  int status = 0;
  if (!folder)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  if (stat(folder, &about) < 0)
    status = hwi_error_set(error, HW_ERR_IO,
                           "cannot write the trace into %s: %s; make the folder, or name another file with -o", folder,
                           strerror(errno));
  else if (!S_ISDIR(about.st_mode))
    status = hwi_error_set(error, HW_ERR_USAGE,
                           "cannot write the trace into %s: it is no folder; name another file with -o", folder);
  else if (access(folder, W_OK | X_OK) < 0)
    status = hwi_error_set(error, HW_ERR_IO, "cannot write the trace into %s: %s; name another file with -o", folder,
                           strerror(errno));
  free(folder);
  return status;
}

int hwi_output_is_written(const char *path, uint32_t writer, const char *advice, struct hwi_error *error)
{
  if (writer == HWI_WRITER_UNSEEN)
    return hwi_error_set(
        error, HW_ERR_BUSY,
        "%s may still be written by a process that cannot be seen from here; name another file with -o", path);
  return hwi_error_set(error, HW_ERR_BUSY, "%s is still being written by process %u; %s", path, writer, advice);
}

/* Returns 1 if there is an earlier trace that may be replaced, 0 if nothing is there, or a negative status. */
static int judge(const char *path, struct hwi_error *error)
{
  struct stat about;
  char why[HW_NO_TRACE_BYTES];
  if (lstat(path, &about) < 0) {
    if (errno == ENOENT)
      return 0;
    return hwi_error_set(error, HW_ERR_IO, "cannot look at %s: %s", path, strerror(errno));
  }
  if (S_ISLNK(about.st_mode) && about.st_uid == geteuid() && hwi_trace_file_is_missing(path, why))
    return 1; /* a mark that was left instead of a trace */
  if (!S_ISREG(about.st_mode))
    return hwi_error_set(error, HW_ERR_EXISTS, "%s exists and is no heapwright trace; name another file with -o", path);
  if (about.st_uid != geteuid())
    return hwi_error_set(error, HW_ERR_EXISTS, "%s belongs to another user; name another file with -o", path);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  struct hw_trace_header header = {0};
  ssize_t got = fd < 0 ? -1 : pread(fd, &header, sizeof header, 0);
  uint32_t writer = got == (ssize_t)sizeof header ? hwi_trace_writer(fd, &header) : 0;
  if (fd >= 0)
    close(fd);
  if (got < (ssize_t)sizeof header || memcmp(header.magic, HW_TRACE_MAGIC, HW_TRACE_MAGIC_BYTES) != 0)
    return hwi_error_set(error, HW_ERR_EXISTS, "%s exists and is no heapwright trace; name another file with -o", path);
  if (writer)
    return hwi_output_is_written(path, writer, "name another file with -o", error);
  return 1;
}

int hwi_output_check(const struct hwi_output *output, struct hwi_error *error)
{
  int status = check_folder(output, error);
  if (status == 0)
    status = judge(output->name, error);
  return status < 0 ? status : 0;
}

int hwi_output_place(struct hwi_output *output, const char *path, struct hwi_error *error)
{
  char *pattern = hwi_output_pattern(path);
  if (!pattern)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  int status = hwi_output_init(output, pattern, "", 0, error);
  free(pattern);
  return status < 0 ? status : hwi_output_check(output, error);
}

/* --- the earlier trace --- */

static char *with_suffix(const char *name, const char *suffix)
{
  char *made = NULL;
  return asprintf(&made, "%s%s", name, suffix) < 0 ? NULL : made;
}

/* Removes the traces in a folder NAME.children, and the folder if nothing else is in it. If NAME.children is a symbolic
 * link, its target is not ours and stays. */
static void remove_children(const char *folder)
{
  struct hwi_error ignored;
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    if (fd >= 0)
      close(fd);
    return;
  }
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    char *path = NULL;
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
        asprintf(&path, "%s/%s", folder, entry->d_name) >= 0) {
      if (judge(path, &ignored) == 1) {
        hwi_summary_remove(path);
        unlink(path);
      }
      free(path);
    }
  }
  closedir(dir);
  rmdir(folder);
}

static void remove_run(const char *name)
{
  struct hwi_error ignored;
  char *folder = with_suffix(name, FOLDER_SUFFIX);
  if (judge(name, &ignored) == 1)
    unlink(name);
  if (folder)
    remove_children(folder);
  free(folder);
}

static int move_run(const char *from, const char *to)
{
  char *from_folder = with_suffix(from, FOLDER_SUFFIX), *to_folder = with_suffix(to, FOLDER_SUFFIX);
  int status = from_folder && to_folder && rename(from, to) == 0 ? 0 : HW_ERR_IO;
  if (status == 0) {
    hwi_summary_remove(from);
    hwi_name_cache_remove(from);
  }
  if (status == 0)
    (void)!rename(from_folder, to_folder); /* fails for most runs, which have no such folder */
  free(from_folder);
  free(to_folder);
  return status;
}

int hwi_output_set_aside(struct hwi_output *output, struct hwi_error *error)
{
  int found = judge(output->name, error);
  if (found <= 0)
    return found;
  output->aside = with_suffix(output->name, ASIDE_SUFFIX);
  if (!output->aside)
    return hwi_error_set(error, HW_ERR_MEMORY, "no memory");
  int taken = judge(output->aside, error); /* a launcher that was killed may have left it */
  if (taken < 0)
    return taken;
  remove_run(output->aside);
  if (move_run(output->name, output->aside) < 0)
    return hwi_error_set(error, HW_ERR_IO, "cannot replace %s: %s", output->name, strerror(errno));
  return 0;
}

void hwi_output_discard_earlier(struct hwi_output *output)
{
  if (output->aside)
    remove_run(output->aside);
  free(output->aside);
  output->aside = NULL;
}

void hwi_output_restore_earlier(struct hwi_output *output)
{
  if (output->aside && access(output->name, F_OK) < 0)
    (void)!move_run(output->aside, output->name);
  free(output->aside);
  output->aside = NULL;
}

void hwi_output_remove_made(const struct hwi_output *output)
{
  remove_run(output->name);
}

struct hwi_os_disk hwi_output_disk(const struct hwi_output *output)
{
  char *folder = folder_of(output->name);
  struct hwi_os_disk disk = folder ? hwi_os_disk(folder) : (struct hwi_os_disk){.free_bytes = UINT64_MAX};
  free(folder);
  return disk;
}
