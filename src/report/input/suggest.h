/* suggest.h - finds the known word that is most similar to a misspelt one */
#ifndef HWI_REPORT_INPUT_SUGGEST_H
#define HWI_REPORT_INPUT_SUGGEST_H

#include <stddef.h>

struct hwi_suggestion {
  const char *word; /* as typed; its first 40 bytes are compared */
  size_t word_bytes;
  const char *best; /* NULL while no word is similar enough */
  unsigned best_edits;
};

void hwi_suggestion_init(struct hwi_suggestion *suggestion, const char *word, size_t word_bytes);

/* Keeps `known` if it is more similar than the words offered before. It must outlive the suggestion. */
void hwi_suggestion_offer(struct hwi_suggestion *suggestion, const char *known);

#endif
