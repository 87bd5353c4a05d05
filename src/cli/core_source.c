/* core_source.c - whose memory is read: a core dump, a process, or raw bytes */
#include "cli/core_source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "memory/image/core_file.h"
#include "memory/image/raw.h"

enum { WORD_64 = 0, WORD_32 };
const char *const hwi_core_word_names[] = {"64", "32", NULL};

/* --- words --- */

static bool is_number(const char *word)
{
  return *word && strspn(word, "0123456789") == strlen(word);
}

bool hwi_core_source_pid(const char *word, uint32_t *pid)
{
  const unsigned long number = is_number(word) ? strtoul(word, NULL, 10) : 0;
  *pid = (uint32_t)number;
  return number > 0 && number <= INT32_MAX;
}

/* Returns whether an option says what is read, so that the only word is a program. */
static bool is_named_by_option(const struct hwi_core_source *source)
{
  return source->raw.count || source->stored;
}

const char *hwi_core_source_name(const struct hwi_core_source *source, int word_count, char **words)
{
  return source->raw.count ? source->raw.items[0]
         : source->stored  ? source->stored
         : word_count      ? words[word_count - 1]
                           : NULL;
}

void hwi_core_source_order(const struct hwi_core_source *source, int word_count, char **words)
{
  struct hwi_core_module file;
  char *first = words[0];
  if (source->raw.count || word_count != 2 || hwi_core_module_read(&file, words[0]) ||
      !hwi_core_module_read(&file, words[1]))
    return;
  words[0] = words[1];
  words[1] = first;
}

int hwi_core_source_check_sysroot(const char *sysroot)
{
  struct stat about;
  if (!sysroot)
    return 0;
  if (stat(sysroot, &about) < 0)
    return hwi_fail(HWI_EXIT_TROUBLE, "--sysroot %s: %s", sysroot, strerror(errno));
  return S_ISDIR(about.st_mode) ? 0 : hwi_fail(HWI_EXIT_TROUBLE, "--sysroot %s: it is no folder", sysroot);
}

static int check_words(const struct hwi_core_source *source, int word_count, char **words)
{
  const int most = is_named_by_option(source) ? 1 : 2;
  if (source->raw.count && source->stored)
    return hwi_fail(HWI_EXIT_TROUBLE, "--raw and --stored both say what is read: choose one");
  if (!source->raw.count && (source->base || source->big_endian || source->word != WORD_64))
    return hwi_fail(HWI_EXIT_TROUBLE, "--base, --word and --big-endian are about --raw FILE, which is missing");
  if (word_count > most)
    return hwi_fail(HWI_EXIT_TROUBLE, "'%s' is one word too many: core takes a program, and %s", words[most],
                    source->raw.count ? "with --raw nothing else"
                    : source->stored  ? "with --stored nothing else"
                                      : "a core dump or a process");
  if (word_count == 0 && !is_named_by_option(source))
    return hwi_fail(HWI_EXIT_TROUBLE, "core needs a core dump or a process: heapwright core PROGRAM CORE, or "
                                      "heapwright core PID");
  return 0;
}

int hwi_core_source_address(const char *text, const char *option, uint64_t *address)
{
  char *end;
  const bool is_hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  errno = 0;
  *address = strtoull(text, &end, is_hexadecimal ? 16 : 10);
  if (*text >= '0' && *text <= '9' && !*end && !errno)
    return 0;
  return hwi_fail(HWI_EXIT_TROUBLE, "%s: '%s' is no address; try one such as 0x5581e0, or a number as JSON has it",
                  option, text);
}

/* --- raw bytes --- */

/* `path` gets the file without its address, and belongs to the caller. */
static int parse_map(const struct hwi_core_source *source, const char *text, char **path, uint64_t *base)
{
  const char *at = strrchr(text, '@');
  *path = at ? strndup(text, (size_t)(at - text)) : strdup(text);
  if (!*path)
    return hwi_fail(HWI_EXIT_TROUBLE, "no memory");
  if (at)
    return hwi_core_source_address(at + 1, "--raw", base);
  if (!source->base)
    return hwi_fail(HWI_EXIT_TROUBLE,
                    "--raw %s: at which address is its first byte? Say --raw %s@ADDRESS, or --base "
                    "ADDRESS",
                    text, text);
  return hwi_core_source_address(source->base, "--base", base);
}

static int open_raw(const struct hwi_core_source *source, struct hwi_memory *memory)
{
  struct hwi_raw_map maps[HWI_RAW_MAPS_MAX] = {{0}};
  char *paths[HWI_RAW_MAPS_MAX] = {0};
  struct hwi_error error = {0};
  int status = 0;
  if (source->raw.count > HWI_RAW_MAPS_MAX)
    return hwi_fail(HWI_EXIT_TROUBLE, "--raw can be given %d times, not %zu", HWI_RAW_MAPS_MAX, source->raw.count);
  for (size_t i = 0; i < source->raw.count && status == 0; i++) {
    status = parse_map(source, source->raw.items[i], &paths[i], &maps[i].base);
    maps[i].path = paths[i];
  }
  const struct hwi_raw_image image = {.maps = maps,
                                      .map_count = source->raw.count,
                                      .word_bits = source->word == WORD_32 ? 32 : 64,
                                      .is_big_endian = source->big_endian};
  if (status == 0 && hwi_raw_open(memory, &image, &error) < 0)
    status = hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text);
  for (size_t i = 0; i < source->raw.count; i++)
    free(paths[i]);
  return status;
}

int hwi_core_source_open(const struct hwi_core_source *source, int word_count, char **words, struct hwi_memory *memory,
                         struct hwi_process_read *read)
{
  struct hwi_error error = {0};
  const char *name = hwi_core_source_name(source, word_count, words);
  uint32_t pid;
  int status = check_words(source, word_count, words);
  if (status == 0)
    status = hwi_core_source_check_sysroot(source->sysroot);
  if (status != 0)
    return status;
  if (source->raw.count)
    return open_raw(source, memory);
  if (source->stored)
    status = hwi_core_file_open_stored(memory, source->stored, &error);
  else if (hwi_core_source_pid(name, &pid))
    status = hwi_process_open(memory, pid, &(struct hwi_process_options){.no_stop = source->no_stop}, read, &error);
  else if (source->no_stop)
    return hwi_fail(HWI_EXIT_TROUBLE, "--no-stop is about a process, and '%s' is no PID", name);
  else
    status = hwi_core_file_open(memory, name, &error);
  return status < 0 ? hwi_fail(HWI_EXIT_TROUBLE, "%s", error.text) : 0;
}

char *hwi_core_source_place_program(const struct hwi_core_source *source, int word_count, char **words,
                                    struct hwi_core_modules *modules)
{
  struct hwi_core_module found;
  char *program = word_count == (is_named_by_option(source) ? 1 : 2) ? realpath(words[0], NULL) : NULL;
  const bool has_none = modules->count == 0;
  if (program && has_none)
    hwi_core_modules_add_fixed(modules, program); /* without memory for it, it has no names */
  if (!program || has_none || !hwi_core_module_read(&found, program) || !found.build_id_bytes)
    return program;
  for (size_t i = 0; i < modules->count; i++)
    if (hwi_core_module_is_same(&modules->modules[i], &found)) {
      modules->modules[i].path = program;
      return program;
    }
  hwi_warn("%s does not have the build-id of any module in this memory: it may be another version of the program",
           words[0]);
  return program;
}
