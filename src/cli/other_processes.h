/* other_processes.h - the other processes of a run that the user can select in a page */
#ifndef HWI_CLI_OTHER_PROCESSES_H
#define HWI_CLI_OTHER_PROCESSES_H

#include "cli/reading.h"
#include "page/page.h"

/* The processes that allocated most. The list is empty if the user asked for one process. */
struct hwi_other_processes {
  const struct hwi_report *report; /* of the process that the page shows first, or of all together */
  uint32_t pids[HWI_PAGE_OTHERS_MAX], count;
  struct hwi_reading_source source; /* of the run */
  struct hwi_reading reading;       /* of the process being read */
  struct hwi_reading_source one;    /* likewise */
};

/* `report` and `source` must outlive `others`, which owns nothing. */
void hwi_other_processes_init(struct hwi_other_processes *others, const struct hwi_report *report,
                              const struct hwi_reading_source *source);
struct hwi_page_others hwi_other_processes_of_page(struct hwi_other_processes *others);

#endif
