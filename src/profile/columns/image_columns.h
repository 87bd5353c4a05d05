/* image_columns.h - writes and reads a summary's descriptions of the images of its run */
#ifndef HWI_PROFILE_COLUMNS_IMAGE_COLUMNS_H
#define HWI_PROFILE_COLUMNS_IMAGE_COLUMNS_H

#include "profile/columns/pass.h"
#include "profile/profile.h"
#include "trace/read/run.h"

/* The data to which struct hwi_trace_info points. All zero: empty. */
struct hwi_restored_images {
  size_t count;
  struct hwi_trace_info *infos; /* by image number in the run */
  char **paths;                 /* likewise */
  struct hw_exit_status *exits; /* likewise */
  struct hwi_mark *marks;       /* of all images, one after the other; so are the next ones */
  struct hwi_rss_point *rss;
  struct hwi_note *notes;
  const char **environment;
  char *texts;
};

/* Writes `images` of the run, or reads them: then their infos point into *restored, and their headers and paths are those
 * of the run. */
void hwi_pass_images(struct hwi_pass *pass, struct hwi_restored_images *restored, const struct hwi_run *run,
                     struct hwi_image *images);
void hwi_restored_images_release(struct hwi_restored_images *restored);

#endif
