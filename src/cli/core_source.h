/* core_source.h - the options and words that say whose memory is read: a core dump, a process, or raw bytes
 *
 * Errors are reported on stderr; functions return 0 or an exit status.
 */
#ifndef HWI_CLI_CORE_SOURCE_H
#define HWI_CLI_CORE_SOURCE_H

#include "cli/command.h"
#include "memory/image/modules.h"
#include "memory/image/process.h"

/* Part of a command's values. */
struct hwi_core_source {
  struct hwi_texts raw;
  const char *stored; /* what coredumpctl is to look for; NULL: it is not asked */
  const char *base;
  const char *sysroot; /* NULL: none */
  int word;            /* of a raw image: enum of its names */
  bool big_endian, no_stop;
};

extern const char *const hwi_core_word_names[];

/* Rows of the command's table of options, for `struct hwi_core_source field` in its `struct values`; the first is a
 * `bool`. */
/* clang-format off */
#define HWI_NO_STOP_OPTION(field)                                                                                      \
  {.name = "no-stop",                                                                                                  \
   HWI_VALUE(ON, field),                                                                                               \
   .help = "read a process while it runs: without registers, and what changes meanwhile is\n"                          \
           "inconsistent (default: it is stopped for as long as copying takes)"}

#define HWI_SYSROOT_OPTION(field)                                                                                      \
  {.name = "sysroot",                                                                                                  \
   HWI_VALUE(TEXT, field),                                                                                             \
   .value = "DIR",                                                                                                     \
   .help = "look for programs, libraries and debug files below DIR: those of another machine, or\n"                    \
           "of a container (/proc/PID/root)"}

#define HWI_CORE_SOURCE_OPTIONS(field)                                                                                 \
  HWI_NO_STOP_OPTION(field.no_stop),                                                                                   \
  {.name = "stored",                                                                                                   \
   HWI_VALUE(TEXT, field.stored),                                                                                      \
   .value = "MATCH",                                                                                                   \
   .help = "the newest core dump that systemd stored of a PID, a program's name or its path"},                         \
  {.name = "raw",                                                                                                      \
   HWI_VALUE(TEXTS, field.raw),                                                                                        \
   .value = "FILE[@ADDRESS]",                                                                                          \
   .help = "read raw bytes, as debugger probes write them; may be given again"},                                       \
  {.name = "base",                                                                                                     \
   HWI_VALUE(TEXT, field.base),                                                                                        \
   .value = "ADDRESS",                                                                                                 \
   .help = "of the first byte of --raw FILE"},                                                                         \
  {.name = "word",                                                                                                     \
   HWI_VALUE(CHOICE, field.word),                                                                                      \
   .choices = hwi_core_word_names,                                                                                     \
   .help = "of --raw: bits of an address (default: 64)"},                                                              \
  HWI_SYSROOT_OPTION(field.sysroot),                                                                                   \
  {.name = "big-endian",                                                                                               \
   HWI_VALUE(ON, field.big_endian),                                                                                    \
   .help = "of --raw: the highest byte of a word comes first"}
/* clang-format on */

/* Exchanges the two words of CORE PROGRAM: a program is an ELF file that can be started, and a core dump is not. */
void hwi_core_source_order(const struct hwi_core_source *source, int word_count, char **words);

/* Reads what the words name: PROGRAM CORE, PROGRAM PID, PID, CORE, or with --raw or --stored PROGRAM or nothing. `read` says
 * what reading a process did to it. */
int hwi_core_source_open(const struct hwi_core_source *source, int word_count, char **words, struct hwi_memory *memory,
                         struct hwi_process_read *read);

/* Returns 0 if the sysroot is a folder, or NULL. */
int hwi_core_source_check_sysroot(const char *sysroot);

/* Returns whether the word is the PID that a process may have. */
bool hwi_core_source_pid(const char *word, uint32_t *pid);

/* Reads an address: hexadecimal with 0x, else decimal. */
int hwi_core_source_address(const char *text, const char *option, uint64_t *address);

/* Returns the word that names what is read. */
const char *hwi_core_source_name(const struct hwi_core_source *source, int word_count, char **words);

/* The module that is the named program gets its path, which the caller releases after the modules; a warning says if it is
 * none of them. Returns NULL if no program is named. */
char *hwi_core_source_place_program(const struct hwi_core_source *source, int word_count, char **words,
                                    struct hwi_core_modules *modules);

#endif
