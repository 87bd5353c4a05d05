/* itt_ignored.h - notes which functions of ITT that say nothing about memory the program calls, if the user wants to know */
#ifndef HWI_RECORD_COLLECTORS_ITT_IGNORED_H
#define HWI_RECORD_COLLECTORS_ITT_IGNORED_H

/* Returns a function that notes its first call in the trace and returns 0, for the function `name`, which stays where it
 * is. Returns NULL if the user does not want that (HEAPWRIGHT_ITT_VERBOSE), or if there are too many such functions. */
void (*hwi_itt_ignored(const char *name))(void);

#endif
