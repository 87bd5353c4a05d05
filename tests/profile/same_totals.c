/* same_totals.c - holds a replay for the totals alone against a full one */
#include "same_totals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void assert_same_totals(const struct hwi_profile *full, const char *path, struct hwi_profile_options options)
{
  struct hwi_profile *brief;
  struct hwi_error error;
  options.totals_only = true;
  assert_int_equal(hwi_profile_create(&brief, path, &options, &error), 0);
  assert_memory_equal(&brief->totals, &full->totals, sizeof full->totals);
  assert_int_equal(brief->duration_ns, full->duration_ns);
  assert_int_equal(brief->unreadable_images, full->unreadable_images);
  assert_int_equal(brief->image_count, full->image_count);
  for (uint32_t i = 0; i < full->image_count; i++) {
    assert_memory_equal(&brief->images[i].totals, &full->images[i].totals, sizeof full->totals);
    assert_int_equal(brief->images[i].counted, full->images[i].counted);
    assert_int_equal(brief->images[i].unreadable, full->images[i].unreadable);
  }
  assert_int_equal(brief->stack_count + brief->size_count + brief->thread_count + brief->timeline_count, 0);
  hwi_profile_destroy(brief);
}
