/* trace_events.h - the parts of Chrome's trace events */
#ifndef HWI_EXPORT_TRACE_EVENTS_H
#define HWI_EXPORT_TRACE_EVENTS_H

#include "export/size_counts.h"
#include "profile/profile.h"
#include "report/json/json.h"

/* Begins an event with its phase ("B": a slice begins), its name and its time. */
void hwi_trace_event_begin(struct hwi_json *json, const char *phase, const char *name, uint64_t ns);
void hwi_trace_event_end(struct hwi_json *json);

void hwi_trace_event_time(struct hwi_json *json, const char *key, uint64_t ns);

/* Adds a member for each size whose count is not 0. */
void hwi_trace_event_sizes(struct hwi_json *json, const struct hwi_size_counts *counts);

/* Returns the process ID of an image, or 0 if it is unknown. */
uint32_t hwi_trace_event_pid(const struct hwi_profile *profile, uint32_t image);

#endif
