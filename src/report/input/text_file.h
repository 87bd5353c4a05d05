/* text_file.h - reads small text files that users write */
#ifndef HWI_REPORT_INPUT_TEXT_FILE_H
#define HWI_REPORT_INPUT_TEXT_FILE_H

#include "base/error.h"

/* Reads the whole file; *text ends with a NUL. The caller frees it, also after a failure. A file that contains a NUL
 * is refused. */
int hwi_text_file_read(const char *path, char **text, struct hwi_error *error);

/* Ends the line at *line with a NUL, without the blanks around it. Returns the next line; NULL if it was the last. */
char *hwi_text_file_line(char **line);

#endif
