/* source.h - the newest documents of a run, or of one of its processes, which an analyst makes
 */
#ifndef HWI_LIVE_SOURCE_H
#define HWI_LIVE_SOURCE_H

#include "live/analyst.h"

/* The newest document of a form. */
struct hwi_live_document {
  int fd; /* -1: none, see `error` */
  uint64_t bytes, number, made_ms, behind_ms;
  enum hwi_follow_state state;
  char error[HWI_ERROR_TEXT_BYTES];
};

struct hwi_live_source {
  bool is_used;
  uint32_t pid;               /* 0: all processes of the run */
  struct hwi_analyst analyst; /* its socket is -1 until there is one */
  struct hwi_live_document documents[HWI_LIVE_FORMS];
  bool is_asked;                      /* the analyst works on a document */
  uint64_t requested_ms, answered_ms; /* the last request; the analyst's last answer; 0: none yet */
};

/* Begins with no documents. `analyst`: NULL if there is none yet. */
void hwi_live_source_begin(struct hwi_live_source *source, uint32_t pid, const struct hwi_analyst *analyst);

/* Ends the analyst, unless it is the one that hwi_live_source_begin was given. Does nothing if the source is not used. */
void hwi_live_source_end(struct hwi_live_source *source);

/* Stores a document that did not come from the analyst. */
void hwi_live_source_store_document(struct hwi_live_source *source, const struct hwi_live_answer *answer);

/* Stores an answer of the analyst. */
void hwi_live_source_store(struct hwi_live_source *source, const struct hwi_live_answer *answer);

/* There will be no more documents: each becomes this error. */
void hwi_live_source_fail(struct hwi_live_source *source, const char *why);

/* Returns whether the source's processes have ended, or cannot be followed. */
bool hwi_live_source_is_over(const struct hwi_live_source *source);

/* Returns whether the newest document of a form is later than number `after`, and not old. */
bool hwi_live_source_is_fresh(const struct hwi_live_source *source, enum hwi_live_form form, uint64_t after);

#endif
