/* saver.h - saves the recording so far when a limit is crossed, in a process that the monitor does not wait for
 *
 * Traces are saved one after the other. Rules that are crossed meanwhile share the next one. What was saved is in memory
 * that the launcher shares, so that it is known even if the kernel kills the monitor when memory runs out.
 */
#ifndef HWI_LAUNCH_FOLLOW_SAVER_H
#define HWI_LAUNCH_FOLLOW_SAVER_H

#include <sys/types.h>

#include "launch/follow/save_rules.h"

enum hwi_save_state { HWI_SAVE_BEGUN, HWI_SAVE_DONE, HWI_SAVE_FAILED };

/* A saved trace, and why it was saved. */
struct hwi_save {
  uint32_t number; /* of its name: see hwi_saver_name. 0: none was found */
  enum hwi_save_state state;
  pid_t pid; /* of the process that saves, which may outlive the monitor */
  struct hwi_save_cause {
    bool is_given; /* this rule was crossed */
    uint32_t pid;
    uint64_t bytes; /* the figure */
  } causes[HWI_SAVE_RULES_MAX];
  uint64_t until_ns, packed_bytes;
  struct hwi_error error; /* if it failed */
};

/* What was saved in a run. All zero at first. */
struct hwi_saves {
  struct hwi_save list[HWI_SAVES_MAX];
  uint32_t count;
  uint32_t crossings[HWI_SAVE_RULES_MAX]; /* of each rule; those of several processes may share a trace */
  uint32_t traces[HWI_SAVE_RULES_MAX];    /* that were saved for each rule */
  uint32_t blind_pid;                     /* a process whose live bytes could not be followed; 0: none */
};

struct hwi_saver {
  const char *path; /* of the run */
  const struct hwi_save_rule *rules;
  size_t rule_count;
  struct hwi_saves *saves;
  struct hwi_save_cause pending[HWI_SAVE_RULES_MAX];
  bool has_pending;
  pid_t pid; /* of the process that saves; 0: none */
};

/* Judges a process by all rules. `watches` is an array with one for each rule. */
void hwi_saver_look(struct hwi_saver *saver, struct hwi_save_watch *watches, uint32_t pid,
                    const struct hwi_save_figures *figures);

/* Begins to save if a limit was crossed and nothing is being saved. */
void hwi_saver_work(struct hwi_saver *saver);

/* Waits until what has begun is saved, and begins no more. If `interrupted` returns true, what is not complete is
 * dropped. */
void hwi_saver_finish(struct hwi_saver *saver, bool (*interrupted)(void));

/* Returns whether a process still saves. */
bool hwi_saves_go_on(const struct hwi_saves *saves);

/* Returns the name of the saved trace with a number: NAME.saved-1.hwt of NAME.hwt. It is malloc'd; NULL: no memory. */
char *hwi_saver_name(const char *path, uint32_t number);

#endif
