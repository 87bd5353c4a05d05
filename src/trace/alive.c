/* alive.c - whether a trace is still being written: its process runs, and has the file mapped */
#include "trace/alive.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { STAT_BYTES = 1024, LINE_BYTES = 8192, START_FIELD = 22, FIRST_FIELD_BEHIND_NAME = 3 };

/* Field 22 of /proc/PID/stat; 0: no such process, or it ended and waits for its parent. */
static uint64_t process_start(uint32_t pid)
{
  char path[64], text[STAT_BYTES] = "";
  snprintf(path, sizeof path, "/proc/%u/stat", pid);
  FILE *file = fopen(path, "re");
  if (!file)
    return 0;
  size_t got = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[got] = 0;
  char *at = strrchr(text, ')'); /* the name may hold blanks and brackets */
  if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
    return 0;
  at += 2;
  for (int field = FIRST_FIELD_BEHIND_NAME; field < START_FIELD && at; field++) {
    at = strchr(at, ' ');
    at = at ? at + 1 : NULL;
  }
  uint64_t start = 0;
  return at && sscanf(at, "%" SCNu64, &start) == 1 ? start : 0;
}

/* 1: mapped, 0: not, -1: nobody can tell. */
static int is_mapped(uint32_t pid, const struct stat *about)
{
  char path[64], line[LINE_BYTES];
  snprintf(path, sizeof path, "/proc/%u/maps", pid);
  FILE *file = fopen(path, "re");
  if (!file)
    return -1;
  int mapped = 0;
  while (!mapped && fgets(line, sizeof line, file)) {
    unsigned major_number, minor_number;
    uint64_t inode;
    mapped = sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &major_number, &minor_number, &inode) == 3 &&
             inode == about->st_ino && makedev(major_number, minor_number) == about->st_dev;
  }
  fclose(file);
  return mapped;
}

bool hwi_trace_is_being_written(int fd, const struct hw_trace_header *header)
{
  struct stat about;
  if (header->kind != HW_TRACE_RAW || !header->pid || fstat(fd, &about) < 0)
    return false;
  uint64_t start = process_start(header->pid);
  return start && start == header->process_start && is_mapped(header->pid, &about) != 0;
}
