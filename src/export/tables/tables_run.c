/* tables_run.c - the tables of the run: the run itself, its processes, modules, sizes, threads, and its timeline */
#include <stdlib.h>

#include "export/tables/tables.h"
#include "profile/blocks/sample.h"
#include "report/input/moment.h"

#define COUNT "INTEGER NOT NULL"
#define PART "INTEGER" /* unknown (NULL) for a part of a size or thread; of an error: the figure is exact */

static bool fill_run(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {
      hwi_value_text(hwi_export_command(tables->export)),
      hwi_value_number(hwi_export_pid(tables->export)),
      hwi_value_number(profile->duration_ns),
      hwi_value_number(profile->thread_count),
  };
  const struct hwi_amount amount = hwi_amount_of_totals(profile);
  struct hwi_value *next = hwi_values_put(values + 4, hwi_totals_figures, &profile->totals, true);
  next = hwi_values_put(next, hwi_totals_errors, &amount, profile->sample_bytes);
  *next = hwi_value_if(profile->sample_bytes, profile->sample_bytes);
  sink->take(sink->context, values);
  return true;
}

const struct hwi_table hwi_table_run = {
    .name = "run",
    .columns =
        (const struct hwi_table_column[]){
            {"command", "TEXT"}, {"pid", COUNT}, {"duration_ns", COUNT}, {"threads", COUNT}, {0}},
    .figures = (const struct hwi_figure_columns[]){{hwi_totals_figures, COUNT}, {hwi_totals_errors, PART}, {0}},
    .last_columns = (const struct hwi_table_column[]){{"sample_bytes", PART}, {0}},
    .fill = fill_run,
};

static bool fill_images(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_trace_info *info = profile->images[i].info;
    if (!info)
      continue;
    struct hwi_value values[HWI_TABLE_COLUMNS_MAX] = {
        hwi_value_number(i),
        hwi_value_number(info->header.pid),
        hwi_value_number(info->header.ppid),
        hwi_value_text(info->command),
        hwi_value_text(info->exe),
        hwi_value_text(info->path),
        hwi_value_number(profile->images[i].counted),
        hwi_value_number(info->header.start_realtime_ns),
        hwi_value_number(info->duration_ns),
    };
    hwi_values_put(values + 9, hwi_totals_figures, &profile->images[i].totals, true);
    if (!sink->take(sink->context, values))
      return true;
  }
  return true;
}

const struct hwi_table hwi_table_images = {
    .name = "images",
    .columns = (const struct hwi_table_column[]){{"id", "INTEGER PRIMARY KEY"},
                                                 {"pid", COUNT},
                                                 {"ppid", COUNT},
                                                 {"command", "TEXT"},
                                                 {"executable", "TEXT"},
                                                 {"trace", "TEXT"},
                                                 {"counted", COUNT},
                                                 {"start_realtime_ns", COUNT},
                                                 {"duration_ns", COUNT},
                                                 {0}},
    .figures = (const struct hwi_figure_columns[]){{hwi_totals_figures, COUNT}, {0}},
    .fill = fill_images,
};

static bool fill_modules(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  for (uint32_t i = 1; i < profile->module_count; i++) {
    const struct hwi_profile_module *module = &profile->modules[i];
    struct hwi_build_id id = hwi_build_id_text(module);
    struct hwi_value values[] = {
        hwi_value_number(i),           hwi_value_text(module->path[0] != '\0' ? module->path : "[vdso]"),
        hwi_value_text(id.text),       hwi_value_number(module->start),
        hwi_value_number(module->end), hwi_value_number(module->bias),
    };
    if (!sink->take(sink->context, values))
      return true;
  }
  return true;
}

const struct hwi_table hwi_table_modules = {
    .name = "modules",
    .columns = (const struct hwi_table_column[]){{"id", "INTEGER PRIMARY KEY"},
                                                 {"path", "TEXT NOT NULL"},
                                                 {"build_id", "TEXT"},
                                                 {"start_address", COUNT},
                                                 {"end_address", COUNT},
                                                 {"bias", COUNT},
                                                 {0}},
    .fill = fill_modules,
};

static struct hwi_value error_of(const struct hwi_profile *profile, double variance)
{
  return hwi_value_if(profile->sample_bytes, hwi_sample_error(variance));
}

