/* same_restored.c - a profile restored from a summary equals that of a replay */
#include "same_restored.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "../report/nameless.h"
#include "profile/result/result.h"
#include "report/report.h"
#include "report/words/style.h"

char *report_of(const struct hwi_profile *profile, bool json)
{
  enum { COLUMNS = 120 };
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  assert_non_null(out);
  const struct hwi_report report = {.profile = profile,
                                    .names = nameless_names,
                                    .options = {.cost = HWI_COST_DEFAULT, .top = HWI_TOP_DEFAULT, .min_calls = 1}};
  const struct hwi_style style = {.out = out, .columns = COLUMNS};
  assert_int_equal(json ? hwi_report_json(&report, out, NULL) : hwi_report_text(&report, &style, NULL), 0);
  fclose(out);
  return text;
}

bool is_restored(const struct hwi_profile *profile)
{
  return ((const struct hwi_result *)profile)->restored.infos; /* its first member */
}

void assert_same_words(const char *text, const char *expected)
{
  enum { BEFORE = 200, SHOWN = 300 };
  size_t at = 0;
  while (text[at] && text[at] == expected[at])
    at++;
  size_t from = at > BEFORE ? at - BEFORE : 0;
  if (text[at] != expected[at])
    fail_msg("from byte %zu on:\n%.*s\ninstead of\n%.*s", at, SHOWN, text + from, SHOWN, expected + from);
}

static void assert_same_report(const struct hwi_profile *fresh, const struct hwi_profile *restored, bool json)
{
  char *expected = report_of(fresh, json), *text = report_of(restored, json);
  assert_same_words(text, expected);
  free(expected);
  free(text);
}

void assert_same_restored(const struct hwi_profile *fresh, const char *path, struct hwi_profile_options options)
{
  char summary[512];
  struct hwi_profile *made;
  struct hwi_error error;
  snprintf(summary, sizeof summary, "%s%s", path, options.images == HWI_IMAGES_ALL ? ".all.sum" : ".sum");
  options.summaries = true;
  for (int times = 0; times < 2; times++) {
    assert_int_equal(hwi_profile_create(&made, path, &options, &error), 0);
    assert_int_equal(is_restored(made), times);
    assert_int_equal(access(summary, F_OK), 0);
    assert_same_report(fresh, made, false);
    assert_same_report(fresh, made, true);
    hwi_profile_destroy(made);
  }
  unlink(summary);
}
