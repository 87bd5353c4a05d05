/* launch_lines.h - a library to preload and its setting as lines for the file that starts a program */
#ifndef HWI_TUNE_LAUNCH_LINES_H
#define HWI_TUNE_LAUNCH_LINES_H

#include <stdio.h>

enum hwi_launch_form {
  HWI_LAUNCH_ENV,   /* NAME=VALUE: systemd, docker */
  HWI_LAUNCH_SHELL, /* export NAME=VALUE */
  HWI_LAUNCH_XML,   /* <env .../>, for a ROS 2 launch file in XML */
  HWI_LAUNCH_PYTHON /* additional_env={...}, for one in Python */
};

/* Writes LD_PRELOAD with the library, and the variable. The value needs no quotes in any form. */
void hwi_launch_lines_write(enum hwi_launch_form form, const char *library, const char *variable, const char *value,
                            FILE *out);

#endif
