/* callgrind.c - callgrind's profile: the cost of each function itself, and of its calls
 *
 * Costs are bytes at the peak and at the end, calls, bytes and temporary calls. A function's cost at a line is that of
 * the stacks whose innermost frame is there. A call's inclusive cost is that of the stacks that go through it; each
 * stack is counted once, even with recursion.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/version.h"
#include "export/export.h"
#include "trace/grow.h"
#include "trace/store.h"

enum { COSTS = 5, CALLS_COST = 2 };

struct costs {
  uint64_t values[COSTS];
  uint32_t last_stack; /* the last one added */
};

struct cost_list {
  struct hwi_numbering keys;
  struct costs *items; /* by number of a key */
  size_t capacity;
};

struct callgrind {
  struct hwi_export *export;
  FILE *out;
  struct hwi_store names, files;
  struct hwi_numbering functions; /* name, file */
  struct hwi_numbering places;    /* function, line */
  struct cost_list self;          /* place, 0 */
  struct cost_list calls;         /* place of the caller, function called */
  bool failed;                    /* no memory */
};

static void add_costs(struct callgrind *to, struct cost_list *list, struct hwi_pair key, uint32_t stack)
{
  const struct hwi_amount *amount = &to->export->selection.amounts[stack];
  uint32_t number = hwi_numbering_of(&list->keys, key.a, key.b);
  if (number == 0 || !hwi_grow((void **)&list->items, &list->capacity, (size_t)number + 1, sizeof *list->items)) {
    to->failed = true;
    return;
  }
  struct costs *costs = &list->items[number];
  if (costs->last_stack == stack)
    return;
  const uint64_t values[COSTS] = {amount->peak_bytes, amount->live_bytes, amount->calls, amount->bytes,
                                  amount->temporary_calls};
  for (int i = 0; i < COSTS; i++)
    costs->values[i] += values[i];
  costs->last_stack = stack;
}

/* Returns the number of a function at a line. */
static uint32_t place(struct callgrind *to, const struct hwi_site *site, uint32_t symbol, struct hwi_line *name)
{
  struct hwi_line clean = {0};
  hwi_line_clean(&clean, hwi_site_function(&to->export->sites, site, symbol, name));
  uint32_t function = hwi_store_intern_text(&to->names, hwi_line_text(&clean));
  hwi_line_clear(&clean);
  const char *path = hwi_site_file(site, symbol);
  hwi_line_clean(&clean, path[0] != '\0' ? path : "???");
  uint32_t file = hwi_store_intern_text(&to->files, hwi_line_text(&clean));
  uint32_t number = hwi_numbering_of(&to->functions, function, file);
  number = number != 0 ? hwi_numbering_of(&to->places, number, hwi_site_line(site, symbol)) : 0;
  to->failed |= function == 0 || file == 0 || number == 0 || clean.failed;
  hwi_line_release(&clean);
  return number;
}

static void add_stack(struct callgrind *to, uint32_t stack, struct hwi_line *name)
{
  uint32_t inner = 0;
  for (uint32_t i = 0; i < to->export->sites.path_count && !to->failed; i++) {
    const struct hwi_site *site = hwi_site_of(&to->export->sites, to->export->sites.path[i]);
    for (uint32_t k = 0; k < site->symbol_count && !to->failed; k++) {
      uint32_t outer = place(to, site, k, name);
      if (to->failed)
        return;
      if (inner == 0)
        add_costs(to, &to->self, (struct hwi_pair){outer, 0}, stack);
      else
        add_costs(to, &to->calls, (struct hwi_pair){outer, to->places.pairs[inner].a}, stack);
      inner = outer;
    }
  }
  if (to->export->sites.path_count == 0) {
    static const struct hwi_site unknown = {.cut = true, .symbol_count = 1};
    add_costs(to, &to->self, (struct hwi_pair){place(to, &unknown, 0, name), 0}, stack);
  }
}

/* --- text --- */

