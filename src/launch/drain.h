/* drain.h - packs one raw trace while its program writes it
 *
 * Retired chunks are packed into sections behind the window of the same file; when these are written, the chunks' blocks are
 * given back to the file system. Killed at any instruction, this leaves each chunk in one place or in both.
 */
#ifndef HWI_LAUNCH_DRAIN_H
#define HWI_LAUNCH_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/backlog.h"
#include "launch/follow.h"
#include "launch/tool_log.h"
#include "trace/format.h"
#include "trace/pack.h"

struct hwi_drain {
  char *path; /* owned */
  int fd;
  uint64_t inode;
  struct hw_trace_header header; /* as last read */
  uint32_t pid;                  /* of its process here, whatever it is in there; 0: it is gone */
  struct hwi_tool_log log;
  uint64_t append_off; /* where the next section goes */
  struct hwi_backlog backlog;
  struct hwi_follow *follow; /* NULL: nobody wants the counts */
  uint8_t *plain;            /* chunks on their way into a section */
  size_t plain_capacity;
  bool is_begun; /* somebody packed a part of it before: the rest waits until it is compacted, and is counted then */
  bool stopped;  /* nothing more is packed here: see `os_error` */
  int os_error;
};

/* Takes `path` (malloc'd) and opens the trace. HW_ERR_NOT_A_TRACE: not (yet) one of this run; HW_ERR_IO: errno is set. `path` is
 * the caller's again where it fails. */
int hwi_drain_open(struct hwi_drain *drain, char *path, const uint8_t run_id[HW_ID_BYTES]);
void hwi_drain_close(struct hwi_drain *drain);

/* How long a drain may work at once. */
struct hwi_turn {
  uint64_t end_ns;           /* of hwi_monotonic_ns */
  bool (*interrupted)(void); /* true ends it, too */
};

/* Counts, and packs what fills sections, until that is done or the turn is over, which is looked at between pieces of some
 * milliseconds: one is done in any case. *more: the next turn goes on where this one ended. 0 or HW_ERR_MEMORY; where the disk
 * is full or refuses, the drain stops and says so in itself. */
int hwi_drain_work(struct hwi_drain *drain, struct hwi_packer *packer, const struct hwi_turn *turn, bool *more);

/* From now on the trace is counted, too. */
void hwi_drain_count(struct hwi_drain *drain);

/* Nobody writes the trace any more: counts the rest, and packs it where that is one reading, with the packer's effort. */
void hwi_drain_count_rest(struct hwi_drain *drain, struct hwi_packer *packer);

#endif
