/* identity.c - finds the frames and stacks of two runs that are the same */
#include "compare/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/words/line.h"
#include "trace/grow.h"
#include "trace/store.h"

enum { FIRST_SLOTS = 1024 };

struct hwi_identity_slot {
  const struct hwi_symbol *symbol; /* NULL: free */
  uint32_t module;
  struct hwi_identity identity;
};

/* --- modules --- */

/* Returns "libfoo" for "/opt/lib/libfoo.so.1.2.3", "libc" for "libc-2.31.so", and a program's name unchanged. The
 * caller frees it. */
static char *versionless(const char *path)
{
  const char *name = hwi_base_name(path);
  const char *suffix = strstr(name, ".so");
  if (!suffix || (suffix[3] != '\0' && suffix[3] != '.'))
    return strdup(name);
  const char *dash = memrchr(name, '-', (size_t)(suffix - name));
  if (dash && dash > name && strspn(dash + 1, "0123456789.") == (size_t)(suffix - dash - 1))
    suffix = dash;
  return strndup(name, (size_t)(suffix - name));
}

static bool is_same_build(const struct hwi_profile_module *a, const struct hwi_profile_module *b)
{
  return a->build_id_bytes > 0 && a->build_id_bytes == b->build_id_bytes &&
         memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

/* Returns whether the module is a program that was run: two versions of it may be called app and app.old. */
static bool is_program(const struct hwi_profile *profile, uint32_t module)
{
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_image *image = &profile->images[i];
    if (image->counted && strcmp(image->info->exe, hwi_module_path(profile, module)) == 0)
      return true;
  }
  return false;
}

static bool init_modules(struct hwi_identity_side *side, const struct hwi_profile *other)
{
  const struct hwi_profile *profile = side->frames->profile;
  side->module_names = calloc((size_t)profile->module_count + 1, sizeof *side->module_names);
  side->same_build = calloc((size_t)profile->module_count + 1, sizeof *side->same_build);
  if (!side->module_names || !side->same_build)
    return false;
  for (uint32_t i = 0; i < profile->module_count; i++) {
    side->module_names[i] =
        is_program(profile, i) ? strdup(HWI_PROGRAM_NAME) : versionless(hwi_module_path(profile, i));
    if (!side->module_names[i])
      return false;
    for (uint32_t k = 1; k < other->module_count && i > 0 && !side->same_build[i]; k++)
      side->same_build[i] = is_same_build(&profile->modules[i], &other->modules[k]);
  }
  return true;
}

int hwi_identities_init(struct hwi_identities *identities, const struct hwi_named_frames *const frames[2],
                        struct hwi_error *error)
{
  *identities = (struct hwi_identities){0};
  for (int i = 0; i < 2; i++) {
    identities->sides[i].frames = frames[i];
    if (!init_modules(&identities->sides[i], frames[1 - i]->profile))
      return hwi_error_set(error, HW_ERR_MEMORY, "no memory for %u modules", frames[i]->profile->module_count);
  }
  return HW_OK;
}

void hwi_identities_release(struct hwi_identities *identities)
{
  for (int i = 0; i < 2; i++) {
    struct hwi_identity_side *side = &identities->sides[i];
    for (uint32_t k = 0; side->module_names && k < side->frames->profile->module_count; k++)
      free(side->module_names[k]);
    free(side->module_names);
    free(side->same_build);
    free(side->known);
    hwi_numbering_release(&side->numbers);
  }
  hwi_store_release(&identities->names);
  *identities = (struct hwi_identities){0};
}

/* --- names --- */

/* Adds `name` up to its parameter list, without template arguments and return type: "ns::Tree::add" for "bool
 * ns::Tree<int (*)(int)>::add<char>(int const&) const". Names of operators keep their punctuation. */
static void add_loose(struct hwi_line *line, const char *name)
{
  static const char word[] = "operator";
  int depth = 0;
  for (const char *at = name; *at != '\0'; at++) {
    if (depth == 0 && strncmp(at, word, sizeof word - 1) == 0 && strchr("<>()[]-+*/ ", at[sizeof word - 1])) {
      size_t bytes = sizeof word - 1;
      bytes += strspn(at + bytes, "<>[]-=+*/");
      bytes += strncmp(at + bytes, "()", 2) == 0 ? 2 : 0;
      hwi_line_add(line, at, bytes);
      at += bytes - 1;
      continue;
    }
    static const char anonymous[] = "(anonymous namespace)";
    if (depth == 0 && strncmp(at, anonymous, sizeof anonymous - 1) == 0) {
      at += sizeof anonymous - 2;
      continue;
    }
    if (depth == 0 && *at == '(')
      break;
    if (depth == 0 && *at == ' ' && line->bytes > 0 && strncmp(hwi_line_text(line), word, sizeof word - 1) != 0) {
      hwi_line_clear(line); /* the text before was the return type */
      continue;
    }
    depth += *at == '<';
    if (depth == 0)
      hwi_line_add(line, at, 1);
    depth -= *at == '>' && depth > 0;
  }
}

