/* core_frames.h - frames of a core dump's threads and recorder, as the frames of a stack */
#ifndef HWI_REPORT_JSON_CORE_FRAMES_H
#define HWI_REPORT_JSON_CORE_FRAMES_H

#include "report/content/core_names.h"
#include "report/json/json.h"

/* Writes an object for the frame, and for each function that is inlined there, innermost first. */
void hwi_json_core_frame(struct hwi_json *json, const struct hwi_core_names *names,
                         const struct hwi_thread_frame *frame);

/* Writes an object that counts frames instead of showing them. */
void hwi_json_core_frames_left_out(struct hwi_json *json, uint64_t count);

#endif
