/* sites.h - the places in code that the chosen stacks go through
 *
 * site       an address in a module, whoever called it: the frames of the profile's tree at one address share it. It stands
 *            for one function, or for several where some are inlined there.
 */
#ifndef HWI_EXPORT_SITES_H
#define HWI_EXPORT_SITES_H

#include "export/export.h"
#include "export/keys.h"
#include "report/text/line.h"

struct hwi_site {
  uint64_t address; /* at run time, behind the call; of a cut, the number of frames left out */
  uint32_t module;  /* of the profile; 0: none */
  bool cut;         /* stands for frames that the recorder left out; it has one function and no symbol */
  const struct hwi_symbol *symbols; /* innermost first */
  uint32_t symbol_count;
};

struct hwi_sites {
  const struct hwi_named_frames *frames;
  struct hwi_site *items; /* [1, count] */
  uint32_t count;
  size_t capacity;
  uint32_t *of_frame; /* by frame of the profile; 0: no chosen stack has it */
  uint32_t *path;     /* frames of the stack loaded last, innermost first */
  uint32_t path_count;
  size_t path_capacity;
  struct hwi_keys keys;
};

/* To be released, even after a failure. */
int hwi_sites_init(struct hwi_sites *sites, const struct hwi_export *export, struct hwi_error *error);
void hwi_sites_release(struct hwi_sites *sites);

/* Fills `path`. */
int hwi_sites_load(struct hwi_sites *sites, uint32_t stack, struct hwi_error *error);

/* Of a frame of a chosen stack. */
static inline const struct hwi_site *hwi_site_of(const struct hwi_sites *sites, uint32_t frame)
{
  return &sites->items[sites->of_frame[frame]];
}

/* The function's name as it is; for what has none, "?? MODULE+0xOFFSET" (of where it begins, where that is known),
 * "?? 0xADDRESS" or "[N frames left out]". The line is cleared before. */
const char *hwi_site_function(const struct hwi_sites *sites, const struct hwi_site *site, uint32_t symbol,
                              struct hwi_line *line);
const char *hwi_site_file(const struct hwi_site *site, uint32_t symbol); /* "" where it is unknown */
uint32_t hwi_site_line(const struct hwi_site *site, uint32_t symbol);    /* 0 where it is unknown */

#endif
