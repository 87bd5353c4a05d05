/* fleet.h - the runs whose figures a server gives to other programs, each with an analyst of its own
 *
 * They are the recordings of a folder, all recordings of this user, or one. New ones are found while they go on. One that has
 * ended is kept for a while, so that its last figures are seen.
 */
#ifndef HWI_LIVE_FLEET_FLEET_H
#define HWI_LIVE_FLEET_FLEET_H

#include "live/analyst.h"
#include "trace/format.h"

enum { HWI_FLEET_RUNS_MAX = 1024 };

struct hwi_fleet_run {
  char *path;
  const char *name; /* the part of the path below the folder that is served; else the path */
  uint8_t id[HW_ID_BYTES];
  struct hwi_analyst analyst; /* its socket is -1 while there is none */
  uint64_t began_ms;          /* when its analyst was started */
  uint64_t heard_ms;          /* of the analyst's last answer */
  uint64_t ended_ms;          /* when that was seen; 0: it goes on */
  uint64_t asked_ms;          /* since when the analyst is at work; 0: it is not */
  bool is_seen;               /* by the look that goes on */
  uint32_t users;             /* jobs that name it; it stays as long */
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

/* Looks for runs that have begun, starts their analysts, and drops those that ended some minutes ago. To be called several
 * times a second: it looks when it is time to. */
void hwi_fleet_look(struct hwi_fleet *fleet);

/* Takes an answer of a run's analyst. Returns false if there is none, since the analyst is gone; it will be started again. */
bool hwi_fleet_take(struct hwi_fleet_run *run, struct hwi_live_answer *answer);

/* Ends the analysts. */
void hwi_fleet_release(struct hwi_fleet *fleet);

#endif
