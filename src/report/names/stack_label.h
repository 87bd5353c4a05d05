/* stack_label.h - a stack in a few words: "TrackStore::add (tracks.cpp:88)"; with callers, "TrackStore::add
 * (tracks.cpp:88) < main (main.cpp:12)"
 */
#ifndef HWI_REPORT_NAMES_STACK_LABEL_H
#define HWI_REPORT_NAMES_STACK_LABEL_H

#include "report/names/named_frames.h"
#include "report/words/line.h"

/* Shows the frame that requested the stack's memory, and `callers` of its callers; of more than three only the last.
 * If it requested the memory through a container or the like, `via` adds its name: "Index::add (index.cpp:60) via
 * std::vector<…>::push_back". */
struct hwi_stack_label {
  uint32_t stack, callers;
  size_t cells; /* at most */
  bool via;
  bool is_named; /* if the frame has no name, show its nearest caller that has one instead */
};

/* The data that the functions need to make the words. */
struct hwi_stack_label_words {
  struct hwi_named_frames *frames;
  const char *ellipsis; /* "…" or "..." */
};

void hwi_stack_label_add(struct hwi_line *line, const struct hwi_stack_label_words *words,
                         const struct hwi_stack_label *label);

/* Makes the words of `labels` distinct: those with the same words get `via`, and up to three callers, or the caller
 * further out in which they differ ("f < … < main"). Returns false if there is no memory. */
bool hwi_stack_labels_distinguish(const struct hwi_stack_label_words *words, struct hwi_stack_label *labels,
                                  uint32_t count);

#endif
