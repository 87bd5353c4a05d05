/* worst_instances.h - the worst instances of a path of scopes, by each measure */
#ifndef HWI_PROFILE_COUNTERS_WORST_INSTANCES_H
#define HWI_PROFILE_COUNTERS_WORST_INSTANCES_H

#include "profile/profile.h"

/* Adds an instance that has ended to those of each measure that it belongs to. `worst` has an item for each measure. */
void hwi_worst_rank(struct hwi_worst *worst, const struct hwi_instance *instance);

/* Sorts the instances, the worst first, and finishes their details. No instance is added after that. */
void hwi_worst_order(struct hwi_worst *worst, enum hwi_instance_measure measure);

#endif
