/* command.h - the definition of a subcommand, and the list of all subcommands
 *
 * A subcommand is one file, cmd_NAME.c, that defines one `struct hwi_command`: its options as data, and one function
 * that runs it. The common code (main.c, options.c) parses the command line, prints help and reports usage
 * errors from the data alone, so a subcommand never reads argv.
 */
#ifndef HWI_CLI_COMMAND_H
#define HWI_CLI_COMMAND_H

#include <stdio.h>

#include "cli/options.h"

struct hwi_line;

/* Exit statuses. A command that runs another program returns that program's status otherwise. */
enum {
  HWI_EXIT_OK = 0,
  HWI_EXIT_NO = 1,         /* the result is negative: a failed check, a difference */
  HWI_EXIT_TROUBLE = 2,    /* wrong usage, bad input, no space */
  HWI_EXIT_LAUNCHER = 125, /* a failure of `record` itself, as in env, timeout and nohup */
};

struct hwi_command {
  const char *name;
  const char *summary;              /* a line without a full stop, for the list of commands */
  const char *usage;                /* what follows "heapwright NAME", e.g. "[options] [TRACE]" */
  const char *details;              /* for help, after the options: paragraphs, examples; may be "" */
  void (*print_more)(void);         /* prints help computed at run time, after the details; NULL: none */
  const struct hwi_option *options; /* the last one has the name NULL */
  const void *defaults;             /* the values that the options change; copied before each parse */
  size_t values_bytes;              /* of *defaults */
  bool words_end_options;           /* the first word is a COMMAND: words after it are its arguments */
  bool command_after_dashes;        /* the words after "--" are a COMMAND: "--" is the first of the words then */
  int usage_status;                 /* exit status for wrong usage */
  const char *missing; /* why this system does not have the command; then it has no more than this, the name and
                                       the summary. NULL: it has the command */

  /* `values` are the defaults with the options applied. `words` are the other arguments, ended by NULL. Returns the
   * exit status. */
  int (*run)(const void *values, int word_count, char **words);
};

extern const struct hwi_command hwi_command_record;
extern const struct hwi_command hwi_command_report;
extern const struct hwi_command hwi_command_diff;
extern const struct hwi_command hwi_command_check;
extern const struct hwi_command hwi_command_control, hwi_command_live, hwi_command_push;
extern const struct hwi_command hwi_command_core, hwi_command_leaks;
extern const struct hwi_command hwi_command_export;
extern const struct hwi_command hwi_command_import;
extern const struct hwi_command hwi_command_tune;
extern const struct hwi_command hwi_command_run;
extern const struct hwi_command hwi_command_test;

extern const struct hwi_command *const hwi_commands[]; /* in the order of help, ended by NULL */

/* Prints "heapwright: " and the text as a line on stderr, and returns status: `return hwi_fail(2, "...")`. The text
 * says what is wrong, where, and what to do. */
int hwi_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for remarks and warnings. */
void hwi_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hwi_warn_of(struct hwi_line *remarks); /* one warning per line of `remarks`, which is released */

/* Print help texts; hwi_help_command prints on stdout. */
void hwi_help_all(FILE *out);
void hwi_help_command(const struct hwi_command *command);

#endif
