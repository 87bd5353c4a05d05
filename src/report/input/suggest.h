/* suggest.h - the known word that a misspelt one was probably meant to be */
#ifndef HWI_REPORT_INPUT_SUGGEST_H
#define HWI_REPORT_INPUT_SUGGEST_H

#include <stddef.h>

struct hwi_suggestion {
  const char *word; /* what was typed; the first 40 bytes of it count */
  size_t word_bytes;
  const char *best; /* NULL while nothing is near enough */
  unsigned best_edits;
};

void hwi_suggestion_init(struct hwi_suggestion *suggestion, const char *word, size_t word_bytes);

/* Keeps `known` where it is nearer than what was offered before. It must outlive the suggestion. */
void hwi_suggestion_offer(struct hwi_suggestion *suggestion, const char *known);

#endif
