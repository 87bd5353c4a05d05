/* fold.c - the lines that a stack becomes */
#include "report/names/fold.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_MIN = 3 }; /* a fold has at least so many consecutive frames of a library */

void hwi_folded_release(struct hwi_folded *folded)
{
  free(folded->lines);
  *folded = (struct hwi_folded){0};
}

/* Whether the frame's module is a shared library by its name, and not the program itself. */
static bool is_library(const struct hwi_named_frames *frames, uint32_t frame)
{
  const char *name = hwi_module_name(frames->profile, frames->items[frame].module);
  const char *suffix = strstr(name, ".so");
  return suffix && (suffix[3] == '\0' || suffix[3] == '.');
}

/* Returns the number of frames from `first` on in the same module. */
static uint32_t run_length(const struct hwi_named_frames *frames, uint32_t first, uint32_t last)
{
  uint32_t next = first + 1;
  while (next < last && frames->items[next].module == frames->items[first].module && frames->items[next].symbol)
    next++;
  return next - first;
}

static bool is_same_function(const struct hwi_named_frames *frames, uint32_t a, uint32_t b)
{
  const struct hwi_symbol *left = frames->items[a].symbol, *right = frames->items[b].symbol;
  return left && right && left->function && right->function && frames->items[a].module == frames->items[b].module &&
         strcmp(left->function, right->function) == 0;
}

static void add_line(struct hwi_folded *folded, const struct hwi_named_frames *frames, uint32_t first, uint32_t count,
                     bool is_fold)
{
  struct hwi_fold_line *before = folded->count > 0 ? &folded->lines[folded->count - 1] : NULL;
  if (is_fold && before && before->folded)
    before->count += count;
  else if (!is_fold && before && !before->folded && folded->joins_recursion &&
           is_same_function(frames, before->first, first))
    before->count += count;
  else
    folded->lines[folded->count++] = (struct hwi_fold_line){first, count, is_fold};
}

/* `own` is a frame that is not folded; neither are the frames after it in the same library. */
static void fold_libraries(struct hwi_folded *folded, const struct hwi_named_frames *frames, uint32_t first,
                           uint32_t last, uint32_t own)
{
  for (uint32_t at = first; at < last;) {
    uint32_t run = run_length(frames, at, last);
    bool has_own = at <= own && own < at + run;
    bool folds = at > first && !has_own && run >= RUN_MIN && is_library(frames, at) && frames->items[at].symbol;
    if (folds)
      add_line(folded, frames, at, run, true);
    for (uint32_t i = 0; i < run && !folds; i++)
      add_line(folded, frames, at + i, 1, false);
    at += run;
  }
}

/* If the stack is too long, folds lines between the innermost one and that of `own`, to make room for the lines from
 * `own` on. */
static void fold_before(struct hwi_folded *folded, uint32_t own, uint32_t lines_max)
{
  uint32_t at = 0;
  while (at < folded->count && folded->lines[at].first + folded->lines[at].count <= own)
    at++;
  uint32_t after = folded->count - at;
  uint32_t kept = lines_max > after + 2 ? lines_max - 1 - after : 1;
  if (folded->count <= lines_max || at < kept + 2)
    return;
  if (folded->lines[kept - 1].folded) /* two folds in a row are one */
    kept--;
  struct hwi_fold_line *fold = &folded->lines[kept];
  *fold = (struct hwi_fold_line){fold->first, folded->lines[at].first - fold->first, true};
  memmove(fold + 1, &folded->lines[at], after * sizeof *fold);
  folded->count = kept + 1 + after;
}

/* Keeps the innermost lines and the outermost one. */
static void fold_middle(struct hwi_folded *folded, uint32_t lines_max)
{
  if (folded->count <= lines_max)
    return;
  struct hwi_fold_line outermost = folded->lines[folded->count - 1];
  uint32_t kept = lines_max - 2;
  struct hwi_fold_line *fold = &folded->lines[kept];
  if (folded->lines[kept - 1].folded) /* two folds in a row are one */
    fold--;
  fold->folded = true;
  fold->count = outermost.first - fold->first;
  if (outermost.folded) {
    fold->count += outermost.count;
    folded->count = (uint32_t)(fold - folded->lines) + 1;
    return;
  }
  fold[1] = outermost;
  folded->count = (uint32_t)(fold - folded->lines) + 2;
}

/* Makes room for one line for each frame. */
static int begin(struct hwi_folded *folded, const struct hwi_named_frames *frames, struct hwi_error *error)
{
  if (frames->count > folded->room) {
    struct hwi_fold_line *lines = realloc(folded->lines, frames->count * sizeof *lines);
    if (!lines)
      return hwi_error_set(error, HW_ERR_MEMORY, "no memory for a stack of %u frames", frames->count);
    folded->lines = lines;
    folded->room = frames->count;
  }
  folded->count = 0;
  return HW_OK;
}

int hwi_fold(struct hwi_folded *folded, const struct hwi_named_frames *frames, uint32_t lines_max,
             struct hwi_error *error)
{
  uint32_t first = 0, last = frames->count;
  int status = begin(folded, frames, error);
  if (status < 0)
    return status;
  folded->joins_recursion = lines_max > 0;
  if (lines_max == 0) {
    for (uint32_t i = first; i < last; i++)
      add_line(folded, frames, i, 1, false);
    return HW_OK;
  }
  hwi_named_frames_trim(frames, &first, &last);
  uint32_t own = hwi_named_frames_own(frames, first, last);
  fold_libraries(folded, frames, first, last, own);
  fold_before(folded, own, lines_max);
  fold_middle(folded, lines_max);
  return HW_OK;
}

int hwi_fold_chain(struct hwi_folded *folded, const struct hwi_named_frames *frames, uint32_t lines_max,
                   struct hwi_error *error)
{
  int status = begin(folded, frames, error);
  if (status < 0 || frames->count == 0)
    return status;
  folded->joins_recursion = false; /* each frame is a separate node */
  uint32_t last = frames->count - 1;
  if (lines_max > 0)
    fold_libraries(folded, frames, 0, last, 0);
  for (uint32_t i = 0; i < last && lines_max == 0; i++)
    add_line(folded, frames, i, 1, false);
  add_line(folded, frames, last, 1, false);
  if (lines_max > 0)
    fold_middle(folded, lines_max);
  return HW_OK;
}