/* Rows for the chosen stacks. Figures that do not add up are unknown for a part of a size. */
static bool fill_sizes(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  const struct hwi_narrowing *filter = &tables->export->selection.narrowing;
  struct hwi_amount *amounts = hwi_amounts_by_size(profile, filter);
  bool wanted = amounts, whole = !hwi_narrowing_splits_sizes(filter), done = wanted;
  for (uint32_t i = 0; i < profile->size_count && wanted; i++) {
    const struct hwi_size *size = &profile->sizes[i];
    if (filter->rule_count > 0 && hwi_amount_is_nothing(&amounts[i]))
      continue;
    struct hwi_value values[] = {
        hwi_value_number(size->size),
        hwi_value_number(amounts[i].calls),
        hwi_value_number(amounts[i].temporary_calls),
        hwi_value_number(amounts[i].peak_blocks),
        hwi_value_if(whole, size->own_peak_blocks),
        hwi_value_number(amounts[i].live_blocks),
        error_of(profile, amounts[i].variance.calls),
        error_of(profile, amounts[i].variance.temporary_calls),
        error_of(profile, amounts[i].variance.peak_blocks),
        error_of(profile, amounts[i].variance.live_blocks),
    };
    wanted = sink->take(sink->context, values);
  }
  free(amounts);
  return done;
}

const struct hwi_table hwi_table_sizes = {
    .name = "sizes",
    .columns = (const struct hwi_table_column[]){{"size", "INTEGER PRIMARY KEY"},
                                                 {"calls", COUNT},
                                                 {"temporary_calls", COUNT},
                                                 {"peak_blocks", COUNT},
                                                 {"own_peak_blocks", PART},
                                                 {"live_blocks", COUNT},
                                                 {"calls_error", PART},
                                                 {"temporary_calls_error", PART},
                                                 {"peak_blocks_error", PART},
                                                 {"live_blocks_error", PART},
                                                 {0}},
    .fill = fill_sizes,
};

static bool put_thread(const struct hwi_row_sink *sink, const struct hwi_profile *profile, uint32_t number,
                       const struct hwi_amount *amount, bool whole)
{
  const struct hwi_profile_thread *thread = &profile->threads[number];
  const bool knows_calls = whole && profile->calls_are_exact;
  const struct hwi_variance *variance = &amount->variance;
  struct hwi_value values[] = {
      hwi_value_number(number),
      hwi_value_number(thread->image),
      hwi_value_number(thread->tid),
      hwi_value_text(thread->name),
      hwi_value_number(thread->policy),
      hwi_value_number(thread->priority),
      hwi_value_number(knows_calls ? thread->allocation_calls : amount->calls),
      hwi_value_if(whole, thread->free_calls),
      hwi_value_if(whole, thread->failed_calls),
      hwi_value_number(amount->temporary_calls),
      hwi_value_number(knows_calls ? thread->allocated_bytes : amount->bytes),
      hwi_value_number(amount->live_bytes),
      hwi_value_number(amount->live_blocks),
      hwi_value_number(amount->peak_bytes),
      hwi_value_if(whole, thread->own_peak_bytes),
      hwi_value_if(whole, thread->foreign_frees),
      error_of(profile, knows_calls ? 0 : variance->calls),
      error_of(profile, knows_calls ? 0 : variance->bytes),
      error_of(profile, variance->temporary_calls),
      error_of(profile, variance->live_bytes),
      error_of(profile, variance->live_blocks),
      error_of(profile, variance->peak_bytes),
  };
  return sink->take(sink->context, values);
}

static bool fill_threads(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  const struct hwi_narrowing *filter = &tables->export->selection.narrowing;
  struct hwi_amount *amounts = hwi_amounts_by_thread(profile, filter);
  bool wanted = amounts, whole = !hwi_narrowing_splits_threads(filter), done = wanted;
  for (uint32_t i = 0; i < profile->thread_count && wanted; i++)
    wanted = !hwi_narrowing_keeps_thread(filter, i) || put_thread(sink, profile, i, &amounts[i], whole);
  free(amounts);
  return done;
}

const struct hwi_table hwi_table_threads = {
    .name = "threads",
    .columns = (const struct hwi_table_column[]){{"id", "INTEGER PRIMARY KEY"},
                                                 {"image_id", "INTEGER NOT NULL REFERENCES images(id)"},
                                                 {"tid", COUNT},
                                                 {"name", "TEXT"},
                                                 {"policy", COUNT},
                                                 {"priority", COUNT},
                                                 {"allocation_calls", COUNT},
                                                 {"free_calls", PART},
                                                 {"failed_calls", PART},
                                                 {"temporary_calls", COUNT},
                                                 {"allocated_bytes", COUNT},
                                                 {"live_bytes", COUNT},
                                                 {"live_blocks", COUNT},
                                                 {"peak_bytes", COUNT},
                                                 {"own_peak_bytes", PART},
                                                 {"foreign_frees", PART},
                                                 {"allocation_calls_error", PART},
                                                 {"allocated_bytes_error", PART},
                                                 {"temporary_calls_error", PART},
                                                 {"live_bytes_error", PART},
                                                 {"live_blocks_error", PART},
                                                 {"peak_bytes_error", PART},
                                                 {0}},
    .indexes = "CREATE INDEX threads_by_name ON threads(name)",
    .fill = fill_threads,
};

