/* proc.h - what /proc says of a process: its stat file and its mappings */
#ifndef HWI_TRACE_PROC_H
#define HWI_TRACE_PROC_H

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

/* /proc/PID/NAME for reading, or NULL; to be closed with fclose. */
FILE *hwi_proc_open(uint32_t pid, const char *name);

/* Reads a stat file into `text` and closes it. Where the name ends, or NULL (for NULL, too). */
char *hwi_proc_read_stat(FILE *file, char text[HWI_PROC_STAT_BYTES]);

/* The text of that field, of those behind the name; "" where there is none. */
const char *hwi_proc_stat_field(const char *name_end, enum hwi_stat_field field);

/* Field 22 of /proc/PID/stat; 0: no such process. *is_over: it is a zombie without other threads. */
uint64_t hwi_process_start(uint32_t pid, bool *is_over);

/* Its number in its own namespace of pids. 0: no such process, or that is not told. */
uint32_t hwi_process_inner_pid(uint32_t pid);

/* The maps of any thread that is left, or NULL: those of an ended main thread are empty. */
FILE *hwi_proc_open_maps(uint32_t pid);

struct hwi_mapping {
  uint64_t start, end, inode;
  char rights[8];
  const char *name; /* in the line, without the newline */
};

/* Takes a line of maps or smaps apart, and ends it where its newline is. False: it is none of a mapping. */
bool hwi_mapping_parse(char *line, struct hwi_mapping *mapping);

/* A trace as it may be found among mappings. */
struct hwi_trace_file {
  const char *path;
  uint64_t inode;
};

/* It is one of a file, whose name without folders is this. */
bool hwi_mapping_is_called(const struct hwi_mapping *mapping, const char *name);

bool hwi_mapping_is_of(const struct hwi_mapping *mapping, const struct hwi_trace_file *trace);

#endif
