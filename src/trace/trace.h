/* trace.h - an open trace, inside this folder */
#ifndef HWI_TRACE_TRACE_H
#define HWI_TRACE_TRACE_H

#include "trace/clock.h"
#include "trace/definitions.h"
#include "trace/index.h"
#include "trace/merge.h"
#include "trace/reader.h"
#include "trace/tool_area.h"

struct hwi_trace {
  char *path;
  struct hw_trace_header header;
  struct hwi_index index;
  struct hwi_tool_area tool;
  struct hwi_clock clock;
  struct hwi_definitions *definitions;
  struct hwi_source source;
  struct hwi_merge merge;
  bool complete; /* all definitions are read */
  uint64_t last_tick;
  uint64_t replaced_ns; /* see hwi_trace_set_replaced; UINT64_MAX: it was not */
  struct hwi_trace_info info;
  char *command;
  const char **environment;
};

/* Opens `path` and checks that it begins like a trace that this version reads. The descriptor, or negative. */
int hwi_trace_file_open(const char *path, struct hw_trace_header *header, struct hwi_error *error);

/* `path` is a link that stands for a trace which could not be begun, and `why` gets the reason. */
bool hwi_trace_file_is_missing(const char *path, char why[HW_NO_TRACE_BYTES]);

/* Brings info up to date with what was read. */
void hwi_trace_info_update(struct hwi_trace *trace);
void hwi_trace_info_release(struct hwi_trace *trace);

/* Another program took its process over then, since the trace began: what tools noted of the process later is not about it. */
void hwi_trace_set_replaced(struct hwi_trace *trace, uint64_t ns);

/* Everything but the parent's definitions. */
int hwi_trace_open_alone(struct hwi_trace **trace, const char *path, struct hwi_error *error);

#endif
