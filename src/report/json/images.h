/* images.h - the process images of a run, and how complete a recording is, as members of a JSON object: the same in
 * every document */
#ifndef HWI_REPORT_JSON_IMAGES_H
#define HWI_REPORT_JSON_IMAGES_H

#include "report/json/json.h"
#include "report/report.h"

/* Writes an object. `linked_in` is the allocator that the program has linked in, or NULL. */
void hwi_json_image(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_image *image,
                    const char *linked_in);

/* These write its parts into the object begun last. */
void hwi_json_process(struct hwi_json *json, const struct hwi_trace_info *info); /* which process it is */
void hwi_json_silences(struct hwi_json *json, const struct hwi_trace_info *info);
void hwi_json_notes(struct hwi_json *json, const struct hwi_trace_info *info, const char *linked_in);

/* Writes the sums over all images that are counted. */
void hwi_json_evidence(struct hwi_json *json, const struct hwi_profile *profile);

/* Writes the resident memory of all counted processes together, for each tenth of the run, as in the text. The
 * profile must be of a whole run. */
void hwi_json_rss_along_time(struct hwi_json *json, const struct hwi_profile *profile);

struct hwi_json_process_list {
  uint32_t most;       /* how many: the largest ones */
  size_t command_most; /* character cells of a command; SIZE_MAX: no limit */
  bool is_of_counted;  /* only those that the profile counts */
};

/* Writes "processes": [...] into the object begun last and, if some are left out, "processes_left_out". */
void hwi_json_processes(struct hwi_json *json, const struct hwi_profile *profile,
                        const struct hwi_json_process_list *wanted);

#endif
