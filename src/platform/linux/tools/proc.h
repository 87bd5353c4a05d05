/* proc.h - reads files of /proc, for the tools on Linux */
#ifndef HWI_PLATFORM_LINUX_TOOLS_PROC_H
#define HWI_PLATFORM_LINUX_TOOLS_PROC_H

#include <stdio.h>

#include "platform/os_tools.h"

enum { HWI_PROC_LINE_BYTES = 8192 };

/* Opens /proc/PID/NAME for reading; the caller closes it with fclose. Returns NULL if it cannot be opened. */
FILE *hwi_proc_open(uint32_t pid, const char *name);

/* Parses a line of maps or smaps, and replaces its newline by a NUL. Returns false if the line describes no mapping.
 * The mapping's name is a part of the line. */
bool hwi_proc_parse_mapping(char *line, struct hwi_os_mapping *mapping);

/* Reads a smaps file to its end: see hwi_os_process_memory_use. */
void hwi_proc_read_smaps(FILE *file, const struct hwi_os_file *trace, const char *library,
                         struct hwi_os_memory_use *use);

/* Writes the folder of the group for which `controller` limits a process, "memory" or "cpu", from the contents of /proc/PID/cgroup and /proc/PID/mountinfo. Returns
 * false if none is visible. Not for several threads. */
bool hwi_proc_find_cgroup(FILE *groups, FILE *mounts, const char *controller, char folder[HWI_OS_PATH_BYTES]);

#endif
