/* paging.h - the HTML page as an answer, and what goes with it */
#ifndef HWI_CLI_PAGING_H
#define HWI_CLI_PAGING_H

#include "cli/answer.h"
#include "cli/ranking.h"
#include "page/page.h"

/* Whether what was settled is the page, or its data alone. */
bool hwi_answer_is_page(const struct hwi_answer *answer);
enum hwi_page_form hwi_page_form_of(enum hwi_format format); /* of a page's format */

/* What was asked for of a ranking that a page (`is_plot`: a plot) cannot show; NULL: nothing. */
const char *hwi_ranking_beside_picture(const struct hwi_ranking *ranking, bool is_plot);

/* An option does not go with a page: the exit status, worded on stderr. */
int hwi_page_refuse(const char *option);

#endif
