/* tables_stacks.c - the tables of the chosen stacks */
#include <stdlib.h>

#include "export/tables/tables.h"

#define COUNT "INTEGER NOT NULL"
#define PART "INTEGER" /* unknown (NULL) for a part of a stack */
#define STACK "INTEGER NOT NULL REFERENCES stacks(id)"

static bool fill_frames(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  struct hwi_line name = {0};
  bool wanted = true;
  for (uint32_t i = 1; i <= tables->export->sites.count && wanted; i++) {
    const struct hwi_site *site = &tables->export->sites.items[i];
    for (uint32_t k = 0; k < site->symbol_count && wanted; k++) {
      struct hwi_value values[] = {
          hwi_value_number(site->first_function + k),
          hwi_value_text(hwi_site_function(&tables->export->sites, site, k, &name)),
          hwi_value_text(hwi_site_file(site, k)),
          hwi_value_if(hwi_site_line(site, k) != 0, hwi_site_line(site, k)),
          hwi_value_if(site->module != 0, site->module),
          hwi_value_if(!site->cut, site->address),
          hwi_value_number(k + 1 < site->symbol_count),
      };
      wanted = sink->take(sink->context, values);
    }
  }
  bool done = !name.failed;
  hwi_line_release(&name);
  return done;
}

const struct hwi_table hwi_table_frames = {
    .name = "frames",
    .columns = (const struct hwi_table_column[]){{"id", "INTEGER PRIMARY KEY"},
                                                 {"function", "TEXT NOT NULL"},
                                                 {"file", "TEXT"},
                                                 {"line", "INTEGER"},
                                                 {"module_id", "INTEGER REFERENCES modules(id)"},
                                                 {"address", "INTEGER"},
                                                 {"inlined", COUNT},
                                                 {0}},
    .indexes = "CREATE INDEX frames_by_function ON frames(function);"
               "CREATE INDEX frames_by_file ON frames(file, line);"
               "CREATE INDEX frames_by_module ON frames(module_id)",
    .fill = fill_frames,
};

/* Adds the functions of a stack, innermost first. */
static void add_stack_text(const struct hwi_tables *tables, struct hwi_line *text, struct hwi_line *name,
                           uint32_t stack)
{
  const struct hwi_profile *profile = tables->export->profile;
  hwi_line_clear(text);
  for (uint32_t at = profile->stacks[stack].frame; at != 0; at = profile->frames[at].caller) {
    const struct hwi_site *site = hwi_site_of(&tables->export->sites, at);
    for (uint32_t k = 0; k < site->symbol_count; k++) {
      hwi_line_puts(text, text->bytes > 0 ? " < " : "");
      hwi_line_puts(text, hwi_site_function(&tables->export->sites, site, k, name));
    }
  }
}

static bool fill_stacks(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_selection *selection = &tables->export->selection;
  struct hwi_line text = {0}, name = {0};
  bool wanted = true, whole = !hwi_narrowing_splits_stacks(&selection->narrowing);
  for (uint32_t i = 0; i < selection->stack_count && wanted; i++) {
    uint32_t number = selection->stacks[i];
    const struct hwi_stack *stack = &tables->export->profile->stacks[number];
    if (tables->wants_texts)
      add_stack_text(tables, &text, &name, number);
    struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {hwi_value_number(number)}, *next = values + 1;
    next = hwi_values_put(next, hwi_amount_figures, &selection->amounts[number], true);
    next = hwi_values_put(next, hwi_whole_stack_figures, stack, whole);
    next = hwi_values_put(next, hwi_whole_stack_errors, stack, whole && tables->export->profile->sample_bytes);
    next = hwi_values_put(next, hwi_amount_errors, &selection->amounts[number], tables->export->profile->sample_bytes);
    *next++ = hwi_value_text(stack->entry != HW_ENTRY_NONE ? hwi_export_entry_name(stack->entry) : NULL);
    *next++ = hwi_value_number(hwi_profile_depth(tables->export->profile, number));
    *next = hwi_value_text(hwi_line_text(&text));
    wanted = sink->take(sink->context, values);
  }
  bool done = !text.failed && !name.failed;
  hwi_line_release(&text);
  hwi_line_release(&name);
  return done;
}

