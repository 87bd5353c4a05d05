/* command.h - what a subcommand is, and the list of all
 *
 * A subcommand is one file, cmd_NAME.c, that defines one `struct hwi_command`: what the user may say, as data, and one
 * function that does it. The frame (main.c, options.c, help.c) parses, prints help and words usage errors from the data
 * alone, so a subcommand never looks at argv.
 */
#ifndef HWI_CLI_COMMAND_H
#define HWI_CLI_COMMAND_H

#include <stdio.h>

#include "cli/options.h"

struct hwi_line;

/* Exit statuses; a command that runs another one exits as that did otherwise. */
enum {
  HWI_EXIT_OK = 0,
  HWI_EXIT_NO = 1,         /* the answer is no */
  HWI_EXIT_TROUBLE = 2,    /* wrong usage, bad input, no space */
  HWI_EXIT_LAUNCHER = 125, /* a failure of `record` itself, as env, timeout and nohup have it */
};

struct hwi_command {
  const char *name;
  const char *summary;              /* a line without a full stop, for the list of commands */
  const char *usage;                /* what follows "heapwright NAME", e.g. "[options] [TRACE]" */
  const char *details;              /* for help, behind the options: paragraphs, examples; "" is fine */
  void (*print_more)(void);         /* help that is not known beforehand, behind the details; NULL: none */
  const struct hwi_option *options; /* ended by one whose name is NULL */
  const void *defaults;             /* the values that the options change; copied before each parse */
  size_t values_bytes;              /* of *defaults */
  bool words_end_options;           /* the first word is a COMMAND: nothing behind it is ours */
  int usage_status;                 /* exit status for wrong usage */

  /* values: the defaults as the options changed them. words: what is no option, ended by NULL. The exit status. */
  int (*run)(const void *values, int word_count, char **words);
};

extern const struct hwi_command hwi_command_record;
extern const struct hwi_command hwi_command_report;
extern const struct hwi_command hwi_command_diff;
extern const struct hwi_command hwi_command_check;
extern const struct hwi_command hwi_command_control;
extern const struct hwi_command hwi_command_export;
extern const struct hwi_command hwi_command_import;
extern const struct hwi_command hwi_command_tune;
extern const struct hwi_command hwi_command_run;
extern const struct hwi_command hwi_command_test;

extern const struct hwi_command *const hwi_commands[]; /* in the order of help, ended by NULL */

/* Prints "heapwright: " and the text as a line on stderr, and returns status: `return hwi_fail(2, "...")`. The text says
 * what is wrong, where, and what to do. */
int hwi_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for what is no error. */
void hwi_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hwi_warn_of(struct hwi_line *remarks); /* a warning for each of its lines; releases it */

/* Help texts, on stdout. */
void hwi_help_all(FILE *out);
void hwi_help_command(const struct hwi_command *command);

#endif