static bool end_number(struct hwi_identities *identities, struct hwi_line *line, uint32_t *number)
{
  *number = line->failed ? 0 : hwi_store_intern(&identities->names, hwi_line_text(line), line->bytes);
  hwi_line_clear(line);
  return *number != 0;
}

/* Adds a part of a name with its final NUL, so that parts stay separate. */
static void add_part(struct hwi_line *line, const char *text)
{
  hwi_line_add(line, text, strlen(text) + 1);
}

static bool name_frame(struct hwi_identities *identities, int number, const struct hwi_shown_frame *frame,
                       struct hwi_identity *identity)
{
  const struct hwi_identity_side *side = &identities->sides[number];
  const struct hwi_symbol *symbol = frame->symbol;
  struct hwi_line line = {0};
  identity->vague = !symbol || !symbol->function;
  add_part(&line, identity->vague ? "unnamed" : symbol->function);
  if (identity->vague && symbol && side->same_build[frame->module]) {
    hwi_line_printf(&line, "%" PRIx64,
                    symbol->start != 0 ? symbol->start : frame->address - side->frames->modules[frame->module].bias);
    identity->vague = false;
  } else if (!identity->vague) {
    add_part(&line, symbol->file ? hwi_base_name(symbol->file) : "");
  }
  add_part(&line, symbol ? side->module_names[frame->module] : "left out");
  bool named = end_number(identities, &line, &identity->strict);
  identity->loose = identity->strict;
  if (named && symbol && symbol->function) {
    add_loose(&line, symbol->function);
    named = end_number(identities, &line, &identity->loose);
  }
  hwi_line_release(&line);
  return named;
}

/* --- cached results --- */

bool hwi_identities_find(struct hwi_identities *identities, int number, const struct hwi_shown_frame *frame,
                         struct hwi_identity *identity)
{
  struct hwi_identity_side *side = &identities->sides[number];
  bool is_cached = frame->symbol && frame->symbol->function; /* many addresses share a symbol without a name */
  if (!is_cached)
    return name_frame(identities, number, frame, identity);
  uint32_t at = hwi_numbering_of(&side->numbers, (uintptr_t)frame->symbol, frame->module);
  if (at == 0 || !hwi_grow((void **)&side->known, &side->capacity, (size_t)at + 1, sizeof *side->known))
    return false;
  if (side->known[at].loose == 0 && !name_frame(identities, number, frame, &side->known[at]))
    return false;
  *identity = side->known[at];
  return true;
}

uint32_t hwi_identities_text(struct hwi_identities *identities, const char *kind, const char *text)
{
  struct hwi_line line = {0};
  uint32_t number;
  add_part(&line, kind);
  add_part(&line, text);
  end_number(identities, &line, &number);
  hwi_line_release(&line);
  return number;
}

/* --- stacks --- */

/* An ID shared by many frames does not show a loop, unless it repeats at once. */
static void append(struct hwi_stack_paths *path, uint32_t number, bool vague)
{
  size_t at = path->count;
  if (vague && at > 0 && path->numbers[at - 1] == number)
    return;
  for (size_t i = at; i-- > 0 && !vague;) {
    if (path->numbers[i] == number) {
      path->count = i + 1;
      return;
    }
  }
  path->numbers[at] = number;
  path->vague[at] = vague;
  path->count = at + 1;
}

bool hwi_stack_path_make(struct hwi_stack_paths *path, int side, uint32_t stack, bool loose)
{
  struct hwi_named_frames *frames = path->frames[side];
  if (hwi_named_frames_load(frames, stack, path->error) < 0)
    return false;
  uint32_t first, last;
  hwi_named_frames_trim(frames, &first, &last);
  path->count = 0;
  if (!hwi_grow((void **)&path->numbers, &path->numbers_room, (size_t)frames->count + 1, sizeof *path->numbers) ||
      !hwi_grow((void **)&path->vague, &path->vague_room, (size_t)frames->count + 1, sizeof *path->vague))
    return false;
  for (uint32_t i = last; i-- > first;) {
    struct hwi_identity identity;
    if (!hwi_identities_find(path->identities, side, &frames->items[i], &identity))
      return false;
    append(path, loose ? identity.loose : identity.strict, identity.vague);
  }
  return true;
}

void hwi_stack_paths_release(struct hwi_stack_paths *path)
{
  free(path->numbers);
  free(path->vague);
}
