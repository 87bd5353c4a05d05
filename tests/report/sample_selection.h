/* sample_selection.h - the sample's report and its selection, for tests of code that uses selected stacks: cmocka's
 * set-up and tear-down. Each test includes it once. */
#ifndef TESTS_REPORT_SAMPLE_SELECTION_H
#define TESTS_REPORT_SAMPLE_SELECTION_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/names/named_frames.h"
#include "report/selection/selection.h"
#include "sample_profile.h"

static struct sample sample;
static struct hwi_report report;
static struct hwi_named_frames frames;
static struct hwi_selection selection;

static inline int begin(void **state)
{
  (void)state;
  sample_init(&sample);
  report = sample_report(&sample);
  return 0;
}

static inline int release_selection(void **state)
{
  (void)state;
  hwi_selection_release(&selection);
  hwi_named_frames_release(&frames);
  return 0;
}

/* Selects again, by the report's options. */
static inline void select_stacks(void)
{
  release_selection(NULL);
  assert_int_equal(hwi_named_frames_init(&frames, &report, NULL), 0);
  assert_int_equal(hwi_selection_init(&selection, &report, NULL, NULL), 0);
}

#endif
