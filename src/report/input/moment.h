/* moment.h - a moment of a run, as a user writes it: 5s, 250ms, 2min, 90%, peak, end, or a mark's text */
#ifndef HWI_REPORT_INPUT_MOMENT_H
#define HWI_REPORT_INPUT_MOMENT_H

#include "profile/profile.h"

/* *ns gets its time since the run's start. A mark is named by "mark:TEXT", or by TEXT alone if that means nothing
 * else; the first of several marks counts. Returns 0, or HW_ERR_USAGE if `text` is none of these; the message then
 * names the most similar mark. */
int hwi_moment_find(const struct hwi_profile *profile, const char *text, uint64_t *ns, struct hwi_error *error);

/* Returns when a counted image began, since the run's start. */
uint64_t hwi_image_offset_ns(const struct hwi_profile *profile, const struct hwi_image *image);

#endif
