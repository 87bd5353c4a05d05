/* output.h - the output path NAME of a recording, and what exists there already
 *
 * earlier    a finished trace of the same user under NAME. It is renamed to NAME.earlier before the command starts,
 *            deleted when the new trace has begun, and renamed back if no trace began. Any other file at NAME is an
 *            error.
 */
#ifndef HWI_LAUNCH_OUTPUT_H
#define HWI_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "platform/os_tools.h"

struct hwi_output {
  char *name;  /* absolute */
  char *aside; /* NAME.earlier; NULL: nothing was set aside */
};

/* Makes the absolute NAME from `pattern` with %p (pid), %c (command without its folder) and %%. Returns 0, HW_ERR_LIMIT
 * if it is too long, or another negative status. */
int hwi_output_init(struct hwi_output *output, const char *pattern, const char *command, pid_t pid,
                    struct hwi_error *error);
/* Sets NAME to the absolute form of `path`, and checks that it can be made there. Returns 0 or a negative status. */
int hwi_output_place(struct hwi_output *output, const char *path, struct hwi_error *error);
void hwi_output_release(struct hwi_output *output);

/* Returns NAME with every % doubled, as the recorder's HEAPWRIGHT_OUTPUT needs it. It is malloc'd; NULL if there is no
 * memory. */
char *hwi_output_pattern(const char *name);

/* Checks that NAME can be made: its folder exists and is writable, and there is nothing at NAME but perhaps an earlier
 * trace. Returns 0 or a negative status. */
int hwi_output_check(const struct hwi_output *output, struct hwi_error *error);

/* Sets *error to say that the trace at `path` is still being written, and returns HW_ERR_BUSY. `writer` is the result
 * of hwi_trace_writer. `advice` tells the user what to do if the writer is known. */
int hwi_output_is_written(const char *path, uint32_t writer, const char *advice, struct hwi_error *error);

/* Renames an earlier trace before the command starts, deletes it, or renames it back. The first returns 0 or a negative
 * status. */
int hwi_output_set_aside(struct hwi_output *output, struct hwi_error *error);
void hwi_output_discard_earlier(struct hwi_output *output);
void hwi_output_restore_earlier(struct hwi_output *output);

/* Removes the trace that was made at NAME and those of its children, because they are not wanted. */
void hwi_output_remove_made(const struct hwi_output *output);

/* Returns what is known of the file system on which the trace would be. */
struct hwi_os_disk hwi_output_disk(const struct hwi_output *output);

#endif
