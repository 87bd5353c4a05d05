/* unfinished.h - a file that is removed if a signal ends the program before the file is complete
 *
 * One at a time, as a command writes one file. Signals that were ignored when the program started stay ignored.
 */
#ifndef HWI_LAUNCH_PACK_UNFINISHED_H
#define HWI_LAUNCH_PACK_UNFINISHED_H

/* Makes a new file with close-on-exec, as mkostemp does. `path` ends in XXXXXX; it is changed to the file's name and
 * must stay valid until hwi_unfinished_end. Returns a file descriptor, or -1 with errno set. */
int hwi_unfinished_make(char *path);

/* To be called when the file was renamed or removed. */
void hwi_unfinished_end(void);

#endif