const struct hwi_table hwi_table_stacks = {
    .name = "stacks",
    .columns = (const struct hwi_table_column[]){{"id", "INTEGER PRIMARY KEY"}, {0}},
    .figures = (const struct hwi_figure_columns[]){{hwi_amount_figures, COUNT},
                                                   {hwi_whole_stack_figures, PART},
                                                   {hwi_whole_stack_errors, PART},
                                                   {hwi_amount_errors, PART},
                                                   {0}},
    .last_columns = (const struct hwi_table_column[]){{"entry", "TEXT"}, {"depth", COUNT}, {"stack", NULL}, {0}},
    .indexes = "CREATE INDEX stacks_by_peak ON stacks(peak_bytes)",
    .fill = fill_stacks,
};

/* Innermost first, as in JSON; inlined functions are frames of their own. */
static bool fill_stack_frames(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  const struct hwi_selection *selection = &tables->export->selection;
  for (uint32_t i = 0; i < selection->stack_count; i++) {
    uint32_t stack = selection->stacks[i], position = 0;
    for (uint32_t at = profile->stacks[stack].frame; at != 0; at = profile->frames[at].caller) {
      const struct hwi_site *site = hwi_site_of(&tables->export->sites, at);
      for (uint32_t k = 0; k < site->symbol_count; k++) {
        struct hwi_value values[] = {
            hwi_value_number(stack),
            hwi_value_number(position++),
            hwi_value_number(site->first_function + k),
        };
        if (!sink->take(sink->context, values))
          return true;
      }
    }
  }
  return true;
}

const struct hwi_table hwi_table_stack_frames = {
    .name = "stack_frames",
    .columns =
        (const struct hwi_table_column[]){
            {"stack_id", STACK}, {"position", COUNT}, {"frame_id", "INTEGER NOT NULL REFERENCES frames(id)"}, {0}},
    .ending = ", PRIMARY KEY (stack_id, position)) WITHOUT ROWID",
    .indexes = "CREATE INDEX stack_frames_by_frame ON stack_frames(frame_id)",
    .fill = fill_stack_frames,
};

/* --- a stack's parts: by size, by thread, by path of scopes --- */

enum part { BY_SIZE, BY_THREAD, BY_SCOPE };

/* Writes a row for each size, thread or path in which a chosen stack has an amount. */
struct parts {
  const struct hwi_tables *tables;
  enum part part;
  struct hwi_amount *sums; /* by size, thread or path: of the current stack */
  const struct hwi_row_sink *sink;
};

static uint32_t part_of(const struct parts *parts, const struct hwi_profile_cell *cell)
{
  return parts->part == BY_SIZE ? cell->size : parts->part == BY_THREAD ? cell->thread : cell->scope;
}

static bool put_part(const struct parts *parts, uint32_t stack, uint32_t index, const struct hwi_amount *sum)
{
  const struct hwi_size *sizes = parts->tables->export->profile->sizes;
  if (parts->part == BY_SIZE)
    return parts->sink->take(parts->sink->context,
                             (struct hwi_value[]){hwi_value_number(stack), hwi_value_number(sizes[index].size),
                                                  hwi_value_number(sum->calls), hwi_value_number(sum->peak_blocks),
                                                  hwi_value_number(sum->live_blocks)});
  if (parts->part == BY_SCOPE && index == 0) /* in no scope */
    return true;
  struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {hwi_value_number(index), hwi_value_number(stack)};
  struct hwi_value *next = hwi_values_put(values + 2, hwi_amount_figures, sum, true);
  hwi_values_put(next, hwi_amount_errors, sum, parts->tables->export->profile->sample_bytes);
  return parts->sink->take(parts->sink->context, values);
}

