/* short_stacks.c - why most stacks are only one function, and what makes them longer
 *
 * Where code has no unwind tables, nearly every stack is its innermost frame. The count of unfinished stacks does not show that: a
 * stack that is found again is not walked again, and whole stacks that end in code of libc or Go may be counted.
 *
 * The user can compile the program in another way, but seldom its libraries: so these are two cases. Generated code belongs to no
 * module, and is neither.
 */
#include <string.h>

#include "report/content/evidence.h"
#include "report/names/symbol_name.h"
#include "report/text/text.h"

enum { PROGRAM, LIBRARY, ORIGINS };
enum { MOST_SHARE = 2, SOME_SHARE = 10, NAME_CELLS = 60 }; /* half of the calls, and a tenth */

/* Stacks of one frame, by its module. */
struct short_stacks {
  uint64_t all_calls; /* of stacks of any length */
  struct {
    uint64_t calls;
    uint32_t stack; /* with the most calls; 0: none */
  } of[ORIGINS];
};

static int origin_of(const struct hwi_profile *profile, uint32_t module)
{
  const char *path = hwi_module_path(profile, module);
  for (uint32_t i = 0; i < profile->image_count; i++) {
    if (profile->images[i].counted && strcmp(profile->images[i].info->exe, path) == 0)
      return PROGRAM;
  }
  return LIBRARY;
}

static struct short_stacks find(const struct hwi_profile *profile)
{
  struct short_stacks found = {0};
  for (uint32_t i = 1; i < profile->stack_count; i++) {
    const struct hwi_stack *stack = &profile->stacks[i];
    found.all_calls += stack->calls;
    const uint32_t module = hwi_profile_depth(profile, i) == 1 ? profile->frames[stack->frame].module : 0;
    if (module == 0)
      continue;
    const int origin = origin_of(profile, module);
    const uint32_t most = found.of[origin].stack;
    found.of[origin].calls += stack->calls;
    if (most == 0 || stack->calls > profile->stacks[most].calls)
      found.of[origin].stack = i;
  }
  return found;
}

/* "strdup (libc.so.6)", or "libc.so.6" if the function has no name. */
static void add_name(struct hwi_text *text, const struct hwi_named_frames *frames, uint32_t stack)
{
  const uint32_t frame = text->profile->stacks[stack].frame;
  const struct hwi_symbol *symbols;
  const uint32_t count = hwi_named_frames_find(frames, frame, &symbols);
  const bool is_named = symbols && count > 0 && symbols[count - 1].function; /* the last one is that with the code */
  if (is_named) {
    hwi_symbol_name_add(&text->line, &symbols[count - 1], NAME_CELLS, hwi_style_ellipsis(text->style));
    hwi_line_puts(&text->line, " (");
  }
  hwi_line_clean(&text->line, hwi_module_name(text->profile, text->profile->frames[frame].module));
  hwi_line_puts(&text->line, is_named ? ")" : "");
}

void hwi_text_short_stacks(struct hwi_text *text)
{
  static const struct {
    const char *origin, *advice;
  } words[ORIGINS] = {
      [PROGRAM] = {"the program",
                   "compile this code with -fasynchronous-unwind-tables (on 32-bit Arm: -funwind-tables; with "
                   "musl-gcc also -Wl,--eh-frame-hdr)."},
      [LIBRARY] = {"libraries", "only a library that was built with unwind tables helps, no flag of the program."},
  };
  struct hwi_named_frames frames;
  if (hwi_evidence_of(text->profile).unfinished_stacks == 0)
    return;
  const struct short_stacks found = find(text->profile);
  if (found.of[PROGRAM].calls + found.of[LIBRARY].calls <= found.all_calls / MOST_SHARE ||
      hwi_named_frames_init(&frames, text->report, NULL) != HW_OK)
    return;
  hwi_line_puts(&text->line,
                "Short stacks: most are only the function that calls malloc, for which no unwind tables were found.");
  for (int i = 0; i < ORIGINS; i++) {
    if (found.of[i].calls <= found.all_calls / SOME_SHARE)
      continue;
    hwi_line_puts(&text->line, " ");
    hwi_line_counted(&text->line, found.of[i].calls, "call");
    hwi_line_printf(&text->line, " of %s, most of all ", words[i].origin);
    add_name(text, &frames, found.of[i].stack);
    hwi_line_printf(&text->line, ": %s", words[i].advice);
  }
  hwi_named_frames_release(&frames);
  hwi_text_end_wrapped(text, 2, HWI_PLAIN);
}
