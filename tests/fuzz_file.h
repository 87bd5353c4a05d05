/* fuzz_file.h - a file in memory, for readers that take a path */
#ifndef HW_TESTS_FUZZ_FILE_H
#define HW_TESTS_FUZZ_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct fuzz_file {
  int fd; /* the caller must close it */
  char path[64];
};

static inline struct fuzz_file fuzz_file_open(void)
{
  struct fuzz_file file = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};
  if (file.fd < 0)
    abort();
  snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
  return file;
}

#endif
