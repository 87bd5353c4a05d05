/* other_processes.h - the processes of a run that a page can be turned to, beside the one that it opens with */
#ifndef HWI_CLI_OTHER_PROCESSES_H
#define HWI_CLI_OTHER_PROCESSES_H

#include "cli/reading.h"
#include "page/page.h"

/* Those that allocated most; none where the user asked for one process. */
struct hwi_other_processes {
  const struct hwi_report *report; /* of the process that the page opens with, or of all together */
  uint32_t pids[HWI_PAGE_OTHERS_MAX], count;
  struct hwi_reading_source source; /* of the run */
  struct hwi_reading reading;       /* of the one that is open */
  struct hwi_reading_source one;    /* likewise */
};

/* What it is made from must outlive it; it holds nothing of its own. */
void hwi_other_processes_init(struct hwi_other_processes *others, const struct hwi_report *report,
                              const struct hwi_reading_source *source);
struct hwi_page_others hwi_other_processes_of_page(struct hwi_other_processes *others);

#endif
