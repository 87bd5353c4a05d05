/* texts.c - glibc's functions for texts and lists (posix.h) */
#include <fnmatch.h>

/* --- formats --- */

/* Returns a copy of the format with the text of `os_error` in place of %m, which the caller frees; NULL without memory. */
static char *with_error_text(const char *format, int os_error)
{
  const char *text = strerror(os_error);
  char *copy = malloc(strlen(format) * (2 * strlen(text) + 1) + 1), *to = copy;
  if (!copy)
    return NULL;
  for (; *format; format++) {
    if (format[0] == '%' && format[1] == 'm') {
      for (const char *from = text; *from; from++) {
        *to++ = *from;
        if (*from == '%')
          *to++ = '%';
      }
      format++;
      continue;
    }
    if (format[0] == '%' && format[1] == '%')
      *to++ = *format++;
    *to++ = *format;
  }
  *to = '\0';
  return copy;
}

int hwi_windows_vsnprintf(char *to, size_t room, const char *format, va_list arguments)
{
  if (!strstr(format, "%m"))
    return __mingw_vsnprintf(to, room, format, arguments);
  char *plain = with_error_text(format, errno);
  int bytes = plain ? __mingw_vsnprintf(to, room, plain, arguments) : -1;
  free(plain);
  return bytes;
}

/* --- texts --- */

char *strndup(const char *text, size_t most)
{
  size_t bytes = strnlen(text, most);
  char *copy = malloc(bytes + 1);
  if (!copy)
    return NULL;
  memcpy(copy, text, bytes);
  copy[bytes] = '\0';
  return copy;
}

char *strchrnul(const char *text, int letter)
{
  while (*text && *text != (char)letter)
    text++;
  return (char *)text;
}

void *memrchr(const void *bytes, int byte, size_t count)
{
  const unsigned char *from = bytes;
  while (count > 0)
    if (from[--count] == (unsigned char)byte)
      return (void *)(uintptr_t)&from[count];
  return NULL;
}

/* The signals of Linux, which recordings are of. */
const char *sigabbrev_np(int number)
{
  static const char *const names[] = {
      NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS",
  };
  return number > 0 && number < (int)(sizeof names / sizeof *names) ? names[number] : NULL;
}

struct range {
  uint16_t first, last;
};

static bool is_in(const struct range *ranges, size_t count, uint16_t point)
{
  for (size_t i = 0; i < count; i++)
    if (point >= ranges[i].first && point <= ranges[i].last)
      return true;
  return false;
}