static void put_function(struct callgrind *to, const char *file_key, const char *name_key, uint64_t function)
{
  const struct hwi_pair *key = &to->functions.pairs[function];
  fprintf(to->out, "%s=(%" PRIu64 ") %s\n%s=(%" PRIu64 ") %s\n", file_key, key->b, to->files.strings[key->b].text,
          name_key, function, to->names.strings[key->a].text);
}

static void put_costs(struct callgrind *to, uint64_t line, const struct costs *costs)
{
  fprintf(to->out, "%" PRIu64, line);
  for (int i = 0; i < COSTS; i++)
    fprintf(to->out, " %" PRIu64, costs->values[i]);
  fputc('\n', to->out);
}

static void put_all(struct callgrind *to)
{
  const struct hwi_amount *all = &to->export->selection.selected;
  fprintf(to->out, "# callgrind format\nversion: 1\ncreator: heapwright " HWI_VERSION "\npid: %" PRIu32 "\ncmd: ",
          hwi_export_pid(to->export));
  struct hwi_line command = {0}, desc = {0};
  if (to->export->profile->sample_bytes)
    hwi_line_printf(&desc, "desc: Estimates: sampled, one allocation per %s\n",
                    hwi_binary_bytes_text(to->export->profile->sample_bytes).text);
  hwi_line_clean(&command, hwi_export_command(to->export));
  fprintf(to->out, "%s\n%spositions: line\nevents: PeakBytes LiveBytes Calls Bytes TemporaryCalls\n",
          hwi_line_text(&command), hwi_line_text(&desc));
  hwi_line_release(&command);
  hwi_line_release(&desc);
  fprintf(to->out, "summary: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", all->peak_bytes,
          all->live_bytes, all->calls, all->bytes, all->temporary_calls);
  for (uint32_t i = 1; i <= to->self.keys.count; i++) {
    const struct hwi_pair *at = &to->places.pairs[to->self.keys.pairs[i].a];
    fputc('\n', to->out);
    put_function(to, "fl", "fn", at->a);
    put_costs(to, at->b, &to->self.items[i]);
  }
  for (uint32_t i = 1; i <= to->calls.keys.count; i++) {
    const struct hwi_pair *at = &to->places.pairs[to->calls.keys.pairs[i].a];
    fputc('\n', to->out);
    put_function(to, "fl", "fn", at->a);
    /* callgrind_annotate shows only lines of a file that have costs of their own: all of them, or it warns of those that are not set. */
    put_costs(to, at->b, &(struct costs){0});
    put_function(to, "cfi", "cfn", to->calls.keys.pairs[i].b);
    fprintf(to->out, "calls=%" PRIu64 " 0\n", to->calls.items[i].values[CALLS_COST]);
    put_costs(to, at->b, &to->calls.items[i]);
  }
}

static int write_all(struct callgrind *to, struct hwi_error *error)
{
  const struct hwi_selection *selection = &to->export->selection;
  struct hwi_line name = {0};
  int status = HW_OK;
  for (uint32_t i = 0; i < selection->stack_count && status == HW_OK && !to->failed; i++) {
    status = hwi_sites_load(&to->export->sites, selection->stacks[i], error);
    if (status == HW_OK)
      add_stack(to, selection->stacks[i], &name);
  }
  if (status == HW_OK && (to->failed || name.failed))
    status = hwi_export_no_memory(error);
  if (status == HW_OK)
    put_all(to);
  hwi_line_release(&name);
  return status;
}

static int write_callgrind(struct hwi_export *export, struct hwi_error *error)
{
  struct callgrind to = {.export = export, .out = export->out};
  int status = write_all(&to, error);
  hwi_store_release(&to.names);
  hwi_store_release(&to.files);
  hwi_numbering_release(&to.functions);
  hwi_numbering_release(&to.places);
  hwi_numbering_release(&to.self.keys);
  hwi_numbering_release(&to.calls.keys);
  free(to.self.items);
  free(to.calls.items);
  return status;
}

const struct hwi_export_format hwi_export_callgrind = {
    .name = "callgrind",
    .suffixes = (const char *const[]){".callgrind", NULL},
    .summary = "callgrind's profile, for KCachegrind and callgrind_annotate",
    .write = write_callgrind,
};
