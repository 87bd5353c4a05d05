/* process.h - what /proc says about other processes */
#ifndef HWI_LAUNCH_PROCESS_H
#define HWI_LAUNCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"
#include "trace/proc.h"

/* Resident set, its parts and its peak so far from /proc/PID/status. False: no such process. */
bool hwi_process_memory(uint32_t pid, struct hw_rss_sample *sample, uint64_t *peak_bytes);

/* Where the main thread's stack begins, which is another place after each exec. 0: unknown, or no such process. */
uint64_t hwi_process_stack_start(uint32_t pid);

/* Name, policy and priority of a thread from /proc/PID/task/TID/stat; the number is the caller's. False: no such thread. */
bool hwi_process_thread(uint32_t pid, uint32_t tid, struct hw_thread_state *state);

/* Walks /proc/PID/smaps: fills what the sample says of mappings. `trace` and what is called `library` are the recorder's.
 * False: it cannot be read, or the process is ending; what the sample says is then nothing. */
bool hwi_process_mapped(uint32_t pid, const struct hwi_trace_file *trace, const char *library,
                        struct hw_rss_sample *sample);

/* What a process has mapped. */
struct hwi_process_parts {
  bool has_library;
  bool has_trace; /* some trace, shared for writing: one of a run whose first is `trace`, or of an earlier image */
  bool has_heap;  /* that libc's malloc takes its blocks from: it was called */
};

/* `library` and `trace` are file names without folders. False: nobody can tell. */
bool hwi_process_parts(uint32_t pid, const char *library, const char *trace, struct hwi_process_parts *parts);

/* It was started with a file of this name in LD_PRELOAD. False where nobody can tell, too. */
bool hwi_process_preloads(uint32_t pid, const char *library);

/* Calls `each` with the path of every mapped file that can be written, until it returns true. False: the mappings cannot be
 * read, errno says why. */
bool hwi_process_each_file(uint32_t pid, bool (*each)(void *context, const char *path), void *context);

/* The children of a process. How many, at most `max`. */
size_t hwi_process_children(uint32_t pid, uint32_t *children, size_t max);

/* Calls `each` with where every mapped file with code begins, and its path, until that returns true. */
void hwi_process_each_library(uint32_t pid, bool (*each)(void *context, uint64_t start, const char *path),
                              void *context);

#endif
