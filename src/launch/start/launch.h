/* launch.h - runs a command under the recorder, from its start to the packed trace */
#ifndef HWI_LAUNCH_START_LAUNCH_H
#define HWI_LAUNCH_START_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "launch/follow/monitor.h"
#include "launch/target/program.h"
#include "platform/os_tools.h"

struct hwi_launch_options {
  const char *output;        /* pattern with %p and %c */
  const char *output_option; /* for messages: how the user chooses it, */
  const char *size_option;   /* and max_size; NULL: not at all */
  const char *only_process;  /* NULL: all */
  bool children;
  uint64_t depth;        /* 0: the recorder's default */
  uint64_t max_size;     /* bytes; 0: the recorder's default */
  int usable;            /* 1, 0, or -1: the recorder's default */
  bool durations;        /* record how long calls take */
  uint64_t sample_bytes; /* bytes per event of a sample; 0: every call is an event */
  bool paused;
  const char *itt_ignore;       /* domains of ITT and NVTX that are not recorded; NULL: none */
  bool itt_verbose;             /* note calls of ITT that are ignored */
  bool ros;                     /* preload the adapter for ROS 2 */
  bool trap;                    /* SIGTRAP for calls in forbidden zones */
  uint64_t duration_ns;         /* 0: to the end */
  const char *allocator;        /* preloaded after the recorder, from hwi_allocator_find; NULL: none */
  const char *const *variables; /* NAME=VALUE for the command */
  size_t variable_count;
  bool pack;
  const struct hwi_save_rule *save_rules; /* when the recording so far is saved; live and growth need `pack` */
  size_t save_rule_count;
  struct hwi_keep keep; /* all zero: everything */
  /* See struct hwi_monitor_options; called with a trace that is packed and kept whole. NULL: not wanted. */
  void (*be_resident)(const char *name);
  bool quiet; /* no totals and no hints, but what was asked for and is not done */
  /* Called when the command is about to end, while its memory can still be read, in the thread that called hwi_launch; the
   * last call counts. Then it is watched by ptrace, and does not start where that is forbidden. NULL: not wanted. */
  void (*at_exit)(void *context, const struct hwi_os_watched *watched, uint32_t tid);
  void *at_exit_context;
  /* Called with each warning, before the command starts. */
  void (*warn)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

enum { HWI_LAUNCH_FAILED = 125, HWI_LAUNCH_NOT_EXECUTABLE = 126, HWI_LAUNCH_NOT_FOUND = 127 };

struct hwi_launched {
  int exit_status; /* the command's (128 + N for signal N), or HWI_LAUNCH_* */
  int signal;      /* that ended the command; 0: none */
  bool started;    /* false: `error` says why not */
  char *name;      /* of the trace; malloc'd. NULL: nothing was recorded */
  enum hwi_obstacle obstacle;
  struct hwi_monitor_outcome outcome;
  struct hwi_error error; /* why it did not start */
};

/* Runs `command`, which is ended by NULL and has at least one word. Changes the caller's signal mask, signal
 * dispositions and niceness. */
void hwi_launch(const struct hwi_launch_options *options, char **command, struct hwi_launched *launched);
void hwi_launched_release(struct hwi_launched *launched);

#endif
