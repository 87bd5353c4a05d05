/* monitor.h - follows the traces of a run while it goes on: drains them, samples memory, ends a limited recording in
 * time
 *
 * NAME       the run's first trace; those of later images are in NAME.children/. Both appear while the command runs.
 */
#ifndef HWI_LAUNCH_FOLLOW_MONITOR_H
#define HWI_LAUNCH_FOLLOW_MONITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/follow/drain.h"
#include "launch/follow/samples.h"
#include "launch/follow/saver.h"
#include "launch/follow/unseen_processes.h"
#include "trace/store.h"

struct hwi_monitor_options {
  const char *name; /* NAME, absolute */
  uint8_t run_id[HW_ID_BYTES];
  uint32_t pid;         /* of the command */
  uint64_t duration_ns; /* pause after this time; 0: never */
  struct hwi_keep keep; /* of each trace, if `pack` */
  bool all_images;      /* every process that the run starts is to be recorded */
  bool pack;
  bool count; /* the totals of the image that allocated most are wanted */
  const struct hwi_save_rule *save_rules;
  size_t save_rule_count;
  /* Once the traces are long: is called in a process of its own, with `name`, to follow them for viewers to come. NULL: not
   * wanted. For traces that are kept whole. */
  void (*be_resident)(const char *name);
  struct hwi_saves *saves; /* what was saved, in memory that outlives the monitor; NULL: there are no rules */
};

struct hwi_watched {
  struct hwi_drain drain;
  struct hwi_samples samples;
  uint64_t next_look_ns; /* time of the next look at its process */
  uint64_t next_pack_ns;
  uint64_t next_anchor_ns;
  uint64_t stack_start; /* of the process, as last seen; 0: unknown */
  bool is_over;         /* its image is gone */
  bool is_replaced;     /* by another image, through exec in the same process */
  struct hwi_save_watch save_watches[HWI_SAVE_RULES_MAX];
};

enum { HWI_UNSEEN_NAMED = 4 };

/* Result of a monitor. */
struct hwi_monitor_outcome {
  uint32_t trace_count;     /* seen */
  uint32_t still_written;   /* left raw, since their processes still run */
  uint32_t not_packed;      /* left raw, since packing failed */
  uint32_t children_unseen; /* processes that ran without being recorded */
  uint32_t unseen_named;    /* number of `unseen_names` */
  char unseen_names[HWI_UNSEEN_NAMED][HW_EXEC_NAME_BYTES + 1];
  uint32_t silent_count; /* recorders that stopped before their processes ended */
  uint32_t silent_state; /* state of the first of these: HW_STATE_STOPPED_* */
  uint64_t event_count;  /* in the packed traces */
  uint64_t packed_bytes;
  uint64_t oom_kills;       /* in the command's control group, since it began */
  uint64_t group_limit;     /* of the memory of that group; 0: none */
  bool has_counts;          /* false if counts are not wanted */
  bool was_interrupted;     /* the watching process did not run for the whole time */
  struct hwi_counts counts; /* of the image that allocated most */
  struct hwi_error error;   /* of the first failure (not_packed > 0) */
  struct hwi_saves saves;   /* what was saved because a limit was crossed */
};

struct hwi_monitor {
  struct hwi_monitor_options options;
  struct hwi_packer *packer;  /* NULL: nothing is packed */
  struct hwi_watched *traces; /* open traces */
  size_t count, capacity;
  struct hwi_store names;    /* names of the files in NAME.children that were taken */
  char *folder;              /* NAME.children */
  int64_t folder_changed_ns; /* modification time of the folder when it was last read */
  struct hwi_unseen unseen;
  struct hwi_saver saver;
  uint64_t next_find_ns; /* time of the next search for new traces */
  uint64_t began_ns;     /* when NAME appeared; 0: not yet */
  uint64_t next_slow_ns; /* time of the work that is done once a second */
  bool paused_by_duration;
  pid_t resident;            /* see resident_process.h. 0: not started; -1: it cannot be */
  uint64_t ended_bytes;      /* written into traces that are closed */
  uint64_t counted_began_ns; /* start of the image whose counts the outcome has */
  struct hwi_monitor_outcome outcome;
};

/* Returns 0 or HW_ERR_MEMORY. */
int hwi_monitor_init(struct hwi_monitor *monitor, const struct hwi_monitor_options *options);
void hwi_monitor_release(struct hwi_monitor *monitor);

/* Does one round: looks at the processes and packs, as far as either is due. `interrupted` is called between pieces of
 * work; if it returns true, the round ends early. Returns when the next round is due (hwi_monotonic_ns), or 0: at
 * once. */
uint64_t hwi_monitor_poll(struct hwi_monitor *monitor, bool (*interrupted)(void));

struct hwi_monitor_end {
  int wait_status;
  uint64_t rss_peak_bytes;
  uint64_t oom_kills;   /* in the launcher's control group while the command ran */
  uint64_t group_limit; /* of the memory of that group; 0: none */
};

/* To be called when the command has ended with the result of wait4. Writes that into its traces, and compacts the
 * traces that no process writes any more. */
void hwi_monitor_finish(struct hwi_monitor *monitor, const struct hwi_monitor_end *end, bool (*interrupted)(void));

#endif