static bool fill_timeline(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  for (uint32_t i = 0; i < profile->timeline_count; i++) {
    struct hwi_value values[HWI_TABLE_COLUMNS_MAX];
    hwi_values_put(values, hwi_time_figures, &profile->timeline[i], true);
    if (!sink->take(sink->context, values))
      return true;
  }
  return true;
}

const struct hwi_table hwi_table_timeline = {
    .name = "timeline",
    .columns = (const struct hwi_table_column[]){{"time_ns", "INTEGER PRIMARY KEY"}, {0}},
    .figures = (const struct hwi_figure_columns[]){{hwi_time_figures + 1, COUNT}, {0}},
    .fill = fill_timeline,
};

/* Returns a moment of an image since the run's start: negative for one that began before the run's counted images. */
static struct hwi_value run_time(const struct hwi_profile *profile, uint32_t image, uint64_t ns)
{
  return (struct hwi_value){.kind = HWI_VALUE_SIGNED,
                            .number = hwi_image_offset_ns(profile, &profile->images[image]) + ns};
}

static bool put_marks_of(const struct hwi_row_sink *sink, const struct hwi_profile *profile, uint32_t image)
{
  static const char *const kinds[] = {
      [HW_TOOL_MARK] = "mark", [HW_TOOL_PAUSED] = "paused", [HW_TOOL_RESUMED] = "resumed"};
  const struct hwi_trace_info *info = profile->images[image].info;
  for (uint32_t k = 0; info && k < info->mark_count; k++) {
    const struct hwi_mark *mark = &info->marks[k];
    const struct hwi_value values[] = {
        run_time(profile, image, mark->ns),
        hwi_value_text(kinds[mark->type]),
        hwi_value_text(mark->text),
        hwi_value_number(image),
    };
    if (!sink->take(sink->context, values))
      return false;
  }
  return true;
}

static bool fill_marks(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  bool wanted = true;
  for (uint32_t i = 0; i < profile->image_count && wanted; i++)
    wanted = put_marks_of(sink, profile, i);
  for (uint32_t i = 0; i < profile->mark_count && wanted; i++) {
    const struct hwi_value values[] = {
        hwi_value_number(profile->marks[i].ns), hwi_value_text("mark"), hwi_value_text(profile->marks[i].text), {0}};
    wanted = sink->take(sink->context, values);
  }
  return true;
}

const struct hwi_table hwi_table_marks = {
    .name = "marks",
    .columns = (const struct hwi_table_column[]){{"time_ns", COUNT},
                                                 {"kind", "TEXT NOT NULL"},
                                                 {"text", "TEXT"},
                                                 {"image_id", "INTEGER REFERENCES images(id)"}, /* NULL: from hw_mark */
                                                 {0}},
    .fill = fill_marks,
};

static bool fill_rss(const struct hwi_tables *tables, const struct hwi_row_sink *sink)
{
  const struct hwi_profile *profile = tables->export->profile;
  for (uint32_t i = 0; i < profile->image_count; i++) {
    const struct hwi_trace_info *info = profile->images[i].info;
    for (uint32_t k = 0; info && k < info->rss_count; k++) {
      const struct hw_rss_sample *sample = &info->rss[k].sample;
      struct hwi_value values[] = {
          hwi_value_number(i),
          run_time(profile, i, info->rss[k].ns),
          hwi_value_number(sample->rss),
          hwi_value_number(sample->anonymous),
          hwi_value_number(sample->file),
          hwi_value_number(sample->shmem),
          hwi_value_number(sample->swap),
          hwi_value_number(sample->recorder),
          hwi_value_number(sample->stacks),
      };
      if (!sink->take(sink->context, values))
        return true;
    }
  }
  return true;
}

const struct hwi_table hwi_table_rss = {
    .name = "rss",
    .columns = (const struct hwi_table_column[]){{"image_id", "INTEGER NOT NULL REFERENCES images(id)"},
                                                 {"time_ns", COUNT},
                                                 {"rss_bytes", COUNT},
                                                 {"anonymous_bytes", COUNT},
                                                 {"file_bytes", COUNT},
                                                 {"shmem_bytes", COUNT},
                                                 {"swap_bytes", COUNT},
                                                 {"recorder_bytes", COUNT},
                                                 {"stack_bytes", COUNT},
                                                 {0}},
    .fill = fill_rss,
};
