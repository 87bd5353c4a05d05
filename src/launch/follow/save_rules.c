/* save_rules.c - limits of a process's memory; when one is crossed, the recording so far is saved */
#include "launch/follow/save_rules.h"

#include <string.h>

#include "base/size_text.h"

static const char *const names[HWI_SAVE_FIGURES] = {"rss", "live", "growth"};

static const struct {
  const char *suffix;
  uint64_t ns;
} windows[] = {{"/s", 1000000000u}, {"/min", 60000000000u}, {"/h", 3600000000000u}};
enum { WINDOWS = sizeof windows / sizeof *windows, SIZE_CHARS = 31 };

const char *hwi_save_figure_name(enum hwi_save_figure figure)
{
  return names[figure];
}

/* --- what the user writes --- */

static int wrong(struct hwi_error *error, const char *text, const char *why)
{
  return hwi_error_set(error, HW_ERR_USAGE, "'%.80s' is no limit: %s", text, why);
}

static bool find_figure(const char *name, size_t bytes, enum hwi_save_figure *figure)
{
  for (int i = 0; i < HWI_SAVE_FIGURES; i++)
    if (strlen(names[i]) == bytes && memcmp(names[i], name, bytes) == 0) {
      *figure = (enum hwi_save_figure)i;
      return true;
    }
  return false;
}

/* `suffix`: the part after the size, which only growth has. */
static bool find_window(struct hwi_save_rule *rule, const char *suffix)
{
  for (int i = 0; i < WINDOWS; i++)
    if (strcmp(windows[i].suffix, suffix) == 0) {
      rule->window_ns = windows[i].ns;
      return true;
    }
  return false;
}

int hwi_save_rule_parse(struct hwi_save_rule *rule, const char *text, struct hwi_error *error)
{
  const size_t name_bytes = strcspn(text, "<>=");
  char size[SIZE_CHARS + 1] = "";
  *rule = (struct hwi_save_rule){.text = text};
  if (!find_figure(text, name_bytes, &rule->figure))
    return wrong(error, text, "it begins with rss, live or growth, as in 'rss>2G', 'live>500M', 'growth>10M/min'");
  if (text[name_bytes] != '>' || text[name_bytes + 1] == '=')
    return wrong(error, text, "after the name comes '>', then a size, as in 'rss>2G'");
  const char *given = text + name_bytes + 1;
  const size_t size_bytes = strcspn(given, "/");
  if (size_bytes <= SIZE_CHARS)
    memcpy(size, given, size_bytes);
  if (!hwi_size_parse(size, &rule->limit_bytes) || rule->limit_bytes == 0)
    return wrong(error, text, "after '>' comes a size of more than 0, such as 2G, 500M or 1048576");
  if (rule->figure != HWI_SAVE_GROWTH && given[size_bytes])
    return wrong(error, text, "only growth has a time, as in 'growth>10M/min'");
  if (rule->figure == HWI_SAVE_GROWTH && !find_window(rule, given + size_bytes))
    return wrong(error, text, "growth is per s, min or h, as in 'growth>10M/min'");
  return 0;
}

/* --- what a process does --- */

/* Returns the growth within the window; 0 as long as that began in the first window of the process. The time between two
 * looks may be longer than a step, so the growth is that of the time since the oldest one, in proportion. */
static uint64_t growth(const struct hwi_save_rule *rule, struct hwi_save_watch *watch,
                       const struct hwi_save_figures *figures)
{
  if (!watch->began_ns)
    watch->began_ns = figures->now_ns;
  if (figures->now_ns - watch->began_ns < rule->window_ns)
    return 0;
  const struct hwi_growth_step *newest = &watch->steps[(watch->step_count - 1) % HWI_GROWTH_STEPS];
  if (watch->step_count == 0 || figures->now_ns - newest->ns >= rule->window_ns / HWI_GROWTH_STEPS)
    watch->steps[watch->step_count++ % HWI_GROWTH_STEPS] =
        (struct hwi_growth_step){figures->now_ns, figures->live_bytes};
  if (watch->step_count <= HWI_GROWTH_STEPS)
    return 0;
  const struct hwi_growth_step *oldest = &watch->steps[watch->step_count % HWI_GROWTH_STEPS];
  if (figures->live_bytes <= oldest->bytes || figures->now_ns <= oldest->ns)
    return 0;
  const double share = (double)rule->window_ns / (double)(figures->now_ns - oldest->ns);
  return (uint64_t)((double)(figures->live_bytes - oldest->bytes) * (share < 1 ? share : 1));
}

bool hwi_save_rule_is_crossed(const struct hwi_save_rule *rule, struct hwi_save_watch *watch,
                              const struct hwi_save_figures *figures, uint64_t *bytes)
{
  if (rule->figure != HWI_SAVE_RSS && !figures->has_live)
    return false;
  *bytes = rule->figure == HWI_SAVE_RSS    ? figures->rss_bytes
           : rule->figure == HWI_SAVE_LIVE ? figures->live_bytes
                                           : growth(rule, watch, figures);
  const bool was_crossed = watch->is_crossed;
  watch->is_crossed = was_crossed ? *bytes > rule->limit_bytes - rule->limit_bytes / 4 : *bytes > rule->limit_bytes;
  return watch->is_crossed && !was_crossed;
}
