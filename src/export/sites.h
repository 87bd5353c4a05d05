/* sites.h - the places in code that the chosen stacks go through
 *
 * site       an address in a module: all frames of the profile's tree at one address share it, independent of their
 *            callers. It has one function, or several if some are inlined there.
 */
#ifndef HWI_EXPORT_SITES_H
#define HWI_EXPORT_SITES_H

#include "report/names/named_frames.h"
#include "report/selection/selection.h"
#include "report/words/line.h"
#include "trace/numbering.h"

struct hwi_site {
  uint64_t address; /* at run time, after the call; for a cut, the number of frames left out */
  uint32_t module;  /* of the profile; 0: none */
  bool cut;         /* represents frames that the recorder left out; it has one function and no symbol */
  const struct hwi_symbol *symbols; /* innermost first */
  uint32_t symbol_count;
  uint32_t first_function; /* in a list of the functions of all sites, from 1: its innermost one; the others follow */
};

struct hwi_sites {
  const struct hwi_named_frames *frames;
  struct hwi_site *items; /* [1, count] */
  uint32_t count;
  size_t capacity;
  uint32_t *of_frame; /* by frame of the profile; 0: the frame is in no chosen stack */
  uint32_t *path;     /* frames of the stack loaded last, innermost first */
  uint32_t path_count;
  size_t path_capacity;
  struct hwi_numbering keys;
};

/* Finds the sites of the stacks of `selection`. Returns 0 or a negative status. Release `sites` even after a
 * failure. */
int hwi_sites_init(struct hwi_sites *sites, const struct hwi_named_frames *frames,
                   const struct hwi_selection *selection, struct hwi_error *error);
void hwi_sites_release(struct hwi_sites *sites);

/* Returns the number of the site of the profile's frame `at`, which is added if there is none, or 0 if there is no
 * memory. A caller that needs no stacks may begin with only `frames` set, instead of hwi_sites_init. */
uint32_t hwi_sites_find(struct hwi_sites *sites, uint32_t at);

/* Fills `path` with the frames of a stack. Returns 0 or a negative status. */
int hwi_sites_load(struct hwi_sites *sites, uint32_t stack, struct hwi_error *error);

/* Returns the site of a frame of a chosen stack. */
static inline const struct hwi_site *hwi_site_of(const struct hwi_sites *sites, uint32_t frame)
{
  return &sites->items[sites->of_frame[frame]];
}

/* Returns the function's full name; without a name, "?? MODULE+0xOFFSET" (of the function's start, if known), "??
 * 0xADDRESS" or "[N frames left out]". The line is cleared first. */
const char *hwi_site_function(const struct hwi_sites *sites, const struct hwi_site *site, uint32_t symbol,
                              struct hwi_line *line);
const char *hwi_site_file(const struct hwi_site *site, uint32_t symbol); /* "" if unknown */
uint32_t hwi_site_line(const struct hwi_site *site, uint32_t symbol);    /* 0 if unknown */

#endif
