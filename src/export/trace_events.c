/* trace_events.c - the parts of Chrome's trace events */
#include "export/trace_events.h"

#include <inttypes.h>
#include <stdio.h>

enum { NS_PER_US = 1000, NS_DIGITS = 3 };

void hwi_trace_event_begin(struct hwi_json *json, const char *phase, const char *name, uint64_t ns)
{
  hwi_json_begin_object(json, NULL);
  hwi_json_text(json, "ph", phase);
  hwi_json_text(json, "name", name);
  hwi_trace_event_time(json, "ts", ns);
}

void hwi_trace_event_end(struct hwi_json *json)
{
  hwi_json_end_object(json);
  fputc('\n', json->out);
}

void hwi_trace_event_time(struct hwi_json *json, const char *key, uint64_t ns)
{
  char time[64];
  snprintf(time, sizeof time, "\"%s\":%" PRIu64 ".%0*" PRIu64, key, ns / NS_PER_US, NS_DIGITS, ns % NS_PER_US);
  hwi_json_raw(json, time);
}

void hwi_trace_event_sizes(struct hwi_json *json, const struct hwi_size_counts *counts)
{
  char text[32];
  for (uint32_t i = 1; i <= counts->sizes.count; i++) {
    snprintf(text, sizeof text, "%" PRIu64, counts->sizes.pairs[i].a);
    if (counts->blocks[i] != 0)
      hwi_json_signed(json, text, counts->blocks[i]);
  }
}

uint32_t hwi_trace_event_pid(const struct hwi_profile *profile, uint32_t image)
{
  return image < profile->image_count && profile->images[image].info ? profile->images[image].info->header.pid : 0;
}
