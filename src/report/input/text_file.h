/* text_file.h - small files of lines that users write */
#ifndef HWI_REPORT_INPUT_TEXT_FILE_H
#define HWI_REPORT_INPUT_TEXT_FILE_H

#include "base/error.h"

/* The whole file, ended by NUL; to be freed, even after a failure. A file with a NUL in it is refused. */
int hwi_text_file_read(const char *path, char **text, struct hwi_error *error);

/* Ends the line at *line with a NUL, without the blanks around it, and returns the next one; NULL: it was the last. */
char *hwi_text_file_line(char **line);

#endif
