/* follow.h - the profile of a run that is still being recorded
 *
 * The run is read while its processes write it, from outside: they do not notice. Its images come and go. Only events
 * that are certain are counted (hwi_trace_look), so that the profile is a fraction of a second behind.
 */
#ifndef HWI_PROFILE_FOLLOW_H
#define HWI_PROFILE_FOLLOW_H

#include "profile/profile.h"

struct hwi_follow;

enum hwi_follow_state {
  HWI_FOLLOW_MORE,  /* more can be read at once */
  HWI_FOLLOW_WAITS, /* all that is certain was read */
  HWI_FOLLOW_OVER,  /* no process of the run goes on, and all was read */
};

/* Begins to follow the run at `path`, and raises the process's limit on open files: each process of the run that goes on
 * needs one. Of the options, those about summaries, spans and progress are ignored, and the
 * largest image cannot be chosen. Returns 0 or a negative status: HW_ERR_USAGE if a process is chosen that has not begun. A
 * follow is used by one thread at a time. */
int hwi_follow_create(struct hwi_follow **follow, const char *path, const struct hwi_profile_options *options,
                      struct hwi_error *error);
void hwi_follow_destroy(struct hwi_follow *follow); /* NULL is fine */

/* Returns whether processes of the run go on, so that others may begin. */
bool hwi_follow_run_goes_on(const char *path);

/* Reads what was written since, but not much more than `most_events` events. Returns a state, or a negative status. */
int hwi_follow_look(struct hwi_follow *follow, uint64_t most_events, struct hwi_error *error);

/* From the next look on, stays this far behind the program, if that is longer than usual: then events are hardly ever late. */
void hwi_follow_delay(struct hwi_follow *follow, uint64_t ns);

/* To be called in a forked process that goes on following, as its parent does. */
void hwi_follow_forked(struct hwi_follow *follow);

/* The run is called `name` from now on, which is another path of its first trace that can be opened, too. Returns 0 or
 * HW_ERR_MEMORY. */
int hwi_follow_rename(struct hwi_follow *follow, const char *name);

/* Returns the present moment, since the run's start. */
uint64_t hwi_follow_now_ns(const struct hwi_follow *follow);

/* The history, which is kept, will have a slice that begins at this moment. */
void hwi_follow_plan_reset(struct hwi_follow *follow, uint64_t ns);

/* The history, which is at its begin, will have all such slices of `other`. */
void hwi_follow_plan_resets(struct hwi_follow *follow, const struct hwi_follow *other);

/* Returns how long before now the moment is up to which all events are counted, in ns. */
uint64_t hwi_follow_behind_ns(const struct hwi_follow *follow);

/* Returns whether an event was counted after later ones: a follow that begins now has figures that are more exact. */
bool hwi_follow_had_late_events(const struct hwi_follow *follow);

/* Returns whether the clocks of several processes became more exact meanwhile: a follow that begins now may order their events in
 * another way, so that the peak of the run differs. */
bool hwi_follow_had_new_rates(const struct hwi_follow *follow);

/* Returns a profile that has only the frames and modules so far, so that their names can be looked up in time. It is
 * valid until the next look. */
const struct hwi_profile *hwi_follow_frames(struct hwi_follow *follow);

/* Makes the profile of all that was read. The follow cannot go on then: to look again later, call this in a forked
 * child. *profile is released with the follow. Returns 0 or a negative status. */
int hwi_follow_profile(struct hwi_follow *follow, const struct hwi_profile **profile, struct hwi_error *error);

#endif
