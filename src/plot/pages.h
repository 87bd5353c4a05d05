/* pages.h - a report on paper: summary, charts and top stacks on a few pages of A4 */
#ifndef HWI_PLOT_PAGES_H
#define HWI_PLOT_PAGES_H

#include "plot/chart.h"

#define HWI_PAGE_WIDTH_CM 21.0
#define HWI_PAGE_HEIGHT_CM 29.7

void hwi_pages_draw(struct hwi_plot *plot);

#endif
