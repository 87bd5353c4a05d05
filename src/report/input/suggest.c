/* suggest.c - finds the known word that is most similar to a misspelt one
 *
 * Similarity is measured by the number of edits (a character inserted, removed or replaced, or two neighbours
 * swapped) that turn one word into the other: the optimal string alignment distance, by dynamic programming over
 * three rows. A word is similar enough if at most a third of its characters need an edit. A prefix ("--child" for
 * "--children") counts as one edit. The first parts of a known word that has several ("class" of "class_bytes") are compared
 * as well, and count as one edit more.
 */
#include "report/input/suggest.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { WORD_MAX = 40 };

static unsigned smaller(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

/* Sets each counts[j] to the number of edits from `a` to the first j characters of `b`. */
static void count_edits(unsigned counts[WORD_MAX + 1], const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
  unsigned rows[3][WORD_MAX + 1];
  unsigned *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_bytes; j++)
    last[j] = (unsigned)j;
  for (size_t i = 1; i <= a_bytes; i++) {
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= b_bytes; j++) {
      unsigned replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = smaller(replaced, smaller(last[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = smaller(row[j], before[j - 2] + 1);
    }
    unsigned *spare = before;
    before = last;
    last = row;
    row = spare;
  }
  memcpy(counts, last, (b_bytes + 1) * sizeof *counts);
}

static bool is_similar(unsigned edits, size_t a_bytes, size_t b_bytes)
{
  return edits <= ((a_bytes > b_bytes ? a_bytes : b_bytes) + 1) / 3;
}

static bool is_end_of_part(const char *known, size_t at)
{
  return at > 0 && (known[at] == '_' || known[at] == '-');
}

void hwi_suggestion_init(struct hwi_suggestion *suggestion, const char *word, size_t word_bytes)
{
  *suggestion = (struct hwi_suggestion){.word = word, .word_bytes = word_bytes < WORD_MAX ? word_bytes : WORD_MAX};
}

void hwi_suggestion_offer(struct hwi_suggestion *suggestion, const char *known)
{
  enum { PREFIX_MIN = 3 };
  size_t bytes = strlen(known);
  if (bytes > WORD_MAX)
    return;
  unsigned counts[WORD_MAX + 1], count = UINT_MAX;
  count_edits(counts, suggestion->word, suggestion->word_bytes, known, bytes);
  for (size_t i = 0; i <= bytes; i++)
    if ((i == bytes || is_end_of_part(known, i)) && is_similar(counts[i], suggestion->word_bytes, i))
      count = smaller(count, counts[i] + (i < bytes));
  if (suggestion->word_bytes >= PREFIX_MIN && strncmp(suggestion->word, known, suggestion->word_bytes) == 0)
    count = 1;
  if (count == UINT_MAX)
    return;
  if (!suggestion->best || count < suggestion->best_edits) {
    suggestion->best = known;
    suggestion->best_edits = count;
  }
}