/* Writes the parts of one stack, whose cells are [first, end). */
static bool put_parts_of(struct parts *parts, uint32_t first, uint32_t end)
{
  const struct hwi_export *export = parts->tables->export;
  const struct hwi_profile_cell *cells = export->profile->cells;
  bool wanted = export->is_chosen[cells[first].stack];
  for (uint32_t i = first; i < end && wanted; i++) {
    struct hwi_amount amount = hwi_amount_of_cell(export->profile, &cells[i]);
    if (hwi_narrowing_keeps_cell(&export->selection.narrowing, &cells[i]))
      hwi_amount_add(&parts->sums[part_of(parts, &cells[i])], &amount);
  }
  if (!wanted)
    return true;
  for (uint32_t i = first; i < end; i++) { /* the first cell of a part writes its row */
    struct hwi_amount *sum = &parts->sums[part_of(parts, &cells[i])];
    wanted = wanted && (hwi_amount_is_nothing(sum) || put_part(parts, cells[i].stack, part_of(parts, &cells[i]), sum));
    *sum = (struct hwi_amount){0};
  }
  return wanted;
}

static bool fill_parts(const struct hwi_tables *tables, const struct hwi_row_sink *sink, enum part part)
{
  const struct hwi_profile *profile = tables->export->profile;
  size_t count = part == BY_SIZE     ? profile->size_count
                 : part == BY_THREAD ? profile->thread_count
                                     : profile->scope_count;
  struct parts parts = {.tables = tables, .part = part, .sink = sink};
  parts.sums = calloc(count + 1, sizeof *parts.sums);
  bool wanted = parts.sums;
  for (uint32_t first = 0, end; first < profile->cell_count && wanted; first = end) {
    end = first + 1;
    while (end < profile->cell_count && profile->cells[end].stack == profile->cells[first].stack)
      end++;
    wanted = put_parts_of(&parts, first, end);
  }
  bool done = parts.sums;
  free(parts.sums);
  return done;
}

static bool fill_stack_sizes(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  return fill_parts(tables, sink, BY_SIZE);
}

const struct hwi_table hwi_table_stack_sizes = {
    .name = "stack_sizes",
    .columns = (const struct hwi_table_column[]){{"stack_id", STACK},
                                                 {"size", "INTEGER NOT NULL REFERENCES sizes(size)"},
                                                 {"calls", COUNT},
                                                 {"peak_blocks", COUNT},
                                                 {"live_blocks", COUNT},
                                                 {0}},
    .ending = ", PRIMARY KEY (stack_id, size)) WITHOUT ROWID",
    .indexes = "CREATE INDEX stack_sizes_by_size ON stack_sizes(size)",
    .fill = fill_stack_sizes,
};

static bool fill_thread_stacks(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  return fill_parts(tables, sink, BY_THREAD);
}

const struct hwi_table hwi_table_thread_stacks = {
    .name = "thread_stacks",
    .columns = (const struct hwi_table_column[]){{"thread_id", "INTEGER NOT NULL REFERENCES threads(id)"},
                                                 {"stack_id", STACK},
                                                 {0}},
    .figures = (const struct hwi_figure_columns[]){{hwi_amount_figures, COUNT}, {hwi_amount_errors, PART}, {0}},
    .ending = ", PRIMARY KEY (thread_id, stack_id)) WITHOUT ROWID",
    .indexes = "CREATE INDEX thread_stacks_by_stack ON thread_stacks(stack_id)",
    .fill = fill_thread_stacks,
};

static bool fill_scope_stacks(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  return tables->export->profile->scope_count <= 1 || fill_parts(tables, sink, BY_SCOPE);
}

const struct hwi_table hwi_table_scope_stacks = {
    .name = "scope_stacks",
    .columns = (const struct hwi_table_column[]){{"scope_id", "INTEGER NOT NULL REFERENCES scopes(id)"},
                                                 {"stack_id", STACK},
                                                 {0}},
    .figures = (const struct hwi_figure_columns[]){{hwi_amount_figures, COUNT}, {hwi_amount_errors, PART}, {0}},
    .ending = ", PRIMARY KEY (scope_id, stack_id)) WITHOUT ROWID",
    .indexes = "CREATE INDEX scope_stacks_by_stack ON scope_stacks(stack_id)",
    .fill = fill_scope_stacks,
};
