/* span.c - the options that choose a part of a run: --from, --to, --at
 *
 * A time since the start can be parsed at once. Other names of moments (the peak, a mark, a percentage) are known only
 * after the run has been read: such a run is read twice.
 */
#include "cli/span.h"

#include <string.h>

#include "report/content/evidence.h"
#include "report/input/moment.h"
#include "report/input/quantities.h"
#include "report/words/number.h"

static bool is_given(const struct hwi_span_words *words)
{
  return words->from || words->to || words->at;
}

int hwi_span_check(const struct hwi_span_words *words, int cost)
{
  bool is_live = cost == HWI_COST_DEFAULT || cost == HWI_COST_PEAK || cost == HWI_COST_LIVE;
  if (words->at && !is_live) /* only live blocks are known for a moment */
    return hwi_fail(HWI_EXIT_TROUBLE, "--at shows what was live: leave --cost out, or ask for an interval with --from "
                                      "and --to");
  if (words->at && (words->from || words->to))
    return hwi_fail(HWI_EXIT_TROUBLE, "--at shows a moment, --from and --to an interval: leave one of them out");
  return 0;
}

static bool is_time(const char *word)
{
  uint64_t ns;
  return !word || hwi_duration_parse(word, &ns);
}

/* Sets *ns, unless `word` is NULL. `profile` is of the whole run; a plain time does not need it. */
static int find(const struct hwi_profile *profile, const char *option, const char *word, uint64_t *ns)
{
  struct hwi_error error = {0};
  if (!word || hwi_duration_parse(word, ns))
    return 0;
  if (hwi_moment_find(profile, word, ns, &error) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "%s: %s", option, error.text);
  return 0;
}

static int find_moment(const struct hwi_profile *profile, const char *word, struct hwi_span *span)
{
  *span = (struct hwi_span){.kind = HWI_SPAN_MOMENT};
  int status = find(profile, "--at", word, &span->from_ns);
  if (status == 0 && profile && span->from_ns > profile->duration_ns)
    span->from_ns = profile->duration_ns; /* the end */
  if (strcmp(word, "peak") == 0)
    span->bytes = profile->totals.peak_bytes;
  return status;
}

static int find_span(const struct hwi_profile *profile, const struct hwi_span_words *words, struct hwi_span *span)
{
  if (words->at)
    return find_moment(profile, words->at, span);
  *span = (struct hwi_span){.kind = HWI_SPAN_INTERVAL, .to_ns = UINT64_MAX};
  int status = find(profile, "--from", words->from, &span->from_ns);
  if (status == 0)
    status = find(profile, "--to", words->to, &span->to_ns);
  if (status == 0 && span->from_ns >= span->to_ns)
    status = hwi_fail(HWI_EXIT_TROUBLE, "the interval from %s to %s ends before it begins", words->from, words->to);
  return status;
}

static int check_start(const struct hwi_span_words *words, const struct hwi_profile *profile)
{
  const uint64_t dropped_ns = hwi_dropped_until_ns(profile);
  const char *option = words->at ? "--at" : words->from ? "--from" : "--to";
  if (profile->span.from_ns < dropped_ns)
    return hwi_fail(
        HWI_EXIT_TROUBLE,
        "%s %s: the events before %s were dropped (record --keep); of them, what lives on and totals are there: "
        "ask for a later %s, or for the whole run",
        option,
        words->at     ? words->at
        : words->from ? words->from
                      : words->to,
        hwi_time_text(dropped_ns).text, words->at ? "moment" : "--from");
  if (profile->span.from_ns <= profile->duration_ns)
    return 0;
  return hwi_fail(HWI_EXIT_TROUBLE, "%s %s: the recording ends at %s", option, words->at ? words->at : words->from,
                  hwi_time_text(profile->duration_ns).text);
}

int hwi_span_profile(const struct hwi_span_words *words, const struct hwi_reading *reading, const char *path,
                     struct hwi_profile **profile)
{
  if (!is_given(words))
    return hwi_reading_profile(reading, path, profile);
  char found[HWI_READING_PATH_BYTES];
  struct hwi_reading part = *reading;
  struct hwi_profile *whole = NULL;
  int status = hwi_reading_find(path, found, sizeof found);
  if (status == 0 && !(is_time(words->from) && is_time(words->to) && is_time(words->at)))
    status = hwi_reading_profile(reading, found, &whole);
  if (status == 0)
    status = find_span(whole, words, &part.span);
  hwi_profile_destroy(whole);
  if (status != 0)
    return status;
  status = hwi_reading_profile(&part, found, profile);
  if (status != 0)
    return status;
  status = check_start(words, *profile);
  if (status != 0)
    hwi_profile_destroy(*profile);
  return status;
}
