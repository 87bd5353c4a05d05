/* process.h - information on other processes from /proc */
#ifndef HWI_LAUNCH_TARGET_PROCESS_H
#define HWI_LAUNCH_TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/read/proc.h"

/* Reads the resident set, its parts and its peak so far from /proc/PID/status. Returns false if there is no such
 * process. */
bool hwi_process_memory(uint32_t pid, struct hw_rss_sample *sample, uint64_t *peak_bytes);

/* Returns where the main thread's stack begins, which changes with each exec. Returns 0 if that is unknown, or if there
 * is no such process. */
uint64_t hwi_process_stack_start(uint32_t pid);

/* Reads name, policy and priority of a thread from /proc/PID/task/TID/stat; the caller sets the thread's number.
 * Returns false if there is no such thread. */
bool hwi_process_thread(uint32_t pid, uint32_t tid, struct hw_thread_state *state);

/* Reads /proc/PID/smaps and fills the sample's fields on mappings. Mappings of `trace` and of files named `library`
 * belong to the recorder. Returns false if smaps cannot be read, or the process is ending; these fields are then
 * invalid. */
bool hwi_process_mapped(uint32_t pid, const struct hwi_trace_file *trace, const char *library,
                        struct hw_rss_sample *sample);

/* What a process has mapped. */
struct hwi_process_parts {
  bool has_library;
  bool has_trace; /* a trace, shared for writing: one of the run whose first trace is `trace`, or of an earlier image */
  bool has_heap;  /* libc's heap, so malloc was called */
};

/* `library` and `trace` are file names without folders. Returns false if the mappings cannot be read. */
bool hwi_process_parts(uint32_t pid, const char *library, const char *trace, struct hwi_process_parts *parts);

/* Returns true if the process was started with a file of this name in LD_PRELOAD. Returns false if that is unknown,
 * too. */
bool hwi_process_preloads(uint32_t pid, const char *library);

/* Calls `each` with the path of every mapped file that can be written, until it returns true. Returns false, with errno
 * set, if the mappings cannot be read. */
bool hwi_process_each_file(uint32_t pid, bool (*each)(void *context, const char *path), void *context);

/* Lists the children of a process. Returns how many there are, at most `max`. */
size_t hwi_process_children(uint32_t pid, uint32_t *children, size_t max);

/* Calls `each` with the path and the start of every mapped file with code, until it returns true. */
void hwi_process_each_library(uint32_t pid, bool (*each)(void *context, uint64_t start, const char *path),
                              void *context);

#endif
