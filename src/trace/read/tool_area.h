/* tool_area.h - the records that tools have written into a trace: marks, pauses, RSS, exit status, moments on both
 * clocks */
#ifndef HWI_TRACE_READ_TOOL_AREA_H
#define HWI_TRACE_READ_TOOL_AREA_H

#include <sys/types.h>

#include "trace/read/index.h"
#include "trace/reader.h"

struct hwi_thread_state {
  struct hw_thread_state state;
  size_t order; /* the record's index among those of all threads */
};

/* A file with code that a tool found in the process's mappings. */
struct hwi_seen_file {
  uint64_t start;
  char *path;
};

struct hwi_tool_area {
  struct hwi_mark *marks; /* ns is since the start of the image, as in `rss` */
  size_t mark_count, mark_capacity;
  struct hwi_rss_point *rss;
  size_t rss_count, rss_capacity;
  struct hw_anchor *anchors;
  size_t anchor_count, anchor_capacity;
  struct hwi_thread_state *threads; /* as the launcher read them; by number, then the latest first */
  size_t thread_count, thread_capacity;
  struct hwi_seen_file *files;
  size_t file_count, file_capacity;
  struct hw_exit_status exit;
  bool has_exit;
  uint32_t children_unseen;
  size_t read_bytes;     /* of a raw trace's area */
  size_t read_sections;  /* of the index's tool_sections */
  uint64_t last_ns;      /* of the latest record */
  uint64_t last_sign_ns; /* of the latest record about the process; anchors may also be written after the run's end */
};

/* Reads the records that were not read yet; they end at the first invalid one. Returns 0, HW_ERR_IO or HW_ERR_MEMORY. */
int hwi_tool_area_read(struct hwi_tool_area *area, int fd, const struct hw_trace_header *header,
                       const struct hwi_index *index);

/* Reads the records of a raw trace after the first `from` bytes into `to`, which has room for HW_TOOL_AREA_BYTES. Returns
 * how many bytes they take, or a negative value on failure (errno is set). */
ssize_t hwi_tool_area_load(int fd, size_t from, uint8_t *to);

/* Returns the latest state of a thread, or NULL if none was recorded. */
const struct hw_thread_state *hwi_tool_area_thread(const struct hwi_tool_area *area, uint32_t number);

/* Returns whether the thread was ever recorded with that name. */
bool hwi_tool_area_saw_name(const struct hwi_tool_area *area, uint32_t number, const char *name);

/* Returns the path of the file that was mapped at a module's start address, for a module whose recorded path is `path`;
 * NULL if nothing better than that is known. */
const char *hwi_tool_area_file(const struct hwi_tool_area *area, uint64_t start, const char *path);

void hwi_tool_area_release(struct hwi_tool_area *area);

#endif
