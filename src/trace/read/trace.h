/* trace.h - an open trace; private to this folder */
#ifndef HWI_TRACE_READ_TRACE_H
#define HWI_TRACE_READ_TRACE_H

#include "trace/clock.h"
#include "trace/read/base.h"
#include "trace/read/definitions.h"
#include "trace/read/growing.h"
#include "trace/read/index.h"
#include "trace/read/merge.h"
#include "trace/read/tool_area.h"
#include "trace/reader.h"

enum { HWI_TRACE_NODE_SLACK = 1 << 20 };

struct hwi_trace {
  char *path;
  const char *shown_path; /* see hwi_trace_show_as; NULL: none */
  struct hw_trace_header header;
  struct hwi_index index;
  struct hwi_base base; /* all zero: no event was dropped */
  struct hwi_tool_area tool;
  struct hwi_clock clock;
  struct hwi_definitions *definitions;
  struct hwi_source source;
  struct hwi_merge merge;
  struct hwi_growing_streams growing;
  bool holds;          /* see hold.h */
  bool follows;        /* it is read by hwi_trace_look */
  uint64_t checked_ns; /* when its process was checked; 0: never */
  bool may_go_on;      /* its process ran then, and no later image of it was known */
  bool found_damage;
  uint64_t begun_off;   /* where the sections began when it was begun to be followed */
  bool had_late_events; /* see hwi_trace_had_late_events */
  uint32_t looks;
  uint64_t delay_ns;  /* see hwi_trace_delay */
  uint64_t seen_tick; /* older events were visible at the last look */
  bool complete;      /* all definitions are read */
  uint64_t last_tick;
  uint64_t replaced_ns; /* see hwi_trace_set_replaced; UINT64_MAX: never */
  struct hwi_trace_info info;
  char *command;
  const char **environment;
};

/* Opens `path` and checks that it begins like a trace that this version reads. Returns the descriptor, or a negative
 * status. */
int hwi_trace_file_open(const char *path, struct hw_trace_header *header, struct hwi_error *error);

/* Returns whether `path` is a symbolic link that was left instead of a trace that could not be begun; `why` then gets
 * the reason. */
bool hwi_trace_file_is_missing(const char *path, char why[HW_NO_TRACE_BYTES]);

/* Words a failure. Returns `status`. */
int hwi_trace_fail(const struct hwi_trace *trace, int status, int os_error, struct hwi_error *error);

/* Updates the info from everything read so far. */
void hwi_trace_info_update(struct hwi_trace *trace);
void hwi_trace_info_release(struct hwi_trace *trace);

/* Sets when, in ns since the start of the trace, an exec replaced the image in its process: later tool records about
 * the process are not about this image. */
void hwi_trace_set_replaced(struct hwi_trace *trace, uint64_t ns);

/* Opens a trace without its parent's definitions. Returns 0 or a negative status. */
int hwi_trace_open_alone(struct hwi_trace **trace, const char *path, struct hwi_error *error);

/* The same for an open file whose header is valid. Takes ownership of `fd`, also on failure; `path` is for messages. */
int hwi_trace_open_file(struct hwi_trace **trace, int fd, const struct hw_trace_header *header, const char *path,
                        struct hwi_error *error);

#endif