/* Letters of East Asia take two cells, marks that are put on other letters none. */
int wcwidth(wchar_t point)
{
  static const struct range wide[] = {{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3},
                                      {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}};
  static const struct range marks[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},
                                       {0x0610, 0x061a}, {0x064b, 0x065f}, {0x200b, 0x200f},
                                       {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
  enum { SPACE = 0x20, DELETE = 0x7f, LAST_CONTROL = 0x9f };
  if (point < SPACE || (point >= DELETE && point <= LAST_CONTROL))
    return point ? -1 : 0;
  if (is_in(marks, sizeof marks / sizeof *marks, point))
    return 0;
  return is_in(wide, sizeof wide / sizeof *wide, point) ? 2 : 1;
}

/* --- shell patterns --- */

/* Sets *end after the set, which begins after `pattern`'s [. Returns false if the set has no end: [ means itself then. */
static bool is_in_set(const char *pattern, char letter, const char **end, bool *found)
{
  bool negated = *pattern == '!' || *pattern == '^';
  const char *at = pattern + negated, *first = at;
  *found = false;
  for (; *at && (*at != ']' || at == first); at++) {
    if (*at == '\\' && at[1])
      at++;
    unsigned char low = (unsigned char)*at, high = low;
    if (at[1] == '-' && at[2] && at[2] != ']') {
      high = (unsigned char)at[2];
      at += 2;
    }
    *found |= (unsigned char)letter >= low && (unsigned char)letter <= high;
  }
  *found ^= negated;
  *end = at + 1;
  return *at == ']';
}

static size_t character_bytes(const char *text)
{
  size_t bytes = 1;
  while (((unsigned char)text[bytes] & 0xc0) == 0x80) /* a further byte of UTF-8 */
    bytes++;
  return bytes;
}

/* Returns the rest of the pattern after what matches the text's first character, and sets *bytes to its length, or NULL. */
static const char *match_one(const char *pattern, const char *text, size_t *bytes)
{
  const char *end;
  bool found;
  *bytes = 1;
  if (*text == '\0')
    return NULL;
  if (*pattern == '?') {
    *bytes = character_bytes(text);
    return pattern + 1;
  }
  if (*pattern == '[' && is_in_set(pattern + 1, *text, &end, &found))
    return found ? end : NULL;
  if (*pattern == '\\' && pattern[1])
    pattern++;
  return *pattern == *text ? pattern + 1 : NULL;
}

/* After a failure, the last * takes one more byte: earlier ones need not, since what followed them has matched. */
int fnmatch(const char *pattern, const char *text, int flags)
{
  const char *star = NULL, *star_text = NULL;
  (void)flags;
  while (*pattern || *text) {
    size_t bytes;
    if (*pattern == '*') {
      star = ++pattern;
      star_text = text;
      continue;
    }
    const char *next = match_one(pattern, text, &bytes);
    if (next) {
      pattern = next;
      text += bytes;
      continue;
    }
    if (!star || *star_text == '\0')
      return FNM_NOMATCH;
    pattern = star;
    text = ++star_text;
  }
  return 0;
}

/* --- lists --- */

struct order {
  int (*compare)(const void *, const void *, void *);
  void *context;
  size_t item_bytes;
};

/* Sorts `count` items from `from`; the result is in `to`. Both have the items before. */
static void merge_sort(const struct order *order, char *from, char *to, size_t count)
{
  const size_t bytes = order->item_bytes, half = count / 2;
  if (count < 2)
    return;
  merge_sort(order, to, from, half);
  merge_sort(order, to + half * bytes, from + half * bytes, count - half);
  for (size_t left = 0, right = half; left + right - half < count; to += bytes) {
    bool is_left = right == count ||
                   (left < half && order->compare(from + left * bytes, from + right * bytes, order->context) <= 0);
    memcpy(to, from + (is_left ? left++ : right++) * bytes, bytes);
  }
}

static void insertion_sort(const struct order *order, char *list, size_t count)
{
  const size_t bytes = order->item_bytes;
  for (size_t i = 1; i < count; i++)
    for (char *at = list + i * bytes; at > list && order->compare(at - bytes, at, order->context) > 0; at -= bytes)
      for (size_t k = 0; k < bytes; k++) {
        char byte = at[k];
        at[k] = at[k - bytes];
        at[k - bytes] = byte;
      }
}

void qsort_r(void *list, size_t count, size_t item_bytes, int (*compare)(const void *, const void *, void *),
             void *context)
{
  const struct order order = {compare, context, item_bytes};
  char *copy = count > 1 ? malloc(count * item_bytes) : NULL;
  if (!copy) {
    insertion_sort(&order, list, count);
    return;
  }
  memcpy(copy, list, count * item_bytes);
  merge_sort(&order, copy, list, count);
  free(copy);
}

static int compare_without(const void *left, const void *right, void *context)
{
  int (*const *compare)(const void *, const void *) = context;
  return (*compare)(left, right);
}

void hwi_windows_qsort(void *list, size_t count, size_t item_bytes, int (*compare)(const void *, const void *))
{
  qsort_r(list, count, item_bytes, compare_without, &compare);
}

/* Memory from malloc is aligned to 16 bytes. To more it is not aligned: that saves time with Linux's caches alone, and free must take
 * the block. */
void *hwi_windows_aligned_alloc(size_t align, size_t bytes)
{
  (void)align;
  return malloc(bytes);
}
