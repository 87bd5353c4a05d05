/* analysis.h - what an analyst does: it counts what a run does, and answers questions about that
 *
 * It is one process's, and used by one thread at a time.
 */
#ifndef HWI_LIVE_ANALYSIS_H
#define HWI_LIVE_ANALYSIS_H

#include <sys/types.h>

#include "live/analyst.h"
#include "live/messages.h"

struct hwi_analysis {
  const struct hwi_live_run *run;
  uint64_t events_a_look;
  uint64_t delay_ns; /* see hwi_follow_delay */
  int socket;
  struct hwi_follow *follow; /* NULL: the process that is to be followed has not begun */
  int state;                 /* of the last look: enum hwi_follow_state, or a negative status */
  struct hwi_follow *fresh;  /* follows again from the beginning, and then replaces the other. NULL: none */
  uint64_t began_ms;         /* of the analyst */
  uint64_t fresh_began_ms, next_fresh_ms;
  bool has_failed;   /* the last attempt to do that */
  uint32_t recounts; /* attempts that have ended */
  struct hwi_error error;
  struct hwi_live_ask question; /* form 0: none */
  pid_t writer;                 /* of the answer; 0: none */
  struct hwi_live_reply reply;  /* what the answer says of the moment when its writer began */
  int document;
  int os_error;          /* why there is no writer; 0: there was one */
  uint64_t next_look_ms; /* before the begin, and after the end: a process of the run may still begin its trace */
  uint32_t named;        /* frames whose names were looked up */
  bool needs_names;      /* documents need them */
};

/* Begins to follow `run`, which must outlive it; nothing is read yet. */
void hwi_analysis_begin(struct hwi_analysis *analysis, const struct hwi_live_run *run);

/* Counts what was written since, but not much more than `events_a_look` events. */
void hwi_analysis_look(struct hwi_analysis *analysis);

/* Answers the questions that come from the socket, and counts meanwhile, until the other side closes it. */
void hwi_analysis_serve(struct hwi_analysis *analysis, int socket);

/* After a fork: the copy goes on for another viewer, whose `run` is the same but for its names. */
void hwi_analysis_hand_over(struct hwi_analysis *analysis, const struct hwi_live_run *run);

/* All of that, in a process that is made for it. */
_Noreturn void hwi_analysis_run(const struct hwi_live_run *run, int socket);

#endif
