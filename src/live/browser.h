/* browser.h - opens the page of a running program in the user's browser */
#ifndef HWI_LIVE_BROWSER_H
#define HWI_LIVE_BROWSER_H

#include <stdbool.h>

/* All zero: nothing was opened. */
struct hwi_browser {
  char guide[4096]; /* a file of the user that leads the browser to the page */
};

/* Asks xdg-open, which knows the user's browser, and does not wait for it. If there is none, a line on stderr says so.
 * Returns false with errno if the browser cannot be led to the page. */
bool hwi_browser_open(struct hwi_browser *browser, const char *url);

/* Removes the file. */
void hwi_browser_end(struct hwi_browser *browser);

#endif
