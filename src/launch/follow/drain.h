/* drain.h - packs one raw trace while its program writes it
 *
 * Retired chunks are packed into sections, which are appended to the same file after the window. When a section is
 * written, the blocks of its chunks are given back to the file system. If the drain is killed at any instruction, each
 * chunk is still in one of the two places, or in both.
 */
#ifndef HWI_LAUNCH_FOLLOW_DRAIN_H
#define HWI_LAUNCH_FOLLOW_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/follow/backlog.h"
#include "launch/follow/follower.h"
#include "launch/follow/ring.h"
#include "launch/tool_log.h"
#include "trace/format.h"
#include "trace/pack/pack.h"

struct hwi_drain {
  char *path; /* owned */
  int fd;
  uint64_t inode;
  struct hw_trace_header header; /* as last read */
  uint32_t pid;                  /* of the process, in our PID namespace; 0: it is gone */
  struct hwi_tool_log log;
  uint64_t append_off; /* where the next section goes */
  struct hwi_backlog backlog;
  struct hwi_follower *follower; /* NULL: counts are not wanted */
  struct hwi_keep keep;
  struct hwi_ring ring;
  uint8_t *plain; /* buffer for the chunks of a section */
  size_t plain_capacity;
  /* Another packer packed a part: the rest is packed and counted when the file is compacted. */
  bool is_packed_by_other;
  bool stopped; /* no more is packed here: see `os_error` */
  int os_error;
};

/* Opens the trace at `path`, of which so much is kept, and takes ownership of `path` (malloc'd). Returns 0; HW_ERR_NOT_A_TRACE if it is not, or
 * not yet, a trace of this run; HW_ERR_IO with errno set. On failure the caller still owns `path`. */
int hwi_drain_open(struct hwi_drain *drain, char *path, const uint8_t run_id[HW_ID_BYTES], const struct hwi_keep *keep);
void hwi_drain_close(struct hwi_drain *drain);

/* How long one call may work. */
struct hwi_turn {
  uint64_t end_ns;           /* on the clock of hwi_monotonic_ns */
  bool (*interrupted)(void); /* if it returns true, the turn ends */
};

/* Counts events, and packs chunks that fill sections, until all is done or the turn is over. The end of the turn is
 * checked between pieces of a few milliseconds; at least one piece is done. *more is set if the next turn has to
 * continue. Returns 0 or HW_ERR_MEMORY. If the disk is full or refuses the write, the drain stops and sets `stopped`
 * and `os_error`. */
int hwi_drain_work(struct hwi_drain *drain, struct hwi_packer *packer, const struct hwi_turn *turn, bool *more);

/* From now on the trace is also counted. */
void hwi_drain_begin_counting(struct hwi_drain *drain);

/* To be called when no process writes the trace any more. Counts the rest, and also packs it, with the packer's effort,
 * if both can be done in one reading. */
void hwi_drain_count_rest(struct hwi_drain *drain, struct hwi_packer *packer);

/* To be called after that: drops what need not be kept. */
void hwi_drain_end_ring(struct hwi_drain *drain, struct hwi_packer *packer);

#endif
