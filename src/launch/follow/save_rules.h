/* save_rules.h - limits of a process's memory; when one is crossed, the recording so far is saved
 *
 * figure     rss: the resident set. live: the bytes of the blocks that the program has allocated and not freed. growth:
 *            how much `live` rose within the last second, minute or hour.
 * crossing   a process's figure becomes larger than the limit. The rule is armed again for that process when the figure
 *            has fallen to three quarters of the limit.
 */
#ifndef HWI_LAUNCH_FOLLOW_SAVE_RULES_H
#define HWI_LAUNCH_FOLLOW_SAVE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
  HWI_SAVE_RULES_MAX = 8,
  HWI_SAVES_A_RULE = 4, /* traces that are saved because of a rule */
  HWI_SAVES_MAX = HWI_SAVE_RULES_MAX * HWI_SAVES_A_RULE,
  HWI_GROWTH_STEPS = 20, /* of the window of a growth */
};

enum hwi_save_figure { HWI_SAVE_RSS, HWI_SAVE_LIVE, HWI_SAVE_GROWTH, HWI_SAVE_FIGURES };

struct hwi_save_rule {
  enum hwi_save_figure figure;
  uint64_t limit_bytes;
  uint64_t window_ns; /* of a growth */
  const char *text;   /* as the user wrote it; borrowed */
};

/* Reads a rule, such as "rss>2G" or "growth>10M/min". Returns 0 or HW_ERR_USAGE. */
int hwi_save_rule_parse(struct hwi_save_rule *rule, const char *text, struct hwi_error *error);

const char *hwi_save_figure_name(enum hwi_save_figure figure);

/* What is known of a process and a rule. All zero at first. */
struct hwi_save_watch {
  bool is_crossed;
  uint64_t began_ns; /* when a growth was first looked for */
  struct hwi_growth_step {
    uint64_t ns, bytes;
  } steps[HWI_GROWTH_STEPS]; /* a ring */
  uint32_t step_count;       /* so far */
};

/* A process's figures now. */
struct hwi_save_figures {
  uint64_t now_ns, rss_bytes;
  uint64_t live_bytes;
  bool has_live; /* live_bytes is known */
};

/* Returns whether the process crosses the limit now, with the rule's figure in *bytes. What a process allocates in its
 * first window is its start, and no growth. */
bool hwi_save_rule_is_crossed(const struct hwi_save_rule *rule, struct hwi_save_watch *watch,
                              const struct hwi_save_figures *figures, uint64_t *bytes);

#endif
