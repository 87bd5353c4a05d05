/* analyst.h - a process that follows a run, and writes documents of what the run holds now
 *
 * The analyst forks for each document: the child turns the counters into a profile and the profile into the document,
 * which ends it, while the analyst goes on counting. So every output of the tools is available at any moment, and costs
 * the analyst a fork.
 */
#ifndef HWI_LIVE_ANALYST_H
#define HWI_LIVE_ANALYST_H

#include <sys/types.h>

#include "live/endpoint.h"
#include "live/rows.h"
#include "profile/follow.h"

enum hwi_live_form {
  HWI_LIVE_NONE = 0,
  HWI_LIVE_STATE, /* no document: the state alone */
  HWI_LIVE_DATA,  /* the page's document */
  HWI_LIVE_HTML,  /* the report as one self-contained page */
  HWI_LIVE_JSON,  /* as report --json */
  HWI_LIVE_ROWS,  /* a terminal's document: see rows.h */
  HWI_LIVE_CSV,   /* the table of stacks */
  HWI_LIVE_HEAP,  /* pprof's profile: see pprof.h */
  HWI_LIVE_ALLOCS,
  HWI_LIVE_NOW,     /* {"ns":N}: this moment; documents will know what was since then */
  HWI_LIVE_SAVED,   /* where the recording up to now was saved: see saving.h */
  HWI_LIVE_PROCESS, /* no document, but the socket of an analyst that follows one process alone */
  HWI_LIVE_PART,    /* of an endpoint's answer */
  HWI_LIVE_FORMS
};

/* What is followed. All pointers must outlive the analyst's start. */
struct hwi_live_run {
  const char *path;
  struct hwi_profile_options options;
  struct hwi_report_options report;
  struct hwi_names names;
  struct hwi_replayer replayer;
  const char *name; /* see struct hwi_live_part_source; NULL: no endpoints are served, but a page */
  bool is_usual;    /* all processes, malloc, and names as they are usually looked up */
};

struct hwi_analyst {
  pid_t pid;  /* 0: not a child of this process, see resident.h */
  int socket; /* readable when there is an answer */
};

struct hwi_live_answer {
  enum hwi_live_form form;
  int fd; /* the document, of `bytes`; the caller closes it. -1: there is none, see `error` */
  uint64_t bytes;
  enum hwi_follow_state state; /* when it was made */
  uint64_t behind_ns;          /* what was counted then was this old */
  char error[HWI_ERROR_TEXT_BYTES];
};

/* Starts following, in a process that has no open files of this one: if the run is usual and its recording has a resident
 * analyst, in a copy of that; else in a process that reads the run from its begin. Returns 0 or a negative status. */
int hwi_analyst_start(struct hwi_analyst *analyst, const struct hwi_live_run *run, struct hwi_error *error);

/* Asks for a document; its answer comes later. One question at a time. `complete`: it is to have all that is certain by
 * now, however long that takes; otherwise an analyst that lags behind answers with what it has. Returns false if the
 * analyst is gone. */
bool hwi_analyst_ask(const struct hwi_analyst *analyst, enum hwi_live_form form, bool complete);

/* The same for HWI_LIVE_ROWS. */
bool hwi_analyst_ask_rows(const struct hwi_analyst *analyst, const struct hwi_live_question *rows, bool complete);

/* The same for HWI_LIVE_PART. */
bool hwi_analyst_ask_part(const struct hwi_analyst *analyst, const struct hwi_live_query *query);

/* Asks for an analyst that follows one process of the run alone: its socket comes as the answer's descriptor, and closing
 * that ends it. The same. */
bool hwi_analyst_ask_for_process(const struct hwi_analyst *analyst, uint32_t pid);

/* Takes an answer; waits for it. Returns false if the analyst is gone. */
bool hwi_analyst_take(const struct hwi_analyst *analyst, struct hwi_live_answer *answer);

void hwi_analyst_stop(struct hwi_analyst *analyst);

/* The same at once, also if it is at work. */
void hwi_analyst_end(struct hwi_analyst *analyst);

#endif
