/* itt_counters.h - the counters of programs with ITT, whose values are noted along time
 *
 * All functions are async-signal-safe, do not change errno, and no thread waits for another one.
 */
#ifndef HWI_RECORD_COLLECTORS_ITT_COUNTERS_H
#define HWI_RECORD_COLLECTORS_ITT_COUNTERS_H

#include "record/collectors/itt_abi.h"

/* Finds the counters that the static part made itself, before it had a collector. */
void hwi_itt_counters_adopt(struct hwi_itt_early_counter *early);

/* Return the counter with this name and type of values, or NULL if there is no memory or no such type. */
struct hwi_itt_counter *hwi_itt_counter_of(const char *name, const char *domain);
struct hwi_itt_counter *hwi_itt_counter_of_type(const char *name, const char *domain, int type);
struct hwi_itt_counter *hwi_itt_counter_of_domain(struct hwi_itt_domain *domain, const char *name, int type);

/* `counter`, also below: NULL, or from the functions above or the static part. */

/* Sets the counter to the value at `value`, which has the counter's type. The time is ignored. */
void hwi_itt_counter_set(struct hwi_itt_counter *counter, const void *value);
void hwi_itt_counter_set_at(struct hwi_itt_counter *counter, struct hwi_itt_clock *clock, unsigned long long time,
                            const void *value);

/* Add to the counter, or subtract from it: 1, or `by`. */
void hwi_itt_counter_increase(struct hwi_itt_counter *counter);
void hwi_itt_counter_decrease(struct hwi_itt_counter *counter);
void hwi_itt_counter_increase_by(struct hwi_itt_counter *counter, unsigned long long by);
void hwi_itt_counter_decrease_by(struct hwi_itt_counter *counter, unsigned long long by);

/* The same for a counter that a domain and a string name. */
void hwi_itt_named_increase(struct hwi_itt_domain *domain, struct hwi_itt_string *name);
void hwi_itt_named_decrease(struct hwi_itt_domain *domain, struct hwi_itt_string *name);
void hwi_itt_named_increase_by(struct hwi_itt_domain *domain, struct hwi_itt_string *name, unsigned long long by);
void hwi_itt_named_decrease_by(struct hwi_itt_domain *domain, struct hwi_itt_string *name, unsigned long long by);

#endif
