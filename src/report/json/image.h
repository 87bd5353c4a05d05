/* image.h - a process image, and what a recording is worth, as members of a JSON object: the same in every document */
#ifndef HWI_REPORT_JSON_IMAGE_H
#define HWI_REPORT_JSON_IMAGE_H

#include "report/json/json.h"
#include "report/report.h"

/* An object. `linked_in`: the allocator that the program has linked in, or NULL. */
void hwi_json_image(struct hwi_json *json, const struct hwi_profile *profile, const struct hwi_image *image,
                    const char *linked_in);

/* Its parts, into the object begun last. */
void hwi_json_process(struct hwi_json *json, const struct hwi_trace_info *info); /* which process it is of */
void hwi_json_silences(struct hwi_json *json, const struct hwi_trace_info *info);
void hwi_json_notes(struct hwi_json *json, const struct hwi_trace_info *info, const char *linked_in);

/* The sums over all images that are counted. */
void hwi_json_evidence(struct hwi_json *json, const struct hwi_profile *profile);

/* Resident memory of all counted processes together, tenth by tenth, as the text has it. Of a profile of a whole run. */
void hwi_json_rss_along_time(struct hwi_json *json, const struct hwi_profile *profile);

#endif
