/* browser.h - opens the page of a running program in the user's browser */
#ifndef HWI_LIVE_BROWSER_H
#define HWI_LIVE_BROWSER_H

/* Asks xdg-open, which knows the user's browser, and does not wait for it. If there is none, a line on stderr says so. */
void hwi_browser_open(const char *url);

#endif
