/* summary_images.h - what a summary keeps of the images of its run */
#ifndef HWI_PROFILE_SUMMARY_IMAGES_H
#define HWI_PROFILE_SUMMARY_IMAGES_H

#include "profile/profile.h"
#include "profile/summary_pass.h"
#include "trace/run.h"

/* What struct hwi_trace_info points to. All zero: nothing. */
struct hwi_summary_images {
  size_t count;
  struct hwi_trace_info *infos; /* by number in the run */
  char **paths;                 /* likewise */
  struct hw_exit_status *exits; /* likewise */
  struct hwi_mark *marks;       /* of one image after the other, as the rest */
  struct hwi_rss_point *rss;
  struct hwi_note *notes;
  const char **environment;
  char *texts;
};

/* Writes `images` of the run, or reads them: then their infos point into *kept, and their headers and paths are those of the run. */
void hwi_summary_pass_images(struct hwi_pass *pass, struct hwi_summary_images *kept, const struct hwi_run *run,
                             struct hwi_image *images);
void hwi_summary_images_release(struct hwi_summary_images *kept);

#endif
