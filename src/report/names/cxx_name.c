/* cxx_name.c - shortens the demangled names of C++, Rust and D to a readable length
 *
 * A name is scanned once for each step, and the depth of its brackets is counted. Only brackets matter: no step
 * needs to know the grammar of a language, and any other name is not changed. The symbols after "operator" are
 * copied first, because those of operator<, operator-> and operator() are not brackets.
 */
#include "report/names/cxx_name.h"

#include <string.h>

/* Returns the length of "operator" with its symbols at `at`, or 0. */
static size_t operator_bytes(const char *text, const char *at)
{
  static const char word[] = "operator";
  size_t bytes = sizeof word - 1;
  bool inside_word =
      at > text && (at[-1] == '_' || (at[-1] >= 'a' && at[-1] <= 'z') || (at[-1] >= 'A' && at[-1] <= 'Z'));
  if (inside_word || strncmp(at, word, bytes) != 0)
    return 0;
  if (strncmp(at + bytes, "()", 2) == 0)
    return bytes + 2;
  size_t symbols = strspn(at + bytes, "<>=-+*/!&|^%~,[]");
  /* operator< <int> and operator<<int> end in a bracket that opens the template's arguments */
  if (at[bytes] == '<' && symbols == 1)
    return bytes + 1;
  return symbols > 0 ? bytes + symbols : 0;
}

/* --- step 1: parameters and return type --- */

/* Returns the end of the bracketed part that begins at `at`, or the end of the text. */
static const char *after_bracket(const char *at, char open, char close)
{
  int depth = 0;
  for (; *at != '\0'; at++) {
    if (*at == open)
      depth++;
    else if (*at == close && --depth == 0)
      return at + 1;
  }
  return at;
}

/* Skips the qualifiers after a parameter list, which are of no interest in a stack. */
static const char *after_qualifiers(const char *at)
{
  static const char *const qualifiers[] = {" const", " volatile", " &&", " &", "[abi:cxx11]"};
  for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++) {
    size_t bytes = strlen(qualifiers[i]);
    if (strncmp(at, qualifiers[i], bytes) == 0)
      return after_qualifiers(at + bytes);
  }
  return at;
}

static void drop_parameters(struct hwi_line *to, const char *name)
{
  static const char anonymous[] = "(anonymous namespace)";
  int angles = 0;
  for (const char *at = name; *at != '\0';) {
    size_t bytes = operator_bytes(name, at);
    if (bytes == 0 && strncmp(at, anonymous, sizeof anonymous - 1) == 0)
      bytes = sizeof anonymous - 1;
    if (bytes > 0) {
      hwi_line_add(to, at, bytes);
      at += bytes;
    } else if (*at == '(' && angles == 0) {
      at = after_qualifiers(after_bracket(at, '(', ')'));
    } else {
      angles += *at == '<';
      angles -= *at == '>' && angles > 0;
      hwi_line_add(to, at++, 1);
    }
  }
}

/* Returns where the name itself begins: after the last blank outside brackets, which ends a return type. */
static const char *after_return_type(const char *name)
{
  const char *begin = name;
  int depth = 0;
  for (const char *at = name; *at != '\0'; at++) {
    if (strncmp(at, "operator", 8) == 0 && depth == 0)
      break; /* operator new, operator bool: blanks from here on belong to the name */
    if (strchr("<({[", *at))
      depth++;
    else if (strchr(">)}]", *at))
      depth--;
    else if (*at == ' ' && depth == 0)
      begin = at + 1;
  }
  return *begin != '\0' ? begin : name;
}

/* --- step 2: the standard library's default arguments --- */

/* Returns the length of the part to leave out at `at`, or 0; *instead replaces it. */
static size_t noise_bytes(const char *at, const char **instead)
{
  static const struct {
    const char *noise, *instead;
  } plain[] = {
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"},
      {"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
      {"std::basic_string_view<char, std::char_traits<char>>", "std::string_view"},
      {"std::__cxx11::", "std::"},
      {"(anonymous namespace)", "(anonymous)"},
      {"[abi:cxx11]", ""},
  };
  static const char *const arguments[] = {", std::allocator<",      ", std::char_traits<", ", std::less<",
                                          ", std::default_delete<", ", std::hash<",        ", std::equal_to<"};
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    size_t bytes = strlen(plain[i].noise);
    if (strncmp(at, plain[i].noise, bytes) == 0) {
      *instead = plain[i].instead;
      return bytes;
    }
  }
  *instead = "";
  for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
    size_t bytes = strlen(arguments[i]);
    if (strncmp(at, arguments[i], bytes) == 0)
      return (size_t)(after_bracket(at + bytes - 1, '<', '>') - at);
  }
  return 0;
}

