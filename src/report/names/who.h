/* who.h - a stack in a few words: "TrackStore::add (tracks.cpp:88)", with callers "TrackStore::add (tracks.cpp:88) < main
 * (main.cpp:12)"
 */
#ifndef HWI_REPORT_NAMES_WHO_H
#define HWI_REPORT_NAMES_WHO_H

#include "report/names/named_frames.h"
#include "report/text/line.h"

/* The frame that wanted the stack's memory, and so many of its callers; of more than three only the last. Where it called a container
 * or the like for it, `via` adds which: "Index::add (index.cpp:60) via std::vector<…>::push_back". */
struct hwi_who {
  uint32_t stack, callers;
  size_t cells; /* at most */
  bool via;
  bool is_named; /* not the frame that wanted the memory, if it has no name, but the nearest caller that has one */
};

/* What the words are made with. */
struct hwi_who_words {
  struct hwi_named_frames *frames;
  const char *ellipsis; /* "…" or "..." */
};

void hwi_who_add(struct hwi_line *line, const struct hwi_who_words *words, const struct hwi_who *who);

/* Gives those of `whos` that would have the same words `via`, and as many callers as it takes to tell them apart: three, or the one
 * further out in which they differ ("f < … < main"). False: no memory. */
bool hwi_whos_tell_apart(const struct hwi_who_words *words, struct hwi_who *whos, uint32_t count);

#endif
