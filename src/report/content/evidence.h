/* evidence.h - how complete a recording is: what it has, what it lost and what it could not see */
#ifndef HWI_REPORT_CONTENT_EVIDENCE_H
#define HWI_REPORT_CONTENT_EVIDENCE_H

#include "profile/profile.h"

/* Sums over the images of a profile. */
struct hwi_evidence {
  uint64_t events;                                /* calls recorded */
  uint64_t lost_events, lost_by_cause[HW_LOSSES]; /* the latter by enum hw_loss */
  uint64_t audited_stacks, audit_differences;
  uint64_t truncated_stacks;  /* deeper than the limit */
  uint64_t unfinished_stacks; /* which end before the outermost frame */
  uint64_t node_limit_hits;
  uint64_t children_unseen;
  uint64_t unreadable_images; /* traces next to the run's that are damaged, or of another run */
  uint64_t boot_blocks;       /* allocated before libc was ready: they have no stack */
  uint64_t damaged_chunks, missing_chunks;
  uint64_t dropped_until_ns; /* see hwi_dropped_until_ns */
  bool peak_is_of_kept;      /* the peak of several images, of the events that were not dropped */
};

struct hwi_evidence hwi_evidence_of(const struct hwi_profile *profile);

/* Return the name of a cause in JSON, and the words that follow a number of lost events: "in handlers that ...". Neither
 * is ever NULL. */
const char *hwi_loss_key(enum hw_loss loss);
const char *hwi_loss_text(enum hw_loss loss);

/* A program that a recorded process or its child executed, and that was not recorded. children_unseen counts these
 * and the processes of which nothing else is known. */
struct hwi_unseen_program {
  const struct hwi_image *by;        /* the process */
  uint32_t pid;                      /* of the program */
  bool is_child;                     /* else it replaced `by` (exec) */
  bool is_counted;                   /* `by` counted it already, so it is not counted again */
  char name[HW_EXEC_NAME_BYTES + 1]; /* truncated at this size */
};

void hwi_evidence_unseen_programs(const struct hwi_profile *profile,
                                  void (*take)(void *context, const struct hwi_unseen_program *program), void *context);

/* An interval in which nothing was recorded, or which is after what was saved. */
struct hwi_silence {
  uint64_t from_ns, to_ns; /* UINT64_MAX: until the end */
  const char *why;         /* "paused", "size limit reached", ... */
};

/* Calls `take` for each silence of an image, in the order of time. */
void hwi_evidence_silences(const struct hwi_trace_info *info,
                           void (*take)(void *context, const struct hwi_silence *silence), void *context);

/* Returns the state of a trace (HW_STATE_*) that explains such a silence; 0 if none does, as for a pause. `why` may
 * be NULL. */
uint32_t hwi_evidence_state_of(const char *why);

/* Returns the image that a text names at its head: the first one that is counted, which started the others; NULL if
 * there is none. *counted gets the number of images counted. */
const struct hwi_image *hwi_head_image(const struct hwi_profile *profile, uint32_t *counted);

/* Returns the counted image that allocated most; NULL if there is none. *counted, if not NULL, gets the number of
 * images counted. */
const struct hwi_image *hwi_largest_image(const struct hwi_profile *profile, uint32_t *counted);

/* The process images of a run that are not counted. */
struct hwi_other_images {
  uint32_t count;
  uint64_t bytes, all_bytes; /* that they and all images allocated; bytes: 0 if it is not known */
};

struct hwi_other_images hwi_other_images(const struct hwi_profile *profile);

/* Returns the time, since the run's start, before which only the events of what lives on are there, and totals (record
 * --keep); 0: all events are there. */
uint64_t hwi_dropped_until_ns(const struct hwi_profile *profile);

/* Returns 0 if all events are there; else an error that `what` needs them. */
int hwi_need_all_events(const struct hwi_profile *profile, const char *what, struct hwi_error *error);

/* Returns the first moment that is not fully known, since recording was paused or stopped, or continues after what
 * is there; UINT64_MAX if there is none. *why gets a few words, *frees whether at least all frees are known. */
uint64_t hwi_moment_of_doubt(const struct hwi_profile *profile, const char **why, bool *frees);

#endif
