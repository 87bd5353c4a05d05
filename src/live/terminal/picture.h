/* picture.h - the view as lines: head, chart, table, keys */
#ifndef HWI_LIVE_TERMINAL_PICTURE_H
#define HWI_LIVE_TERMINAL_PICTURE_H

#include "live/terminal/screen.h"
#include "live/terminal/view.h"

/* The titles of enum hwi_live_by, for a choice. */
extern const char *const hwi_picture_tabs[HWI_LIVE_BYS];

/* Makes the lines of `screen`, whose size is that of the view. */
void hwi_picture_draw(struct hwi_screen *screen, const struct hwi_view *view);

#endif
