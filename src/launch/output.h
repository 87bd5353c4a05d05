/* output.h - where a recording goes: NAME, and what lies there already
 *
 * earlier    a finished trace of the same user under NAME. It is set aside before the command starts, as NAME.earlier, thrown
 *            away when the new trace has begun, and put back when none began. X is not Y: any other file is refused.
 */
#ifndef HWI_LAUNCH_OUTPUT_H
#define HWI_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct hwi_output {
  char *name;  /* absolute */
  char *aside; /* NAME.earlier; NULL: nothing was set aside */
};

/* Makes the absolute NAME from `pattern` with %p (pid), %c (command without its folder) and %%. HW_ERR_LIMIT: too long. */
int hwi_output_init(struct hwi_output *output, const char *pattern, const char *command, pid_t pid,
                    struct hwi_error *error);
/* NAME is `path`, made absolute, and can be made there. */
int hwi_output_place(struct hwi_output *output, const char *path, struct hwi_error *error);
void hwi_output_release(struct hwi_output *output);

/* NAME as the recorder's HEAPWRIGHT_OUTPUT wants it: with every % doubled. malloc'd; NULL: no memory. */
char *hwi_output_pattern(const char *name);

/* NAME can be made: its folder is there and can be written to, and nothing but an earlier trace is in its place. */
int hwi_output_check(const struct hwi_output *output, struct hwi_error *error);

/* HW_ERR_BUSY, worded: the trace at `path` is what hwi_trace_writer's `writer` writes. `advice`: what to do where that is seen. */
int hwi_output_is_written(const char *path, uint32_t writer, const char *advice, struct hwi_error *error);

int hwi_output_set_aside(struct hwi_output *output, struct hwi_error *error);
void hwi_output_discard_earlier(struct hwi_output *output);
void hwi_output_restore_earlier(struct hwi_output *output);

/* What was made at NAME comes to nothing: removes the trace and those of its children. */
void hwi_output_remove_made(const struct hwi_output *output);

/* Where the trace would lie. */
struct hwi_output_disk {
  bool is_memory;      /* tmpfs */
  uint64_t free_bytes; /* UINT64_MAX: nobody knows */
};
struct hwi_output_disk hwi_output_disk(const struct hwi_output *output);

#endif
