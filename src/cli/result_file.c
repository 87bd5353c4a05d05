/* result_file.c - a file for results: whole under its name, or not there at all */
#include "cli/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEW_FILE_MODE = 0666 };

static int failed_to_write(const struct hwi_result_file *file, struct hwi_error *error)
{
  return hwi_error_set(error, HW_ERR_IO, "%s cannot be written: %s", file->name, strerror(errno));
}

static void release(struct hwi_result_file *file)
{
  free(file->to);
  free(file->path);
  *file = (struct hwi_result_file){0};
}

/* What the name leads to, so that a symbolic link stays one; what is not there yet is itself. */
static char *resolve(const char *name)
{
  char *resolved = realpath(name, NULL);
  return resolved != NULL || errno != ENOENT ? resolved : strdup(name);
}

static int open_temporary(struct hwi_result_file *file, struct hwi_error *error)
{
  file->to = resolve(file->name);
  if (file->to == NULL || asprintf(&file->path, "%s.XXXXXX", file->to) < 0) {
    file->path = NULL;
    return failed_to_write(file, error);
  }
  int fd = mkostemp(file->path, O_CLOEXEC);
  if (fd < 0) {
    free(file->path);
    file->path = NULL;
    return failed_to_write(file, error);
  }
  mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, NEW_FILE_MODE & ~mask);
  file->out = fdopen(fd, "w");
  if (file->out == NULL)
    close(fd);
  return file->out != NULL ? HW_OK : failed_to_write(file, error);
}

int hwi_result_file_open(struct hwi_result_file *file, const char *name, struct hwi_error *error)
{
  struct stat about;
  *file = (struct hwi_result_file){.name = name};
  signal(SIGXFSZ, SIG_IGN); /* where files are limited in size, too, writing fails instead of killing */
  int status = HW_OK;
  if (strcmp(name, "-") == 0) {
    file->name = "stdout";
    file->out = stdout;
  } else if (stat(name, &about) == 0 && !S_ISREG(about.st_mode)) {
    file->out = fopen(name, "we");
    status = file->out != NULL ? HW_OK : failed_to_write(file, error);
  } else {
    status = open_temporary(file, error);
  }
  if (status < 0)
    hwi_result_file_abandon(file);
  return status;
}

void hwi_result_file_abandon(struct hwi_result_file *file)
{
  if (file->out != NULL && file->out != stdout)
    fclose(file->out);
  if (file->path != NULL)
    unlink(file->path);
  release(file);
}

/* Why an earlier write failed is not known any more: another one will tell. */
static void fail_again(FILE *out)
{
  errno = EIO;
  clearerr(out);
  if (fputc('\n', out) != EOF)
    fflush(out);
}

int hwi_result_file_commit(struct hwi_result_file *file, struct hwi_error *error)
{
  int status = HW_OK;
  if (ferror(file->out)) {
    fail_again(file->out);
    status = failed_to_write(file, error);
  } else if (fflush(file->out) != 0) {
    status = failed_to_write(file, error);
  }
  if (file->out != stdout && fclose(file->out) != 0 && status == HW_OK)
    status = failed_to_write(file, error);
  file->out = NULL;
  if (status == HW_OK && file->path != NULL && rename(file->path, file->to) != 0)
    status = failed_to_write(file, error);
  if (status < 0)
    hwi_result_file_abandon(file);
  release(file);
  return status;
}
