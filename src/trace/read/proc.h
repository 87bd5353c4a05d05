/* proc.h - reads /proc of a process: its stat file and its mappings */
#ifndef HWI_TRACE_READ_PROC_H
#define HWI_TRACE_READ_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { HWI_PROC_STAT_BYTES = 2048, HWI_MAPPING_LINE_BYTES = 8192 };

/* Fields of /proc/PID/stat, counted from 1. */
enum hwi_stat_field {
  HWI_STAT_NAME = 2,
  HWI_STAT_STATE = 3,
  HWI_STAT_THREADS = 20,
  HWI_STAT_START = 22,
  HWI_STAT_STACK = 28,
  HWI_STAT_RT_PRIORITY = 40,
  HWI_STAT_POLICY = 41,
};

/* Opens /proc/PID/NAME for reading; the caller closes it with fclose. Returns NULL if it cannot be opened. */
FILE *hwi_proc_open(uint32_t pid, const char *name);

/* Reads a stat file into `text` and closes it. Returns where the name ends, or NULL on failure (also if `file` is
 * NULL). */
char *hwi_proc_read_stat(FILE *file, char text[HWI_PROC_STAT_BYTES]);

/* Returns the text of a field that comes after the name, or "" if there is none. */
const char *hwi_proc_stat_field(const char *name_end, enum hwi_stat_field field);

/* Returns field 22 of /proc/PID/stat, or 0 if there is no such process. Sets *is_over if it is a zombie without other
 * threads. */
uint64_t hwi_process_start(uint32_t pid, bool *is_over);

/* Returns the pid of the process in its own pid namespace, or 0 if there is no such process or the kernel does not show
 * it. */
uint32_t hwi_process_inner_pid(uint32_t pid);

/* Opens the maps of any thread that is left, since those of an ended main thread are empty. Returns NULL if that
 * fails. */
FILE *hwi_proc_open_maps(uint32_t pid);

struct hwi_mapping {
  uint64_t start, end, inode;
  char rights[8];
  const char *name; /* in the line, without the newline */
};

/* Parses a line of maps or smaps, and replaces its newline by a NUL. Returns false if the line describes no mapping. */
bool hwi_mapping_parse(char *line, struct hwi_mapping *mapping);

/* A trace file to look for among mappings. */
struct hwi_trace_file {
  const char *path;
  uint64_t inode;
};

/* Returns whether the mapping is of a file with this name; folders are ignored. */
bool hwi_mapping_is_called(const struct hwi_mapping *mapping, const char *name);

bool hwi_mapping_is_of(const struct hwi_mapping *mapping, const struct hwi_trace_file *trace);

#endif
