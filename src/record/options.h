/* options.h - the recorder's options, from the environment */
#ifndef HWI_RECORD_OPTIONS_H
#define HWI_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/os.h"
#include "trace/format.h"

enum { HWI_ITT_IGNORE_BYTES = 256 };

struct hwi_options {
  char output[HWI_OS_PATH_BYTES]; /* HEAPWRIGHT_OUTPUT; empty: the default place */
  char only_process[128];         /* HEAPWRIGHT_ONLY_PROCESS; empty: every image */
  uint8_t run_id[HW_ID_BYTES];    /* HEAPWRIGHT_RUN */
  bool has_run_id;
  uint32_t launcher_pid;                 /* HEAPWRIGHT_LAUNCHER, PID.START; 0: none is named */
  uint64_t launcher_start;               /* as returned by hwi_os_process_start; not 0 */
  bool is_preloaded;                     /* LD_PRELOAD names the recorder */
  bool usable;                           /* HEAPWRIGHT_USABLE */
  bool durations;                        /* HEAPWRIGHT_DURATIONS, without HEAPWRIGHT_SAMPLE */
  uint64_t sample_bytes;                 /* HEAPWRIGHT_SAMPLE; 0: every call is an event */
  bool paused;                           /* HEAPWRIGHT_PAUSED */
  bool children;                         /* HEAPWRIGHT_CHILDREN */
  bool redirect;                         /* HEAPWRIGHT_REDIRECT */
  bool check;                            /* HEAPWRIGHT_CHECK */
  bool itt_verbose;                      /* HEAPWRIGHT_ITT_VERBOSE */
  bool trap;                             /* HEAPWRIGHT_TRAP */
  bool quiet;                            /* HEAPWRIGHT_QUIET */
  char itt_ignore[HWI_ITT_IGNORE_BYTES]; /* HEAPWRIGHT_ITT_IGNORE: shell patterns, separated by commas */
  uint32_t depth;                        /* HEAPWRIGHT_DEPTH */
  uint64_t max_size;                     /* HEAPWRIGHT_MAX_SIZE; 0: the default */
  char state_home[HWI_OS_PATH_BYTES];    /* XDG_STATE_HOME, else HOME/.local/state; empty: neither */
  size_t home_bytes;                     /* the length of its first part, HOME, which must exist */
  char temporary[HWI_OS_PATH_BYTES];     /* TMPDIR, else /tmp */
};

/* Reads the options from the environment that the image was started with (libc's own may not exist yet). */
void hwi_options_read(struct hwi_options *options);

/* Calls `each` with every NAME=VALUE of that environment that affects memory. */
void hwi_options_each_relevant(void (*each)(void *context, const char *text), void *context);

/* Returns whether `text` matches the shell pattern, in which only * and ? are special. */
bool hwi_options_match(const char *pattern, const char *text);

/* Returns whether `text` matches one of the patterns in a list separated by commas. */
bool hwi_options_list_matches(const char *list, const char *text);

#endif
