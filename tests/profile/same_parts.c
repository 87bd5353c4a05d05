/* same_parts.c - parts of a run that are made from its epochs equal those of a replay */
#include "same_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "same_restored.h"

enum { PARTS = 12 };

static struct hwi_profile *make_part(const char *path, const struct hwi_profile_options *options)
{
  struct hwi_profile *made;
  struct hwi_error error;
  if (hwi_profile_create(&made, path, options, &error) < 0)
    fail_msg("%s", error.text);
  return made;
}

/* Returns whether it was made from epochs. */
static bool assert_same_part(const char *path, struct hwi_profile_options options)
{
  options.summaries = false;
  struct hwi_profile *expected = make_part(path, &options);
  options.summaries = true;
  struct hwi_profile *made = make_part(path, &options);
  for (int json = 0; json <= 1; json++) {
    char *wanted = report_of(expected, json), *text = report_of(made, json);
    assert_same_words(text, wanted);
    free(wanted);
    free(text);
  }
  bool restored = is_restored(made);
  hwi_profile_destroy(expected);
  hwi_profile_destroy(made);
  return restored;
}

static struct hwi_span some_span(const struct hwi_profile *whole, uint32_t (*below)(uint32_t limit))
{
  const uint32_t end = (uint32_t)whole->duration_ns + 20;
  uint64_t a = below(end), b = below(end);
  switch (below(5)) {
  case 0:
    return (struct hwi_span){.kind = HWI_SPAN_MOMENT, .from_ns = a};
  case 1:
    return (struct hwi_span){
        .kind = HWI_SPAN_MOMENT, .from_ns = whole->totals.peak_time_ns, .bytes = whole->totals.peak_bytes};
  case 2:
    return (struct hwi_span){.kind = HWI_SPAN_INTERVAL, .from_ns = a / 4, .to_ns = UINT64_MAX};
  case 3:
    return (struct hwi_span){.kind = HWI_SPAN_INTERVAL, .to_ns = a};
  default:
    return (struct hwi_span){.kind = HWI_SPAN_INTERVAL, .from_ns = a < b ? a : b, .to_ns = a < b ? b : a};
  }
}

int assert_same_parts(const char *path, struct hwi_profile_options options, uint64_t epoch_events,
                      uint32_t (*below)(uint32_t limit))
{
  char summary[512];
  int restored = 0;
  snprintf(summary, sizeof summary, "%s%s", path, options.images == HWI_IMAGES_ALL ? ".all.sum" : ".sum");
  options.summaries = true;
  options.epoch_events = epoch_events;
  struct hwi_profile *whole = make_part(path, &options);
  for (int i = 0; i < PARTS; i++) {
    options.span = some_span(whole, below);
    restored += assert_same_part(path, options);
  }
  hwi_profile_destroy(whole);
  unlink(summary);
  return restored;
}
