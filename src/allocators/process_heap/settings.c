/* settings.c - the settings of the heap of a process: from the config that is linked in, a file, and the environment */
#include "allocators/process_heap/settings.h"

#include <string.h>

#include "allocators/heap/libc_blocks.h"
#include "allocators/message.h"
#include "allocators/process_heap/config_file.h"

/* --- reports --- */

/* Where the values are from. */
struct sources {
  hwi_value_fn *value_of;
  const struct hw_heap_config *config; /* that is linked in, or NULL */
  struct hwi_config_lines lines;
};

/* The program may have it, or a library, which is then named. */
static void add_linked_config(struct hwi_message *line, const struct hw_heap_config *config)
{
  hwi_message_text(line, "hw_process_heap_config of ");
  hwi_message_module(line, (uintptr_t)config);
  hwi_message_text(line, ": ");
}

/* Adds a field, with the value of its variable, or the place that it is from. */
static void add_field(struct hwi_message *line, const struct hwi_heap_field *field, const struct sources *sources)
{
  const char *value = sources->value_of(field->variable);
  if (value) {
    hwi_message_text(line, field->variable);
    hwi_message_text(line, "=");
    hwi_message_text(line, value);
    return;
  }
  if (sources->lines.of[field - hwi_heap_fields])
    hwi_config_lines_print(line, &sources->lines, sources->lines.of[field - hwi_heap_fields]);
  else
    add_linked_config(line, sources->config);
  hwi_message_text(line, field->name);
}

/* `where` is NULL if the text is no value of this kind. */
static void report(const struct hwi_heap_field *field, const struct sources *sources, const struct hw_heap_error *where,
                   const char *rule)
{
  struct hwi_message line;
  hwi_message_begin(&line);
  add_field(&line, field, sources);
  if (where && strcmp(where->field, field->name) != 0) {
    hwi_message_text(&line, ": the length");
  } else if (where && field->kind == HWI_FIELD_LIST) {
    hwi_message_text(&line, ": number ");
    hwi_message_number(&line, where->index + 1);
  }
  hwi_message_text(&line, " ");
  hwi_message_text(&line, rule);
  hwi_message_text(&line, "; the default of this setting is used");
  hwi_message_print(&line);
}

static void report_unknown(char *const *variables)
{
  for (; variables && *variables; variables++) {
    if (!hwi_heap_variable_is_unknown(*variables))
      continue;
    struct hwi_message line;
    hwi_message_begin(&line);
    hwi_message_text(&line, *variables);
    hwi_message_text(&line, " has no effect: the heap has no such setting");
    const char *meant = hwi_heap_variable_meant(*variables);
    if (meant) {
      hwi_message_text(&line, "; did you mean ");
      hwi_message_text(&line, meant);
      hwi_message_text(&line, "?");
    }
    hwi_message_print(&line);
  }
}

/* --- checks --- */

/* A process has as many threads as it likes. */
static bool check(const struct hw_heap_config *config, struct hw_heap_error *error)
{
  if (config->threads == HW_HEAP_SINGLE)
    *error = (struct hw_heap_error){"threads", 0, "must be caching or central for the malloc of a process"};
  else if (config->lock == HW_HEAP_LOCK_NONE)
    *error = (struct hw_heap_error){"lock", 0, "must be adaptive or spinning for the malloc of a process"};
  else
    return hwi_heap_config_check(config, error);
  return false;
}

/* An error names a field, or the length of a list. */
static const struct hwi_heap_field *field_of(const struct hw_heap_error *error)
{
  const struct hwi_heap_field *field = hwi_heap_field_find(error->field);
  for (size_t i = 0; !field && i < HWI_HEAP_LISTS; i++)
    if (!strcmp(hwi_heap_fields[i].count_name, error->field))
      field = &hwi_heap_fields[i];
  return field;
}

/* Each round gives one field its default, so this ends: a config of defaults is right. */
static void make_right(struct hwi_heap_settings *settings, const struct sources *sources)
{
  struct hw_heap_error error;
  while (!check(&settings->config, &error)) {
    const struct hwi_heap_field *field = field_of(&error);
    report(field, sources, &error, error.rule);
    hwi_heap_field_clear(settings, field);
  }
}

void hwi_process_settings_read(struct hwi_process_settings *settings, const struct hw_heap_config *config,
                               hwi_value_fn *value_of, char *const *variables)
{
  const char *stats = value_of("HEAPWRIGHT_STATS"), *file = value_of(HWI_HEAP_CONFIG_VARIABLE);
  struct sources sources = {.value_of = value_of, .config = config};
  memset(settings, 0, sizeof *settings);
  if (config)
    settings->heap.config = *config;
  if (file && *file)
    hwi_config_file_read(&settings->heap, &sources.lines, file);
  for (const struct hwi_heap_field *field = hwi_heap_fields; field < hwi_heap_fields + HWI_HEAP_FIELDS; field++) {
    const char *value = value_of(field->variable);
    if (value && !hwi_heap_field_read(&settings->heap, field, value)) {
      report(field, &sources, NULL, hwi_heap_field_text_rule(field));
      hwi_heap_field_clear(&settings->heap, field);
    }
  }
  make_right(&settings->heap, &sources);
  report_unknown(variables);
  settings->uses_libc = hwi_libc_is_wanted(value_of);
  settings->stats = stats && *stats ? stats : NULL;
}
