/* instances.h - the instances of scopes as columns of a document (docs/page-data.md) */
#ifndef HWI_PAGE_INSTANCES_H
#define HWI_PAGE_INSTANCES_H

#include "page/scopes.h"
#include "profile/counters/instance_list.h"

enum { HWI_PAGE_INSTANCES_MAX = 1000000, HWI_PAGE_INSTANCES_OF_OTHERS_MAX = 100000 };

/* Writes "instances" into the current object. `thread_rows`: the rows of threads, by thread. */
void hwi_json_page_instances(struct hwi_json *json, const struct hwi_page_scopes *scopes,
                             const struct hwi_instance_list *instances, const uint32_t *thread_rows);

#endif
