/* table.h - the rows of figures, as lines in columns */
#ifndef HWI_LIVE_TERMINAL_TABLE_H
#define HWI_LIVE_TERMINAL_TABLE_H

#include "live/terminal/screen.h"
#include "live/terminal/view.h"

/* Adds the titles of the columns, and the rows that fit. */
void hwi_table_draw(struct hwi_screen *screen, const struct hwi_view *view);

/* The same for the frames of a stack, below its row. */
void hwi_table_draw_frames(struct hwi_screen *screen, const struct hwi_view *view);

#endif