static void drop_noise(struct hwi_line *to, const char *name)
{
  for (const char *at = name; *at != '\0';) {
    const char *instead;
    size_t bytes = operator_bytes(name, at);
    if (bytes > 0) {
      hwi_line_add(to, at, bytes);
    } else if ((bytes = noise_bytes(at, &instead)) > 0) {
      hwi_line_puts(to, instead);
    } else if (at[0] == ' ' && at[1] == '>') {
      bytes = 1;
    } else {
      bytes = 1;
      hwi_line_add(to, at, 1);
    }
    at += bytes;
  }
}

/* --- step 3: to the given width --- */

static int deepest(const char *name)
{
  int depth = 0, most = 0;
  for (const char *at = name; *at != '\0'; at++) {
    size_t bytes = operator_bytes(name, at);
    if (bytes > 0) {
      at += bytes - 1;
      continue;
    }
    depth += *at == '<';
    depth -= *at == '>' && depth > 0;
    most = depth > most ? depth : most;
  }
  return most;
}

/* Copies `name`, with everything deeper than `limit` angle brackets replaced by the ellipsis. */
static void collapse(struct hwi_line *to, const char *name, int limit, const char *ellipsis)
{
  int depth = 0;
  for (const char *at = name; *at != '\0';) {
    size_t bytes = operator_bytes(name, at);
    if (bytes == 0)
      bytes = 1;
    depth -= bytes == 1 && *at == '>' && depth > 0;
    if (depth <= limit)
      hwi_line_add(to, at, bytes);
    if (bytes == 1 && *at == '<' && ++depth == limit + 1)
      hwi_line_puts(to, ellipsis);
    at += bytes;
  }
}

/* Returns the next place after a "::" outside brackets, or NULL. */
static const char *after_scope(const char *name)
{
  int depth = 0;
  for (const char *at = name; *at != '\0'; at++) {
    if (strchr("<({[", *at))
      depth++;
    else if (strchr(">)}]", *at))
      depth--;
    else if (depth == 0 && at[0] == ':' && at[1] == ':')
      return at + 2;
  }
  return NULL;
}

/* Leaves out leading scopes until the rest fits. If the last two parts do not fit either, leaves out the middle. */
static void drop_scopes(struct hwi_line *line, const char *name, size_t cells, const char *ellipsis)
{
  size_t mark = hwi_cells(ellipsis);
  if (hwi_cells(name) <= cells) {
    hwi_line_puts(line, name);
    return;
  }
  const char *rest = name;
  for (const char *next; hwi_cells(rest) + mark > cells && (next = after_scope(rest));)
    rest = next;
  if (rest == name || hwi_cells(rest) + mark > cells) {
    hwi_line_shorten(line, rest == name ? name : rest, cells, ellipsis);
    return;
  }
  hwi_line_puts(line, ellipsis);
  hwi_line_puts(line, rest);
}

void hwi_cxx_name_add(struct hwi_line *line, const char *name, size_t cells, const char *ellipsis)
{
  struct hwi_line clean = {0}, bare = {0}, plain = {0}, shorter = {0};
  hwi_line_clean(&clean, name);
  drop_parameters(&bare, hwi_line_text(&clean));
  drop_noise(&plain, after_return_type(hwi_line_text(&bare)));
  const char *best = plain.bytes > 0 ? hwi_line_text(&plain) : hwi_line_text(&clean);
  for (int limit = deepest(best) - 1; limit >= 0 && hwi_cells(best) > cells; limit--) {
    hwi_line_clear(&shorter);
    collapse(&shorter, hwi_line_text(&plain), limit, ellipsis);
    best = hwi_line_text(&shorter);
  }
  drop_scopes(line, best, cells, ellipsis);
  hwi_line_release_part(line, &clean);
  hwi_line_release_part(line, &bare);
  hwi_line_release_part(line, &plain);
  hwi_line_release_part(line, &shorter);
}
