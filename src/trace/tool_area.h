/* tool_area.h - what tools have written into a trace: marks, pauses, RSS, exit status, moments on both clocks */
#ifndef HWI_TRACE_TOOL_AREA_H
#define HWI_TRACE_TOOL_AREA_H

#include "trace/index.h"
#include "trace/reader.h"

struct hwi_tool_area {
  struct hwi_mark *marks; /* ns is since the start of the image, as in the points */
  size_t mark_count, mark_capacity;
  struct hwi_rss_point *rss;
  size_t rss_count, rss_capacity;
  struct hw_anchor *anchors;
  size_t anchor_count, anchor_capacity;
  struct hw_exit_status exit;
  bool has_exit;
  uint32_t children_unseen;
  uint64_t last_ns; /* of the latest record */
};

/* 0, HW_ERR_IO or HW_ERR_MEMORY. Records end at the first that makes no sense. */
int hwi_tool_area_read(struct hwi_tool_area *area, int fd, const struct hw_trace_header *header,
                       const struct hwi_index *index);
void hwi_tool_area_release(struct hwi_tool_area *area);

#endif
