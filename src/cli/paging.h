/* paging.h - the HTML page as an answer, and the options that it cannot be combined with */
#ifndef HWI_CLI_PAGING_H
#define HWI_CLI_PAGING_H

#include "cli/answer.h"
#include "cli/ranking.h"
#include "page/page.h"

/* Returns whether the format is the page or its data. Call it after hwi_answer_check. */
bool hwi_answer_is_page(const struct hwi_answer *answer);
enum hwi_page_form hwi_page_form_of(enum hwi_format format); /* of a page's format */

/* Returns an option of the ranking that was given but that a page (`is_plot`: a plot) cannot show, or NULL if there is
 * none. */
const char *hwi_ranking_beside_picture(const struct hwi_ranking *ranking, bool is_plot);

/* Reports on stderr that `option` cannot be combined with a page, and returns the exit status. */
int hwi_page_refuse(const char *option);

#endif
