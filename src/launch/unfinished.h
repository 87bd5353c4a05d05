/* unfinished.h - a file that is removed should a signal end the program before it is finished
 *
 * One at a time, as a command writes one file. Signals that the program was started to ignore stay ignored.
 */
#ifndef HWI_LAUNCH_UNFINISHED_H
#define HWI_LAUNCH_UNFINISHED_H

/* As mkostemp: a new file, close-on-exec; `path`, which ends in XXXXXX, gets its name and must live until hwi_unfinished_end.
 * A file descriptor, or -1 with the reason in errno. */
int hwi_unfinished_make(char *path);

/* The file was renamed or removed. */
void hwi_unfinished_end(void);

#endif
