/* tool_area.h - what tools have written into a trace: marks, pauses, RSS, exit status, moments on both clocks */
#ifndef HWI_TRACE_TOOL_AREA_H
#define HWI_TRACE_TOOL_AREA_H

#include <sys/types.h>

#include "trace/index.h"
#include "trace/reader.h"

struct hwi_thread_state {
  struct hw_thread_state state;
  size_t order; /* of the record among those of all threads */
};

/* A file with code that was seen mapped. */
struct hwi_seen_file {
  uint64_t start;
  char *path;
};

struct hwi_tool_area {
  struct hwi_mark *marks; /* ns is since the start of the image, as in the points */
  size_t mark_count, mark_capacity;
  struct hwi_rss_point *rss;
  size_t rss_count, rss_capacity;
  struct hw_anchor *anchors;
  size_t anchor_count, anchor_capacity;
  struct hwi_thread_state *threads; /* as the launcher saw them, by number, the latest first */
  size_t thread_count, thread_capacity;
  struct hwi_seen_file *files;
  size_t file_count, file_capacity;
  struct hw_exit_status exit;
  bool has_exit;
  uint32_t children_unseen;
  uint64_t last_ns; /* of the latest record */
  uint64_t
      last_sign_ns; /* ... that tells of the process; an anchor is about clocks, and is put when all of a run is over, too */
};

/* 0, HW_ERR_IO or HW_ERR_MEMORY. Records end at the first that makes no sense. */
int hwi_tool_area_read(struct hwi_tool_area *area, int fd, const struct hw_trace_header *header,
                       const struct hwi_index *index);

/* Reads the records of a raw trace into `to`, which has room for HW_TOOL_AREA_BYTES. How many bytes they take, or negative: errno
 * is set. */
ssize_t hwi_tool_area_load(int fd, uint8_t *to);

/* The latest state of a thread; NULL: none was noted. */
const struct hw_thread_state *hwi_tool_area_thread(const struct hwi_tool_area *area, uint32_t number);

/* Was the thread ever seen under that name? */
bool hwi_tool_area_saw_name(const struct hwi_tool_area *area, uint32_t number, const char *name);
/* Where a module that was taken to have `path` lies, by what was seen mapped at its start; NULL: nothing better is known. */
const char *hwi_tool_area_file(const struct hwi_tool_area *area, uint64_t start, const char *path);
void hwi_tool_area_release(struct hwi_tool_area *area);

#endif
