/* fleet.h - the runs whose figures a server gives to other programs
 *
 * They are the recordings of a folder, all recordings of this user, or one. New ones are found while they go on. One that has
 * ended is kept for a while, so that its last figures are seen.
 *
 * A run that goes on has an analyst. A few analysts begin at a time, so that the first ones have figures soon. The answers of a
 * run that has ended do not change: they are kept, and its analyst ends.
 */
#ifndef HWI_LIVE_FLEET_FLEET_H
#define HWI_LIVE_FLEET_FLEET_H

#include "live/analyst.h"
#include "trace/format.h"

enum {
  HWI_FLEET_RUNS_MAX = 1024,
  HWI_FLEET_KEPT_MAX = 3,      /* answers of one run: /metrics, and two profiles */
  HWI_FLEET_PATIENCE_MS = 8000 /* an analyst that works for so long keeps no other one waiting */
};

struct hwi_fleet_kept {
  struct hwi_live_query query;
  struct hwi_live_answer answer;
};

struct hwi_fleet_run {
  char *path;
  const char *name; /* the part of the path below the folder that is served; else the path */
  uint8_t id[HW_ID_BYTES];
  struct hwi_analyst analyst; /* its socket is -1 while there is none */
  uint64_t began_ms;          /* when its analyst was started; 0: it is to be started, if it is needed */
  bool has_read;              /* the analyst has answered, so it has read what was written when it was started */
  bool is_needed;             /* also if the run has ended: for an answer that is not kept */
  uint64_t heard_ms;          /* of the analyst's last answer */
  uint64_t ended_ms;          /* when that was seen; 0: it goes on */
  uint64_t asked_ms;          /* since when the analyst is at work; 0: it is not */
  struct hwi_live_query asked;
  struct hwi_fleet_kept kept[HWI_FLEET_KEPT_MAX]; /* of a run that has ended: the first `kept_count` */
  uint32_t kept_count, next_kept;
  uint64_t asked_images, kept_images; /* which change when an image of the run begins, as they were then */
  bool is_seen;                       /* by the look that goes on */
  uint32_t users;                     /* jobs that name it; it stays as long */
};

struct hwi_fleet {
  /* What is served: the recordings in a folder; one recording; or, if both are NULL, all of this user. */
  const char *folder, *path;
  /* Starts following a run. Returns 0 or a negative status. */
  int (*start)(void *context, const char *path, const char *name, struct hwi_analyst *analyst, struct hwi_error *error);
  void *context;
  struct hwi_fleet_run **runs;
  size_t count, room, most; /* most: at most HWI_FLEET_RUNS_MAX */
  uint32_t left_out;        /* recordings beyond `most` */
  uint64_t next_look_ms;
  uint64_t *old; /* files of the folder that need no second look: recordings that have ended, and copies */
  size_t old_count, old_sorted, old_room;
};

/* Looks for runs that have begun, and drops those that ended some minutes ago, when it is time to; and starts analysts. To be
 * called several times a second. */
void hwi_fleet_look(struct hwi_fleet *fleet);

/* Asks a run's analyst, which is not at work, for a part; or, if `query` is NULL, whether the run goes on. Returns false if it is
 * gone. */
bool hwi_fleet_ask(struct hwi_fleet_run *run, const struct hwi_live_query *query);

/* Takes an answer of a run's analyst. Returns false if there is none, since the analyst is gone; it will be started again. */
bool hwi_fleet_take(struct hwi_fleet_run *run, struct hwi_live_answer *answer);

/* Returns whether the answer is kept; *answer is then the caller's. Otherwise the run will have an analyst. */
bool hwi_fleet_find_kept(struct hwi_fleet_run *run, const struct hwi_live_query *query, struct hwi_live_answer *answer);

/* Returns whether the run's analyst has been at work for long. */
bool hwi_fleet_is_late(const struct hwi_fleet_run *run);

/* Ends the analysts. */
void hwi_fleet_release(struct hwi_fleet *fleet);

#endif
