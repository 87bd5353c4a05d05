/* options.h - options as tables: names, types of values, and the field that gets the value
 *
 * Spelled `--name VALUE`, `--name=VALUE`, `-n VALUE` or `-nVALUE`; flags take no value and short ones may be joined
 * (-qv). An optional value follows '='. After a blank, a word is taken as the optional value only if it is one of the
 * choices, a size, or a number. `--` ends the options. If an option is repeated, the last one wins, except for HWI_OPTION_TEXTS, which keeps
 * all.
 */
#ifndef HWI_CLI_OPTIONS_H
#define HWI_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/texts.h"

enum hwi_option_kind {                              /* type of the field in the values: */
                       HWI_OPTION_ON = 1,           /* bool, becomes true */
                       HWI_OPTION_OFF = 2,          /* bool, becomes false */
                       HWI_OPTION_SET = 3,          /* int, becomes `preset` */
                       HWI_OPTION_TEXT = 4,         /* const char *, into argv */
                       HWI_OPTION_TEXTS = 5,        /* struct hwi_texts; into argv */
                       HWI_OPTION_COUNT = 6,        /* uint64_t, decimal */
                       HWI_OPTION_SIZE = 7,         /* uint64_t, bytes; see base/size_text.h */
                       HWI_OPTION_DURATION = 8,     /* uint64_t, nanoseconds; see report/input/quantities.h */
                       HWI_OPTION_CHOICE = 9,       /* int, the index in `choices` */
                       HWI_OPTION_MAYBE = 10,       /* the same, or `preset` if no value is given */
                       HWI_OPTION_MAYBE_SIZE = 11,  /* uint64_t, bytes, or `preset` if no value is given */
                       HWI_OPTION_MAYBE_COUNT = 12, /* uint64_t, decimal, or `preset` if no value is given */
};

/* Sets the kind of a row, and the field of `struct values` that the option sets. A field whose type does not match the
 * kind does not compile. */
#define HWI_VALUE(its_kind, field) .kind = HWI_OPTION_##its_kind, .off = HWI_OFF_OF(field, HWI_TYPE_OF_##its_kind)

#define HWI_OFF_OF(field, type)    \
  offsetof(struct values, field) + \
      0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((struct values *)0)->field), type) ? 1 : -1])

#define HWI_TYPE_OF_ON bool
#define HWI_TYPE_OF_OFF bool
#define HWI_TYPE_OF_SET int
#define HWI_TYPE_OF_TEXT const char *
#define HWI_TYPE_OF_TEXTS struct hwi_texts
#define HWI_TYPE_OF_COUNT uint64_t
#define HWI_TYPE_OF_SIZE uint64_t
#define HWI_TYPE_OF_DURATION uint64_t
#define HWI_TYPE_OF_CHOICE int
#define HWI_TYPE_OF_MAYBE int
#define HWI_TYPE_OF_MAYBE_SIZE uint64_t
#define HWI_TYPE_OF_MAYBE_COUNT uint64_t

struct hwi_option {
  const char *name; /* without the dashes */
  char letter;      /* 0: none */
  uint8_t kind;     /* enum hwi_option_kind */
  int preset;
  size_t off;                 /* of the field; kind and off come from HWI_VALUE */
  const char *value;          /* name of the value in help, e.g. "FILE"; NULL for flags and choices */
  const char *const *choices; /* ended by NULL */
  const char *help;           /* a phrase without a full stop; a newline breaks the line */
};

struct hwi_command;

struct hwi_parsed {
  void *values; /* the command's, freed by hwi_options_release */
  char **words; /* points into argv, ended by NULL */
  int word_count;
  bool help; /* --help or -h was given; the rest was not parsed */
};

/* Parses `argv` (ended by NULL, starting after the command's name) for `command`. Returns 0, or the exit status for
 * wrong usage, after reporting the error on stderr. Words are moved to the front of argv. */
int hwi_options_parse(const struct hwi_command *command, char **argv, struct hwi_parsed *parsed);
void hwi_options_release(struct hwi_parsed *parsed);

#endif
