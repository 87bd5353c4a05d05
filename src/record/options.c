/* options.c - the recorder's options, from the environment
 *
 * The environment is read from /proc/self/environ, since the first malloc comes before libc has set `environ`. An
 * invalid value is ignored: nothing in the target may print errors.
 */
#include "record/options.h"

#include <string.h>

#include "base/size_text.h"
#include "platform/os.h"
#include "record/preload_list.h"
#include "record/start_texts.h"

enum { DEFAULT_DEPTH = 1024, SMALLEST_DEPTH = 64, LARGEST_DEPTH = 65536 };

bool hwi_options_match(const char *pattern, const char *text)
{
  const char *star = NULL, *retry = NULL;
  while (*text) {
    if (*pattern == '*') {
      star = pattern++;
      retry = text;
    } else if (*pattern == '?' || *pattern == *text) {
      pattern++;
      text++;
    } else if (star) {
      pattern = star + 1;
      text = ++retry;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    pattern++;
  return !*pattern;
}

bool hwi_options_list_matches(const char *list, const char *text)
{
  char pattern[HWI_ITT_IGNORE_BYTES];
  for (size_t bytes; *list; list += bytes + (list[bytes] == ',')) {
    const char *comma = strchr(list, ',');
    bytes = comma ? (size_t)(comma - list) : strlen(list);
    size_t kept = bytes < sizeof pattern ? bytes : sizeof pattern - 1;
    memcpy(pattern, list, kept);
    pattern[kept] = 0;
    if (kept && hwi_options_match(pattern, text))
      return true;
  }
  return false;
}

static const char *value_of(const char *text, const char *name)
{
  size_t n = strlen(name);
  return strncmp(text, name, n) == 0 && text[n] == '=' ? text + n + 1 : NULL;
}

static void copy_text(char *to, size_t room, const char *from)
{
  size_t n = strlen(from);
  if (n < room)
    memcpy(to, from, n + 1);
}

static bool is_flag(const char *value, bool otherwise)
{
  return value[0] == '0' && !value[1] ? false : value[0] == '1' && !value[1] ? true : otherwise;
}

static bool parse_id(const char *text, uint8_t id[HW_ID_BYTES])
{
  if (strlen(text) != 2 * HW_ID_BYTES)
    return false;
  memset(id, 0, HW_ID_BYTES);
  for (int i = 0; i < 2 * HW_ID_BYTES; i++) {
    char c = text[i];
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0)
      return false;
    id[i / 2] = (uint8_t)(id[i / 2] << 4 | digit);
  }
  return true;
}

static void take_depth(struct hwi_options *options, const char *value)
{
  uint64_t depth;
  if (hwi_size_parse(value, &depth) && depth > 0)
    options->depth = depth < SMALLEST_DEPTH ? SMALLEST_DEPTH : depth > LARGEST_DEPTH ? LARGEST_DEPTH : (uint32_t)depth;
}

/* Reads the decimal number at *at, and moves *at past it. */
static uint64_t take_number(const char **at)
{
  uint64_t number = 0;
  for (; **at >= '0' && **at <= '9'; (*at)++)
    if (__builtin_mul_overflow(number, 10u, &number) || __builtin_add_overflow(number, (unsigned)(**at - '0'), &number))
      return 0;
  return number;
}

static void take_sample(struct hwi_options *options, const char *value)
{
  uint64_t bytes;
  options->sample_bytes = hwi_size_parse(value, &bytes) && bytes <= HW_SAMPLE_MAX_BYTES ? bytes : 0;
}

static void take_launcher(struct hwi_options *options, const char *value)
{
  const char *at = value;
  uint64_t pid = take_number(&at), start = *at == '.' ? (at++, take_number(&at)) : 0;
  options->launcher_pid = pid <= UINT32_MAX && start && !*at ? (uint32_t)pid : 0;
  options->launcher_start = start;
}

static void take_home(struct hwi_options *options, const char *home)
{
  static const char below[] = "/.local/state";
  size_t n = strlen(home);
  if (options->state_home[0] || n + sizeof below > sizeof options->state_home)
    return;
  memcpy(options->state_home, home, n);
  memcpy(options->state_home + n, below, sizeof below);
  options->home_bytes = n;
}

static void take_state_home(struct hwi_options *options, const char *value)
{
  copy_text(options->state_home, sizeof options->state_home, value);
  options->home_bytes = 0;
}

static void take(void *context, const char *text)
{
  struct hwi_options *options = context;
  const char *value;
  if ((value = value_of(text, "HEAPWRIGHT_OUTPUT")))
    copy_text(options->output, sizeof options->output, value);
  else if ((value = value_of(text, "HEAPWRIGHT_ONLY_PROCESS")))
    copy_text(options->only_process, sizeof options->only_process, value);
  else if ((value = value_of(text, "HEAPWRIGHT_RUN")))
    options->has_run_id = parse_id(value, options->run_id);
  else if ((value = value_of(text, "HEAPWRIGHT_LAUNCHER")))
    take_launcher(options, value);
  else if ((value = value_of(text, "HEAPWRIGHT_USABLE")))
    options->usable = is_flag(value, options->usable);
  else if ((value = value_of(text, "HEAPWRIGHT_DURATIONS")))
    options->durations = is_flag(value, options->durations);
  else if ((value = value_of(text, "HEAPWRIGHT_SAMPLE")))
    take_sample(options, value);
  else if ((value = value_of(text, "HEAPWRIGHT_PAUSED")))
    options->paused = is_flag(value, options->paused);
  else if ((value = value_of(text, "HEAPWRIGHT_CHILDREN")))
    options->children = is_flag(value, options->children);
  else if ((value = value_of(text, "HEAPWRIGHT_REDIRECT")))
    options->redirect = is_flag(value, options->redirect);
  else if ((value = value_of(text, "HEAPWRIGHT_CHECK")))
    options->check = is_flag(value, options->check);
  else if ((value = value_of(text, "HEAPWRIGHT_TRAP")))
    options->trap = is_flag(value, options->trap);
  else if ((value = value_of(text, "HEAPWRIGHT_QUIET")))
    options->quiet = is_flag(value, options->quiet);
  else if ((value = value_of(text, "HEAPWRIGHT_ITT_VERBOSE")))
    options->itt_verbose = is_flag(value, options->itt_verbose);
  else if ((value = value_of(text, "HEAPWRIGHT_ITT_IGNORE")))
    copy_text(options->itt_ignore, sizeof options->itt_ignore, value);
  else if ((value = value_of(text, "LD_PRELOAD")))
    options->is_preloaded = hwi_preload_has_own(value);
  else if ((value = value_of(text, "HEAPWRIGHT_DEPTH")))
    take_depth(options, value);
  else if ((value = value_of(text, "HEAPWRIGHT_MAX_SIZE")))
    (void)hwi_size_parse(value, &options->max_size);
  else if ((value = value_of(text, "XDG_STATE_HOME")) && value[0] == '/')
    take_state_home(options, value);
  else if ((value = value_of(text, "HOME")) && value[0] == '/')
    take_home(options, value);
  else if ((value = value_of(text, "TMPDIR")) && value[0] == '/')
    copy_text(options->temporary, sizeof options->temporary, value);
}

/* Calls `each` with every NAME=VALUE of the environment. */
static void each_text(void (*each)(void *context, const char *text), void *context)
{
  struct hwi_start_texts texts = {0};
  if (hwi_start_texts_read(&texts, hwi_os_environment))
    for (char **text = texts.list; *text; text++)
      each(context, *text);
  hwi_start_texts_release(&texts);
}

void hwi_options_read(struct hwi_options *options)
{
  *options = (struct hwi_options){
      .usable = true, .children = true, .redirect = true, .depth = DEFAULT_DEPTH, .temporary = "/tmp"};
  each_text(take, options);
  options->durations = options->durations && !options->sample_bytes;
}

struct filter {
  void (*each)(void *context, const char *text);
  void *context;
};

static void pass_relevant(void *context, const char *text)
{
  static const char *const prefixes[] = {"LD_PRELOAD=", "MALLOC_", "GLIBC_TUNABLES=", "HEAPWRIGHT_"};
  struct filter *filter = context;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
      filter->each(filter->context, text);
}

void hwi_options_each_relevant(void (*each)(void *context, const char *text), void *context)
{
  struct filter filter = {each, context};
  each_text(pass_relevant, &filter);
}
